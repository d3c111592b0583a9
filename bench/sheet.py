"""A table of a measurement that has no contenders: its rows as text, its samples as numbers, its goals. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import msgspec

from bench.goals import Verdict
from bench.table import align


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """One table. `samples` are the numbers behind it, by name, for `--json`; `why` says that there are none."""

    name: str
    title: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    samples: dict[str, list[float]] = {}
    goals: tuple[Verdict, ...] = ()
    why: str = ""


def render_sheet(sheet: Sheet) -> str:
    """The table as text."""
    title = f"{sheet.name}: {sheet.title}"
    if sheet.why:
        return f"{title}\n  not measured: {sheet.why}"
    return "\n".join([title, *align([sheet.head, *sheet.rows])])


def middle(samples: Sequence[float], form: str) -> str:
    """The median, in that form."""
    return format(statistics.median(samples), form)


def spread(samples: Sequence[float], form: str) -> str:
    """The lowest and the highest, in that form."""
    return f"{min(samples):{form}}-{max(samples):{form}}"


def at_least(goal: str, samples: Sequence[float], limit: float) -> Verdict:
    """A goal of the form: the median is not less than so many times."""
    return Verdict(goal=goal, found=_found(samples, "x"), met=statistics.median(samples) >= limit)


def below(goal: str, samples: Sequence[float], limit: float, unit: str) -> Verdict:
    """A goal of the form: the median is under a limit."""
    return Verdict(goal=goal, found=_found(samples, unit), met=statistics.median(samples) < limit)


def _found(samples: Sequence[float], unit: str) -> str:
    found = f"{statistics.median(samples):.2f}{unit}"
    return found if len(samples) == 1 else f"{found} ({spread(samples, '.2f')})"
