"""Memory: a gigabyte of mixed lines through ours, and the resident size on the way. Nothing is stored on disk."""

from __future__ import annotations

from typing import Final

import msgspec

from bench.goals import Verdict
from bench.roster import module
from bench.stage import NotMeasured, Stage
from bench.streams import Stream

GROWTH: Final = 0.10
POINTS: Final = ("start", "25 %", "50 %", "75 %", "end")


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Resident size in KB at the start, after each quarter, and at the end."""

    size: int
    lines: int
    rss_kb: tuple[int, ...] = ()
    why: str = ""

    @property
    def growth(self) -> float:
        """The most that was added after the first quarter, as a part of what there was then."""
        first = self.rss_kb[1]
        return max(self.rss_kb[1:]) / first - 1

    def judge(self) -> Verdict:
        """Flat is the goal."""
        goal = f"memory: grows by less than {GROWTH:.0%} after the first quarter"
        if self.why:
            return Verdict(goal=goal, found="not measured", met=None)
        return Verdict(goal=goal, found=f"{self.growth:.1%}", met=self.growth < GROWTH)


def measure_memory(stage: Stage, stream: Stream) -> Memory:
    """Stream it through ours in a fresh process."""
    try:
        report = stage.run([*module("ours"), str(stage.fake_cli(stream)), "--memory"])
    except NotMeasured as why:
        return Memory(size=stream.size, lines=stream.lines, why=str(why))
    return Memory(size=stream.size, lines=stream.lines, rss_kb=tuple(report.rss_kb))
