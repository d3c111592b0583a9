"""What the audit log costs: the CPU of the service for answered permissions with their records, over that without."""

from __future__ import annotations

import statistics
from operator import truediv
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

import msgspec

from bench.roster import module
from bench.sheet import Sheet, below, middle, spread
from bench.stage import NotMeasured, Stage

GOAL: Final = 1.05
HEAD: Final = ("records", "CPU us/answer without", "with", "ratio", "lowest-highest")


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured: answers of each round, and how often."""

    answers: int = 1_000
    rounds: int = 10


QUICK: Final = Scale(answers=40, rounds=1)
Samples = dict[str, list[float]]


def measure_answers(stage: Stage, scale: Scale) -> Sheet:
    """A turn with one permission per answer, through hub, session, store and keeper."""
    title = f"{scale.answers * scale.rounds} answers with audit records, and as many without, median of {scale.rounds}"
    folder = Path(mkdtemp(dir=stage.home))
    try:
        out = stage.output(module("answers", str(folder), str(scale.answers), str(scale.rounds)))
    except NotMeasured as why:
        return Sheet(name="answers", title=title, why=str(why))
    samples = msgspec.json.decode(out, type=Samples)
    ratios = list(map(truediv, samples["on"], samples["off"]))
    costs = [f"{statistics.median(samples[way]) / scale.answers * 1e6:.0f}" for way in ("off", "on")]
    return Sheet(
        name="answers",
        title=title,
        head=HEAD,
        rows=((f"{samples['records'][0]:.0f}", *costs, middle(ratios, ".3f"), spread(ratios, ".2f")),),
        samples=samples,
        goals=(below("an audit record costs less than 5 % of an answer", ratios, GOAL, "x"),),
    )
