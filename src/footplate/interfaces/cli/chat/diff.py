"""A change of files as the lines of a unified diff. Pure."""

from __future__ import annotations

import difflib
from typing import Final

from footplate.events.tools import FileChange, FileChangeDetail, Hunk
from footplate.interfaces.cli.chat.text import Line, Style, clean, shorten

MOST_LINES: Final = 60
STYLES: Final[dict[str, Style]] = {"+": "ok", "-": "failed", "@": "running"}
VERBS: Final = {"add": "new file", "update": "change of", "delete": "removal of", "move": "move of"}


def diff_lines(detail: FileChangeDetail, *, indent: int = 0, most: int = MOST_LINES) -> list[Line]:
    """Every change of the call, coloured; a long one is cut and says so."""
    found: list[Line] = []
    for change in detail.changes:
        target = f" to {change.moved_to}" if change.moved_to else ""
        found.append(Line(clean(f"{VERBS[change.kind]} {change.path}{target}").replace("\n", " "), "dim", indent))
        found += shorten([_line(text, indent) for text in _texts(change)], most)
    return found


def _texts(change: FileChange) -> list[str]:
    if change.hunks:
        return [text for hunk in change.hunks for text in (_title(hunk), *hunk.lines)]
    if change.new_text is None and change.old_text is None:
        return []
    before = (change.old_text or "").splitlines()
    after = (change.new_text or "").splitlines()
    return list(difflib.unified_diff(before, after, lineterm="", n=2))[2:]


def _title(hunk: Hunk) -> str:
    return f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@"


def _line(text: str, indent: int) -> Line:
    return Line(clean(text).replace("\n", " "), STYLES.get(text[:1], ""), indent)
