"""Tasks that have an owner: `spawn` is the only place in the product that starts one.

asyncio reports the exception of a forgotten task when the task is collected, which may be at shutdown or never; until
then everything that depends on the task hangs. Here a failure is logged at once under the task's name and passed to
its owner, which can end what the task was responsible for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

log = logging.getLogger(__name__)
T = TypeVar("T")


def spawn(
    work: Coroutine[Any, Any, T],
    *,
    name: str,
    on_failure: Callable[[BaseException], None] | None = None,
    awaited: bool = False,
) -> asyncio.Task[T]:
    """Start a task. The caller keeps it, and awaits or cancels it in the end.

    An exception is logged and passed to `on_failure`. With `awaited` it is neither: the owner awaits the task in every
    case and handles what it raises.
    """
    task = asyncio.get_running_loop().create_task(work, name=name)

    def ended(ended_task: asyncio.Task[T]) -> None:
        if ended_task.cancelled():
            return
        problem = ended_task.exception()
        if problem is None:
            return
        log.error("task %r failed: %s: %s", name, type(problem).__name__, problem, exc_info=problem)
        if on_failure is not None:
            on_failure(problem)

    if not awaited:
        task.add_done_callback(ended)
    return task


async def complete(work: Coroutine[Any, Any, T], *, name: str) -> T:
    """Do the work to its end, also when the caller is cancelled meanwhile: the cancellation is raised after the end.

    For work that must not stop in the middle, such as a write that may or may not be carried out when nobody waits for
    it any more.
    """
    task = spawn(work, name=name, awaited=True)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError as problem:
        cancellation = problem
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as problem:
            cancellation = problem
    raise cancellation from None if task.cancelled() else task.exception()


class Tasks:
    """The tasks of one owner, in the order in which they were started; a task leaves when it has ended."""

    def __init__(self) -> None:
        self._tasks: dict[asyncio.Task[Any], None] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def spawn(
        self, work: Coroutine[Any, Any, T], *, name: str, on_failure: Callable[[BaseException], None] | None = None
    ) -> asyncio.Task[T]:
        """Start a task of this owner."""
        task = spawn(work, name=name, on_failure=on_failure)
        self._tasks[task] = None
        task.add_done_callback(self._discard)
        return task

    async def wait(self) -> None:
        """Wait until the tasks that run now have ended, whatever came of them."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))

    async def cancel(self) -> None:
        """Cancel the tasks that run now and wait for their end."""
        for task in tuple(self._tasks):
            task.cancel()
        await self.wait()

    def _discard(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
