"""What recording raw lines costs: the CPU of a streaming turn with it, over that of the same turn without it.

An agent that streams writes one short line at a time, some hundred a second; that is what the goal is about. The flood
is the worst that can happen: as fast as it is read, and more than the recorder is willing to store.
"""

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
from bench.streams import Stream, deltas

GOAL: Final = 1.03
PACED, FLOOD = "one line at a time", "as fast as it is read"
HEAD: Final = ("stream", "lines", "CPU us/line without", "with", "ratio", "lowest-highest", "stored")


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured: lines of each stream, lines a second of the paced one, how often."""

    paced: int = 2_000
    per_s: int = 400
    flood: int = 50_000
    rounds: int = 10


QUICK: Final = Scale(paced=200, per_s=1_000, flood=2_000, rounds=1)
Samples = dict[str, list[float]]


def measure_recording(stage: Stage, scale: Scale) -> Sheet:
    """Both streams, each in a separate process."""
    title = f"recording raw lines, median of {scale.rounds}"
    streams = {PACED: (deltas(scale.paced), scale.per_s), FLOOD: (deltas(scale.flood), 0)}
    try:
        samples = {name: _measure(stage, stream, pace, scale.rounds) for name, (stream, pace) in streams.items()}
    except NotMeasured as why:
        return Sheet(name="recording", title=title, why=str(why))
    rows = tuple(_row(name, stream, samples[name]) for name, (stream, _) in streams.items())
    flat = {f"{name}, {way}": costs[way] for name, costs in samples.items() for way in ("on", "off")}
    goal = below("recording costs less than 3 % of a streaming turn", _ratios(samples[PACED]), GOAL, "x")
    return Sheet(name="recording", title=title, head=HEAD, rows=rows, samples=flat, goals=(goal,))


def _measure(stage: Stage, stream: Stream, pace: int, rounds: int) -> Samples:
    folder = Path(mkdtemp(dir=stage.home))
    program = str(stage.fake_cli(stream, pace=pace))
    out = stage.output([*module("session_stream", str(folder), program, str(rounds))])
    return msgspec.json.decode(out, type=Samples)


def _ratios(samples: Samples) -> list[float]:
    return list(map(truediv, samples["on"], samples["off"]))


def _row(name: str, stream: Stream, samples: Samples) -> tuple[str, ...]:
    ratios = _ratios(samples)
    costs = [f"{statistics.median(samples[way]) / stream.lines * 1e6:.1f}" for way in ("off", "on")]
    return name, str(stream.lines), *costs, middle(ratios, ".3f"), spread(ratios, ".2f"), f"{samples['stored'][0]:.0f}"
