"""Long work that goes on when its caller hangs up: one of a kind at a time, joined by who asks for the same."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import msgspec

from footplate.errors import FootplateError
from footplate.tasks import spawn

log = logging.getLogger(__name__)
State = Literal["running", "done", "failed"]


class Progress(msgspec.Struct, kw_only=True):
    """How far a piece of long work is, in words; `problem` says why it failed. It is kept until the next one begins."""

    state: State = "running"
    lines: list[str] = []
    problem: str = ""
    started_at: float = 0.0
    ended_at: float | None = None

    @classmethod
    def begin(cls) -> Progress:
        """Work that begins now."""
        return cls(started_at=time.time())

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Note how the work of the block ends."""
        try:
            yield
        except BaseException as problem:
            self.state = "failed"
            self.problem = str(problem) or "it was stopped"
            raise
        else:
            self.state = "done"
        finally:
            self.ended_at = time.time()


class Errands:
    """The work that is under way for callers who may hang up."""

    def __init__(self) -> None:
        self._tasks: dict[tuple[str, ...], asyncio.Task[None]] = {}

    def begin(self, key: tuple[str, ...], work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        """Begin the work, or join the one of that key that is under way."""
        running = self._tasks.get(key)
        if running is not None:
            return running
        task = self._tasks[key] = spawn(work(), name=" ".join(key), awaited=True)
        task.add_done_callback(lambda ended: self._forget(key, ended))
        return task

    def _forget(self, key: tuple[str, ...], task: asyncio.Task[None]) -> None:
        self._tasks.pop(key, None)
        problem = None if task.cancelled() else task.exception()
        if problem is not None and not isinstance(problem, FootplateError):
            log.error("%s failed", " ".join(key), exc_info=problem)

    async def close(self) -> None:
        """Stop what is under way."""
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
