"""Unified diffs, as Codex tells changes of files, as hunks. Pure."""

from __future__ import annotations

import re
from typing import Final

from footplate.events.tools import Hunk

HEAD: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


UNNUMBERED: Final = (0, 0, 0, 0)


def read_hunks(diff: str) -> tuple[Hunk, ...]:
    """The hunks of a diff of one file. Lines before the first head that can be read are kept in a hunk of their own.

    Lines end at `\\n` only: another line break inside a line must not part it from its mark.
    """
    hunks: list[Hunk] = []
    head: tuple[int, ...] = UNNUMBERED
    lines: list[str] = []
    for line in diff.removesuffix("\n").split("\n") if diff else ():
        found = HEAD.match(line)
        if found is None:
            lines.append(line)
            continue
        hunks += [_hunk(head, lines)] if lines else []
        head, lines = tuple(1 if given is None else int(given) for given in found.groups()), []
    return (*hunks, *([_hunk(head, lines)] if lines else ()))


def _hunk(head: tuple[int, ...], lines: list[str]) -> Hunk:
    old_start, old_lines, new_start, new_lines = head
    return Hunk(old_start=old_start, old_lines=old_lines, new_start=new_start, new_lines=new_lines, lines=tuple(lines))
