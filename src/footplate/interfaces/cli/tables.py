"""Rows for people: columns as wide as they must be, cut to the terminal; the first, an id, never is."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from typing import Final

from footplate.interfaces.cli.lines import clip, one_line

GAP: Final = "  "
LEAST: Final = 8


def render_table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int = 0) -> str:
    """The rows below their heads; where the columns have no room side by side, each row is two lines."""
    room = width or shutil.get_terminal_size((80, 24)).columns
    cells = [list(head), *([one_line(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    for column in (len(head) - 1, *sorted(range(1, len(head) - 1), key=lambda each: -widths[each])):
        over = sum(widths) + len(GAP) * (len(head) - 1) - room
        if over > 0:
            widths[column] = max(min(widths[column], LEAST), widths[column] - over)
    if sum(widths) + len(GAP) * (len(head) - 1) > room:
        return "\n".join(f"{row[0]}\n{clip(GAP + GAP.join(filter(None, row[1:])), room)}" for row in cells[1:])
    lines = []
    for row in cells:
        shown = [clip(cell, size).ljust(size) for cell, size in zip(row, widths, strict=True)]
        lines.append(GAP.join(shown).rstrip())
    return "\n".join(lines)


def render_age(moment: float, now: float | None = None) -> str:
    """How long ago: `12s`, `5m`, `3h`, `2d`."""
    seconds = max(0.0, (time.time() if now is None else now) - moment)
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f}{unit}"
    return f"{seconds:.0f}s"


def render_cost(cost: float | None) -> str:
    """Money; empty where nobody told."""
    return "" if cost is None else f"${cost:.2f}" if cost >= 0.01 or cost == 0 else f"${cost:.4f}"
