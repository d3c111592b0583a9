"""Chance by site: what is drawn depends on the seed, the name of the place and how often it was visited, nothing else.

Taking a fault or a client out of a plan therefore moves no other draw. A draw that said yes can be overridden with no
(`muted`): that is how a failing plan is made smaller.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import TypeVar

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
T = TypeVar("T")


class Chance:
    """Draws for one run. `said_yes` counts visits per site at which something was done that costs nothing to omit."""

    def __init__(self, seed: int, muted: Mapping[str, Sequence[int]] | None = None) -> None:
        self.seed = seed
        self._base = (seed * GOLDEN + 0x1234567) & MASK
        self._muted = {site: frozenset(visits) for site, visits in (muted or {}).items()}
        self._states: dict[str, int] = {}
        self._visits: dict[str, int] = {}
        self.said_yes: dict[str, list[int]] = {}

    def draw(self, site: str) -> float:
        """A number in [0, 1)."""
        return (self._next(site) >> 11) / (1 << 53)

    def below(self, site: str, bound: int) -> int:
        """A whole number from 0 to bound - 1."""
        return self._next(site) % bound

    def between(self, site: str, low: float, high: float) -> float:
        """A number in [low, high)."""
        return low + (high - low) * self.draw(site)

    def pick(self, site: str, values: Sequence[T]) -> T:
        """One of them."""
        return values[self._next(site) % len(values)]

    def yes(self, site: str, share: float) -> bool:
        """True in that share of the visits, unless this visit is muted."""
        if share <= 0.0:
            return False
        visit = self._visits.get(site, 0)
        self._visits[site] = visit + 1
        if self.draw(site) >= share or visit in self._muted.get(site, ()):
            return False
        self.said_yes.setdefault(site, []).append(visit)
        return True

    def delay(self, site: str, scale: Sequence[float]) -> float:
        """A delay out of a scale; the value itself varies by a tenth, so that no two timers fall due together."""
        chosen = self.pick(site, scale)
        return 0.0 if chosen == 0.0 else chosen * (0.95 + 0.1 * self.draw(site))

    def bits(self, site: str, count: int) -> int:
        """A whole number of at most so many bits, 128 at most."""
        return (self._next(site) << 64 | self._next(site)) >> (128 - count)

    def _next(self, site: str) -> int:
        state = self._states.get(site)
        if state is None:
            state = (self._base ^ (zlib.crc32(site.encode()) * GOLDEN)) & MASK
        state = (state + GOLDEN) & MASK
        self._states[site] = state
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
        return mixed ^ (mixed >> 31)
