"""A change of files as a unified diff. Pure."""

from __future__ import annotations

import difflib
from typing import Final

from footplate.chat.drawing.rich import Rich, join, plain, span
from footplate.events.tools import FileChange, FileChangeDetail

VERBS: Final = {"add": "new file", "update": "change of", "delete": "removal of", "move": "move of"}
MOST_LINES: Final = 60


def draw_diff(detail: FileChangeDetail) -> Rich:
    """Every change of the call; a long one is cut and says so."""
    return join("\n", (_draw(change) for change in detail.changes))


def _draw(change: FileChange) -> Rich:
    target = f" to {change.moved_to}" if change.moved_to else ""
    title = plain(f"{VERBS[change.kind]} {change.path}{target}")
    lines = _lines(change)
    left = len(lines) - MOST_LINES
    if left > 0:
        lines = [*lines[:MOST_LINES], f"… {left} more lines"]
    return join("\n", (title, span("pre", "\n".join(lines), language="diff")))


def _lines(change: FileChange) -> list[str]:
    if change.hunks:
        found = []
        for hunk in change.hunks:
            found.append(f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@")
            found += hunk.lines
        return found
    before, after = (change.old_text or "").splitlines(), (change.new_text or "").splitlines()
    return list(difflib.unified_diff(before, after, lineterm="", n=2))[2:]
