"""The disk: operations in the order in which they were carried out, of which a prefix is safe from a power cut.

A `MemoryStore` shows their effect at once. The death of the service loses nothing of it; a power cut replays a prefix,
not shorter than what was synced, into a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from footplate.store.memory import MemoryStore

SYNC_PERIOD_S = 1.0
"""The store syncs by itself what is older than this."""

T = TypeVar("T")
Operation = Callable[[MemoryStore], Coroutine[Any, Any, Any]]


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine of a `MemoryStore` to its end, here and now: it only ever yields to be polite."""
    while True:
        try:
            work.send(None)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


class Disk:
    """What outlives the service and, up to the sync mark, the power."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._at: float | None = None
        self.memory = MemoryStore(clock=self._now)
        self._done: list[tuple[float, Operation]] = []
        self._synced = 0
        self.power_cuts = 0

    def _now(self) -> float:
        return self._clock() if self._at is None else self._at

    def carry_out(self, operation: Callable[[MemoryStore], Coroutine[Any, Any, T]]) -> T:
        """Do it; its effect is visible at once. What raises has changed nothing and is not written down."""
        result = finish(operation(self.memory))
        self._done.append((self._clock(), operation))
        return result

    def sync(self) -> None:
        """All that was carried out so far is safe."""
        self._synced = len(self._done)

    @property
    def unsynced(self) -> int:
        """How many operations a power cut may undo."""
        limit = self._clock() - SYNC_PERIOD_S
        synced = self._synced
        while synced < len(self._done) and self._done[synced][0] < limit:
            synced += 1
        self._synced = synced
        return len(self._done) - synced

    def cut_power(self, choose: Callable[[int], int]) -> int:
        """Lose a suffix of what was not synced; `choose` says how many of so many stay. How many are lost."""
        waiting = self.unsynced
        kept = choose(waiting + 1) if waiting else 0
        lost = waiting - kept
        self.power_cuts += 1
        if lost:
            self._done = self._done[: self._synced + kept]
            self.memory = MemoryStore(clock=self._now)
            for at, operation in self._done:
                self._at = at
                finish(operation(self.memory))
            self._at = None
        self._synced = len(self._done)
        return lost
