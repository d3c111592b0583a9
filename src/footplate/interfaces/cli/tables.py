"""Rows for people: columns as wide as they must be, cut to the terminal; the first, an id, never is.

In a pipe nothing is cut or broken: there a program reads, and `cut` and `grep` want whole lines.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import time
from collections.abc import Sequence
from typing import Final

from footplate.events.wording import format_age
from footplate.interfaces.cli.lines import clip, columns_of, one_line

GAP: Final = "  "
LEAST: Final = 8


ENDLESS: Final = 100_000
"""Wider than any line: nothing is cut to it."""


def screen_width() -> int:
    """How wide a line may be: that of the terminal, or what COLUMNS says; in a pipe without end."""
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS"):
        return ENDLESS
    return shutil.get_terminal_size((80, 24)).columns


def fold(text: str, *, first: str = "", rest: str = "", width: int = 0) -> str:
    """The text broken at blanks to the width, with that before its first line and before those that follow."""
    room = width or screen_width()
    if columns_of(first + text) <= room:
        return first + text
    return textwrap.fill(
        text, room, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, break_long_words=False
    )


def render_table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int = 0) -> str:
    """The rows below their heads; where the columns have no room side by side, each row is two lines or three."""
    room = width or screen_width()
    cells = [list(head), *([one_line(cell) for cell in row] for row in rows)]
    widths = [max(columns_of(row[column]) for row in cells) for column in range(len(head))]
    for column in (len(head) - 1, *sorted(range(1, len(head) - 1), key=lambda each: -widths[each])):
        over = sum(widths) + len(GAP) * (len(head) - 1) - room
        if over > 0:
            widths[column] = max(min(widths[column], LEAST), widths[column] - over)
    if sum(widths) + len(GAP) * (len(head) - 1) > room:
        return "\n".join(line for row in cells[1:] for line in _stack(row, room))
    lines = []
    for row in cells:
        shown = [clip(cell, size) for cell, size in zip(row, widths, strict=True)]
        padded = [cell + " " * (size - columns_of(cell)) for cell, size in zip(shown, widths, strict=True)]
        lines.append(GAP.join(padded).rstrip())
    return "\n".join(lines)


def _stack(row: Sequence[str], room: int) -> list[str]:
    """A row below itself: the id, the facts, and what is said, beside them where there is room."""
    facts, words = GAP + GAP.join(filter(None, row[1:-1])), row[-1]
    if words and columns_of(facts + GAP + words) > room:
        return [row[0], clip(facts, room), clip(GAP + words, room)]
    return [row[0], clip((facts + GAP + words).rstrip(), room)]


def render_age(moment: float, now: float | None = None) -> str:
    """How long ago a moment was."""
    return format_age((time.time() if now is None else now) - moment)
