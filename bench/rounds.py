"""Rounds of measurement: every contender on every stream, in an order that moves, several times over."""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from operator import truediv

import msgspec

from bench.roster import Contender, Name
from bench.stage import NotMeasured, Report
from bench.streams import Stream

Run = Callable[[Contender, Stream], Report]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One contender on one stream: CPU per line without its start-up. `why` says that there are no numbers."""

    name: Name
    title: str
    costs: tuple[float, ...] = ()
    """Microseconds per line, round by round."""
    startup_s: float = 0.0
    events: int = 0
    why: str = ""

    @property
    def median(self) -> float:
        """The median of all rounds."""
        return statistics.median(self.costs)


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """All contenders on one stream."""

    stream: str
    title: str
    lines: int
    size: int
    rounds: int
    rows: tuple[Row, ...]

    def ratio(self, name: Name, unit: Name) -> float | None:
        """How many times the CPU of `unit`: the median of each round's own ratio, as a busy machine slows both."""
        ours, theirs = self._costs(name), self._costs(unit)
        return statistics.median(map(truediv, ours, theirs)) if ours and theirs and all(theirs) else None

    def _costs(self, name: Name) -> tuple[float, ...]:
        return next((row.costs for row in self.rows if row.name == name), ())


class Samples:
    """What each contender spent on each stream, and which could not run."""

    def __init__(self) -> None:
        self.cpu_s: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        self.events: dict[tuple[str, str], int] = {}
        self.missing: dict[str, str] = {}

    def take(self, contender: Contender, stream: Stream, run: Run) -> None:
        """Run it once, unless it is known not to run."""
        if contender.name in self.missing:
            return
        try:
            report = run(contender, stream)
        except NotMeasured as why:
            self.missing[contender.name] = str(why)
            return
        self.cpu_s[contender.name, stream.name].append(report.cpu_s)
        self.events[contender.name, stream.name] = report.events


def measure(
    contenders: Sequence[Contender], streams: Sequence[Stream], base: Stream, *, rounds: int, run: Run
) -> list[Table]:
    """One table per stream. `base` is the stream whose cost is a contender's start-up."""
    samples = Samples()
    samples.missing.update({contender.name: contender.why for contender in contenders if contender.why})
    for contender in contenders:
        _warm_up(samples, contender, base, run)
    for number in range(rounds):
        for contender, stream in _order(contenders, (base, *streams), number):
            print(f"round {number + 1}/{rounds}: {stream.name}, {contender.name}", file=sys.stderr)
            samples.take(contender, stream, run)
    return [_table(samples, contenders, stream, base, rounds) for stream in streams]


def _warm_up(samples: Samples, contender: Contender, base: Stream, run: Run) -> None:
    """Run it once for the caches of the disk and of the interpreter; forget what it took."""
    samples.take(contender, base, run)
    samples.cpu_s.clear()


def _order(
    contenders: Sequence[Contender], streams: Sequence[Stream], number: int
) -> Iterator[tuple[Contender, Stream]]:
    """Stream by stream, the contenders side by side, each round with another one first."""
    for stream in streams:
        for place in range(len(contenders)):
            yield contenders[(place + number) % len(contenders)], stream


def _table(samples: Samples, contenders: Sequence[Contender], stream: Stream, base: Stream, rounds: int) -> Table:
    rows = tuple(_row(samples, contender, stream, base) for contender in contenders)
    return Table(stream=stream.name, title=stream.title, lines=stream.lines, size=stream.size, rounds=rounds, rows=rows)


def _row(samples: Samples, contender: Contender, stream: Stream, base: Stream) -> Row:
    if why := samples.missing.get(contender.name):
        return Row(name=contender.name, title=contender.title, why=why)
    startup = statistics.median(samples.cpu_s[contender.name, base.name])
    spent = samples.cpu_s[contender.name, stream.name]
    return Row(
        name=contender.name,
        title=contender.title,
        costs=tuple((cpu_s - startup) / (stream.lines - base.lines) * 1e6 for cpu_s in spent),
        startup_s=startup,
        events=samples.events[contender.name, stream.name],
    )
