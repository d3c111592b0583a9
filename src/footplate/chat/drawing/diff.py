"""A change of files as a unified diff. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from footplate.chat.drawing.rich import Rich, join, plain, span
from footplate.events.diffs import MARKS, DiffLine, describe_change, diff_lines
from footplate.events.tools import FileChange
from footplate.events.visible import show_exact, show_hidden
from footplate.events.wording import format_count


def draw_changes(changes: Sequence[FileChange], most: int | None = None) -> Rich:
    """Every change of a call: the file, how many lines, the lines; with `most` only so many of these."""
    return join("\n", (_draw(change, most) for change in changes))


def _draw(change: FileChange, most: int | None) -> Rich:
    lines = diff_lines(change)
    target = f" to {show_exact(change.moved_to)}" if change.moved_to else ""
    title = f"{change.kind} {show_exact(change.path)}{target} {describe_change(change, lines)}".rstrip()
    body = [_text(line) for line in lines[:most]]
    body += [f"… {format_count(len(lines) - most, 'more line')}"] if most is not None and len(lines) > most else []
    return join("\n", (plain(title), span("pre", "\n".join(body), language="diff")))


def _text(line: DiffLine) -> str:
    return show_hidden(line.text or "…" if line.kind == "gap" else MARKS[line.kind] + line.text)
