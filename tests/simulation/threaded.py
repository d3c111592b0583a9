"""An event loop with virtual time that waits for real threads: for a real SQLite store and months of traffic.

Time stands still while anything is ready or a thread of a watched store works, and else jumps to the next timer. Unlike
`SimLoop` it is not deterministic: threads finish when they finish.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from footplate.store.sqlite import SqliteStore

LONGEST_WAIT_S: Final = 20.0
LOOK_S: Final = 0.001
"""A thread wakes the loop when it has done something, and only after that it counts as idle: look again then."""
T = TypeVar("T")


class _Selector:
    """Waits for threads in real time, for timers not at all."""

    def __init__(self, loop: ThreadedLoop) -> None:
        self._loop = loop
        self._real = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout == 0:
            return self._real.select(0)
        until = time.monotonic() + LONGEST_WAIT_S
        while timeout is None or self._loop.is_working():
            if ready := self._real.select(LOOK_S):
                return ready
            if time.monotonic() > until:
                raise RuntimeError(f"a thread has not answered for {LONGEST_WAIT_S:g} s, or nothing is left to do")
        ready = self._real.select(0)
        if not ready:
            self._loop.now += timeout
        return ready

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class ThreadedLoop(asyncio.SelectorEventLoop):
    """The loop. `watch` a store before virtual time may pass."""

    def __init__(self) -> None:
        self.now = 0.0
        self._works: list[Callable[[], bool]] = []
        self._threads = 0
        super().__init__(_Selector(self))  # type: ignore[arg-type]
        self._clock_resolution = 1e-9

    def time(self) -> float:
        return self.now

    def watch(self, store: SqliteStore) -> None:
        """Let no time pass while a thread of this store has something to do for a caller."""
        writer, readers = store._writer, (store._readers, store._slow, store._searchers, store._probes)
        self._works += [
            lambda: writer._given != writer._done,
            lambda: writer._syncer.busy,
            lambda: any(each._busy for each in readers),
        ]

    def is_working(self) -> bool:
        """Whether a thread has something to do for a caller."""
        return self._threads > 0 or any(works() for works in self._works)

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        self._threads += 1
        done: asyncio.Future[T] = super().run_in_executor(executor, func, *args)
        done.add_done_callback(self._count_down)
        return done

    def _count_down(self, _: object) -> None:
        self._threads -= 1
