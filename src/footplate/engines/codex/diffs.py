"""Unified diffs, as Codex tells changes of files, as hunks. Pure."""

from __future__ import annotations

import re
from typing import Final

from footplate.events.tools import Hunk

HEAD: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def read_hunks(diff: str) -> tuple[Hunk, ...]:
    """The hunks of a diff of one file; empty for what is none."""
    hunks: list[Hunk] = []
    head: tuple[int, ...] = ()
    lines: list[str] = []
    for line in (*diff.splitlines(), "@@"):
        if line.startswith("@@"):
            if head:
                hunks.append(_hunk(head, lines))
            found = HEAD.match(line)
            head = tuple(1 if given is None else int(given) for given in found.groups()) if found else ()
            lines = []
        elif head and line[:1] in (" ", "-", "+"):
            lines.append(line)
    return tuple(hunks)


def _hunk(head: tuple[int, ...], lines: list[str]) -> Hunk:
    old_start, old_lines, new_start, new_lines = head
    return Hunk(old_start=old_start, old_lines=old_lines, new_start=new_start, new_lines=new_lines, lines=tuple(lines))
