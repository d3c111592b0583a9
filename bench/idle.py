"""Resident memory of an idle session: one finished turn, no agent; in a process of its own, with thousands of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from bench.roster import module
from bench.sheet import Sheet, below, middle, spread
from bench.stage import NotMeasured, Report, Stage

GOAL_KB: Final = 100.0
HEAD: Final = ("KB per session", "median", "lowest-highest")


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured."""

    sessions: int = 2000
    rounds: int = 3


QUICK: Final = Scale(sessions=200, rounds=1)


def measure_idle(stage: Stage, scale: Scale) -> Sheet:
    """Each round in a fresh process."""
    title = f"{scale.sessions} idle sessions without an agent, median of {scale.rounds}"
    try:
        reports = [_once(stage, scale, number) for number in range(scale.rounds)]
    except NotMeasured as why:
        return Sheet(name="idle", title=title, why=str(why))
    return _sheet(title, reports, scale)


def _once(stage: Stage, scale: Scale, number: int) -> Report:
    folder = stage.home / f"idle-{number}"
    folder.mkdir()
    return stage.run([*module("idle", str(scale.sessions), str(folder))])


def _sheet(title: str, reports: list[Report], scale: Scale) -> Sheet:
    def each(get: Callable[[Report], float]) -> list[float]:
        return [get(report) / scale.sessions for report in reports]

    held = each(lambda report: report.rss_kb[1] - report.rss_kb[0])
    left = each(lambda report: report.rss_kb[2] - report.rss_kb[0])
    cpu = each(lambda report: report.cpu_s * 1e3)
    return Sheet(
        name="idle",
        title=title,
        head=HEAD,
        rows=(
            ("open and idle", middle(held, ".1f"), spread(held, ".1f")),
            ("let go of by the hub (what the process keeps)", middle(left, ".1f"), spread(left, ".1f")),
            ("(CPU ms to open one, run its turn, evict it)", middle(cpu, ".1f"), spread(cpu, ".1f")),
        ),
        samples={"open and idle, KB": held, "let go of, KB": left, "CPU, ms": cpu},
        goals=(below(f"idle: less than {GOAL_KB:g} KB per session without its agent", held, GOAL_KB, " KB"),),
    )
