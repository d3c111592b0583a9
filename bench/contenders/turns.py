"""One warm turn after another, each when it is asked for: a prompt as JSON on stdin, what it took on stdout.

What follows a turn (a sync of the store, say) counts as well: it is waited for, and waiting costs nothing.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from typing import Final

from bench.contenders.report import spent

SETTLED_S: Final = 0.08
"""After a turn; the store syncs what nobody waits for within 50 ms."""

DEADLINE_S: Final = 60
"""A turn that takes longer ends the contender."""


def prompts() -> Iterator[str]:
    """The prompts, as they are asked for."""
    for line in sys.stdin:
        yield json.loads(line)


class Clock:
    """CPU and time of one turn."""

    def __init__(self) -> None:
        signal.alarm(DEADLINE_S)
        self._cpu_s = spent()
        self._begun = time.monotonic()
        self._ended = self._begun

    def turn_ended(self) -> None:
        """The turn is over; what follows is CPU only."""
        self._ended = time.monotonic()

    def report(self) -> None:
        """Say what it took."""
        signal.alarm(0)
        cpu_ms, wall_ms = (spent() - self._cpu_s) * 1e3, (self._ended - self._begun) * 1e3
        print(json.dumps({"cpu_ms": cpu_ms, "wall_ms": wall_ms}), flush=True)
