"""What the keeper costs while the service reads: CPU per line of an agent that is kept, beside a plain child.

The keeper has copies of the pipes and does not read them, so there should be no difference.
"""

from __future__ import annotations

import statistics
from typing import Final

import msgspec

from bench import streams
from bench.goals import Verdict
from bench.roster import module
from bench.sheet import Sheet, middle, spread
from bench.stage import NotMeasured, Stage

LIMIT: Final = 1.05
PLAIN, KEPT = "plain", "kept"
TITLES: Final = {PLAIN: "a plain child's pipe", KEPT: "an agent's pipe under a keeper that keeps"}
HEAD: Final = ("CPU ns per line", "median", "lowest-highest")


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured."""

    lines: int = 2_000_000
    rounds: int = 11


QUICK: Final = Scale(lines=20_000, rounds=1)


def measure_keeper(stage: Stage, scale: Scale) -> Sheet:
    """Both ways in turn, each round with another one first; each in a fresh process."""
    title = f"{scale.lines} small lines read and counted, median of {scale.rounds}"
    fake = str(stage.fake_cli(streams.deltas(scale.lines)))
    found: dict[str, list[float]] = {PLAIN: [], KEPT: []}
    try:
        for number in range(scale.rounds):
            for way in (PLAIN, KEPT) if number % 2 else (KEPT, PLAIN):
                folder = stage.home / f"keeper-{number}-{way}"
                report = stage.run([*module("kept_pipe", way, fake, str(folder))])
                found[way].append(report.cpu_s / report.events * 1e9)
    except NotMeasured as why:
        return Sheet(name="keeper", title=title, why=str(why))
    ratio = statistics.median(found[KEPT]) / statistics.median(found[PLAIN])
    goal = f"keeper: reading costs at most {LIMIT:g}x what a plain pipe costs"
    return Sheet(
        name="keeper",
        title=title,
        head=HEAD,
        rows=tuple((TITLES[way], middle(found[way], ".1f"), spread(found[way], ".1f")) for way in found),
        samples=found,
        goals=(Verdict(goal=goal, found=f"{ratio:.3f}x", met=ratio <= LIMIT),),
    )
