"""The goals, and whether the numbers meet them."""

from __future__ import annotations

from typing import Final

import msgspec

from bench.roster import Name
from bench.rounds import Table

BARE_LIMIT: Final = 6.0
PEERS: Final[tuple[tuple[Name, str, float], ...]] = (
    ("python-sdk", "the Python SDK", 8.0),
    ("typescript-sdk", "the TypeScript SDK", 2.0),
)


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One goal and what became of it: None when a number is missing."""

    goal: str
    found: str
    met: bool | None


def judge(table: Table) -> list[Verdict]:
    """The goals for one stream; the one against bare decoding is about small deltas only."""
    verdicts = [_judge_bare(table)] if table.stream == "deltas" else []
    return verdicts + [_judge_peer(table, name, title, factor) for name, title, factor in PEERS]


def judge_limit(goal: str, ratio: float | None, limit: float) -> Verdict:
    """A goal of the form: not more than so many times."""
    if ratio is None:
        return Verdict(goal=goal, found="not measured", met=None)
    return Verdict(goal=goal, found=f"{ratio:.2f}x", met=ratio <= limit)


def _judge_bare(table: Table) -> Verdict:
    goal = f"{table.stream}: ours <= {BARE_LIMIT:g}x bare decode_lines"
    return judge_limit(goal, table.ratio("ours", "bare"), BARE_LIMIT)


def _judge_peer(table: Table, name: Name, title: str, factor: float) -> Verdict:
    goal = f"{table.stream}: at least {factor:g}x less CPU than {title}"
    ratio = table.ratio(name, "ours")
    if ratio is None:
        return Verdict(goal=goal, found="not measured", met=None)
    return Verdict(goal=goal, found=f"{ratio:.2f}x less", met=ratio >= factor)
