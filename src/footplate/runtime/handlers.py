"""Handlers of ours that an agent calls: tools that run inside our process, and hooks. Each call is a task."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping

import msgspec

from footplate.engines.base import HostCall
from footplate.tasks import spawn

Handler = Callable[[msgspec.Raw], Coroutine[None, None, msgspec.Raw | str]]
"""Takes the arguments as JSON; gives words, or JSON in the form that the caller's protocol has for results."""

Done = Callable[[str, msgspec.Raw | str, str], Awaitable[None]]
"""Gets the key of the call, the result, and what went wrong, if anything did."""


class Handlers:
    """The handlers of one agent, and the calls of them that are under way."""

    def __init__(
        self, *, tools: Mapping[str, Handler] | None = None, hooks: Mapping[str, Handler] | None = None
    ) -> None:
        self._handlers = {"tool": dict(tools or {}), "hook": dict(hooks or {})}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def call(self, call: HostCall, done: Done) -> None:
        """Run the handler of a call; `done` hears how it ended, unless it is dropped before."""
        task = spawn(self._run(call, done), name=f"{call.kind} {call.name}")
        self._tasks[call.key] = task
        task.add_done_callback(lambda _: self._tasks.pop(call.key, None))

    def drop(self, key: str) -> None:
        """Nobody waits for this call any more."""
        task = self._tasks.get(key)
        if task is not None:
            task.cancel()

    async def close(self) -> None:
        """End every call that is under way."""
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _run(self, call: HostCall, done: Done) -> None:
        handler = self._handlers[call.kind].get(call.name)
        if handler is None:
            await done(call.key, "", f"nobody handles the {call.kind} {call.name!r}")
            return
        work = spawn(handler(call.payload), name=f"handler of {call.name}", awaited=True)
        try:
            await asyncio.wait((work,))
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.wait((work,))
            raise
        # The handler is a stranger's: whatever it raises is its result, told to the agent and not to us.
        problem = None if work.cancelled() else work.exception()
        if problem is not None:
            await done(call.key, "", f"{type(problem).__name__}: {problem}")
        elif work.cancelled():
            await done(call.key, "", "the handler was cancelled")
        else:
            await done(call.key, work.result(), "")
