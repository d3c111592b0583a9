"""The numbers as text: one table per stream, memory, start-up, and the goals at the end. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bench.goals import Verdict
from bench.memory import POINTS, Memory
from bench.rounds import Row, Table
from bench.startup import Start

WORDS = {True: "PASS", False: "MISS", None: "----"}


def render_table(table: Table) -> str:
    """CPU per line of every contender, and its multiple of bare decoding and of ours."""
    size = f"{table.lines} lines, {table.size / 1e6:.0f} MB, median of {table.rounds}"
    head = ("CPU per line", "us/line", "lowest-highest", "x bare", "x ours", "events")
    rows = [_cells(row, table) for row in table.rows]
    return "\n".join([f"{table.stream}: {table.title} ({size})", *align([head, *rows])])


def render_memory(memory: Memory) -> str:
    """The resident size on the way."""
    title = f"memory: {memory.size / 1e9:.2f} GB of mixed lines ({memory.lines}) through ours"
    if memory.why:
        return f"{title}\n  not measured: {memory.why}"
    sizes = [f"{kb / 1024:.1f} MB" for kb in memory.rss_kb]
    return "\n".join([title, *align([POINTS, tuple(sizes)])])


def render_startup(starts: Sequence[Start]) -> str:
    """CPU per command."""
    head = ("CPU per start", "ms", "lowest-highest", "x nothing")
    rows = [_start_cells(start) for start in starts]
    return "\n".join(["startup", *align([head, *rows])])


def render_goals(verdicts: Iterable[Verdict]) -> str:
    """One line per goal."""
    return "\n".join(["goals", *(f"  {WORDS[v.met]}  {v.goal}: {v.found}" for v in verdicts)])


def _cells(row: Row, table: Table) -> tuple[str, ...]:
    if row.why:
        return (row.title, f"not measured: {row.why}")
    spread = f"{_short(min(row.costs))}-{_short(max(row.costs))}"
    ratios = (_multiple(table.ratio(row.name, "bare")), _multiple(table.ratio(row.name, "ours")))
    return (row.title, _short(row.median), spread, *ratios, str(row.events))


def _start_cells(start: Start) -> tuple[str, ...]:
    if start.why:
        return (start.command, f"not measured: {start.why}")
    spread = f"{start.lowest:.1f}-{start.highest:.1f}"
    return (start.command, f"{start.cpu_ms:.1f}", spread, f"{start.ratio:.2f}")


def _multiple(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def align(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Columns of equal width: words to the left, numbers to the right; a lone remark takes what it needs."""
    full = [row for row in rows if len(row) == len(rows[0])]
    widths = [max(len(row[column]) for row in rows if len(row) > column) for column in (0,)]
    widths += [max(len(row[column]) for row in full) for column in range(1, len(rows[0]))]
    for row in rows:
        first, *rest = row
        if len(row) == len(rows[0]):
            rest = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        yield "  " + "  ".join([first.ljust(widths[0]), *rest]).rstrip()
