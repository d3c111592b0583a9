"""What the server counts of itself: plain numbers, cheap to raise; `/metrics` shows them to Prometheus."""

from __future__ import annotations

from typing import Final

BOUNDS: Final = (0.005, 0.025, 0.1, 0.5, 2.5, 10.0)
"""The upper ends, in seconds, of the buckets that durations are counted in."""


class Served:
    """Calls of one route with one outcome: how many, how long, and in which buckets."""

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0
        self.buckets = [0] * (len(BOUNDS) + 1)

    def add(self, seconds: float) -> None:
        """One more."""
        self.count += 1
        self.seconds += seconds
        place = next((at for at, bound in enumerate(BOUNDS) if seconds <= bound), len(BOUNDS))
        self.buckets[place] += 1


class Meters:
    """The counts of one server."""

    def __init__(self) -> None:
        self.calls: dict[tuple[str, str, int], Served] = {}
        self.running = 0
        self.streams = 0
        self.streams_cut = 0

    def served(self, method: str, path: str, status: int, seconds: float) -> None:
        """One call is over; `path` is the route's, so that their number is bounded."""
        self.calls.setdefault((method, path, status), Served()).add(seconds)
