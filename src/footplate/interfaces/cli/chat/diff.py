"""A change of files as the lines of a diff. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from footplate.events.diffs import MARKS, DiffLine, LineKind, describe_change, diff_lines
from footplate.events.tools import FileChange
from footplate.interfaces.cli.chat.text import Line, Style, shorten
from footplate.interfaces.cli.lines import exact_line, visible

MOST_LINES: Final = 60
"""How many lines of a change are shown once it is done; before it is allowed, all of them are."""
STYLES: Final[dict[LineKind, Style]] = {"added": "ok", "removed": "failed", "gap": "running", "note": "dim"}


def render_changes(changes: Sequence[FileChange], *, indent: int = 0, most: int | None = None) -> list[Line]:
    """Every change of a call, coloured; with `most`, a longer one is cut and says so."""
    rendered: list[Line] = []
    for change in changes:
        lines = diff_lines(change)
        target = f" to {exact_line(change.moved_to)}" if change.moved_to else ""
        head = f"{change.kind} {exact_line(change.path)}{target} {describe_change(change, lines)}".rstrip()
        body = [_render(line, indent) for line in lines]
        rendered += [Line(head, "dim", indent), *(body if most is None else shorten(body, most))]
    return rendered


def _render(line: DiffLine, indent: int) -> Line:
    text = line.text or "…" if line.kind == "gap" else MARKS[line.kind] + line.text
    return Line(visible(text), STYLES.get(line.kind, ""), indent)
