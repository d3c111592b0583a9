"""A change of a file as lines: removed, added, and a few that stay the same around them.

The lines come from the hunks that a tool reported, else from the two texts. Between two texts the script is the
shortest one (Myers), so that every surface counts the same added and removed lines; the page's twin is
`web/src/ui/conversation/diff_lines.ts`, and `tests/fixtures/events/diffs.json` holds the cases for both.

Lines end at `\\n` only. Other line breaks of Unicode stay inside the line, where `show_hidden` makes them visible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import msgspec

from footplate.events.tools import FileChange, Hunk
from footplate.events.wording import format_changes

LineKind = Literal["same", "added", "removed", "gap", "note"]
CONTEXT: Final = 3
MOST_EDITS: Final = 1000
"""Texts that differ in more lines than this are shown as removed and added whole: the cost grows with the square."""

NO_TEXT: Final = "(the agent does not say what changes)"
NO_NEWLINE: Final = "\\ No newline at end of file"
KINDS: Final[dict[str, LineKind]] = {"+": "added", "-": "removed", " ": "same", "\\": "note"}
MARKS: Final[dict[LineKind, str]] = {"same": " ", "added": "+", "removed": "-", "gap": "", "note": ""}
Edit = tuple[LineKind, str]


class DiffLine(msgspec.Struct, frozen=True, gc=False):
    """One line of a diff, with its numbers before and after.

    A `gap` marks lines that are left out; its text is the head of a hunk that the tool reported, else empty. A `note`
    is a remark such as `NO_NEWLINE`.
    """

    kind: LineKind
    text: str
    before: int | None = None
    after: int | None = None


def diff_lines(change: FileChange) -> tuple[DiffLine, ...]:
    """The lines of a change, all of them."""
    if change.hunks:
        return tuple(line for hunk in change.hunks for line in _hunk_lines(hunk, strip=_all_returns(change.hunks)))
    return tuple(_with_context(_edits(change.old_text or "", change.new_text or "")))


def count_changes(lines: Sequence[DiffLine]) -> tuple[int, int]:
    """How many lines are added and removed."""
    return sum(line.kind == "added" for line in lines), sum(line.kind == "removed" for line in lines)


def describe_change(change: FileChange, lines: Sequence[DiffLine]) -> str:
    """The counts of a change, or a remark when the agent sends no text of it; a deletion or a move needs none."""
    if change.hunks or change.old_text is not None or change.new_text is not None:
        return format_changes(*count_changes(lines))
    return "" if change.kind in ("delete", "move") else NO_TEXT


# ----------------------------------------------------------------------------------------- hunks of a tool


def _all_returns(hunks: Sequence[Hunk]) -> bool:
    return all(line.endswith("\r") for hunk in hunks for line in hunk.lines if not line.startswith("\\"))


def _hunk_lines(hunk: Hunk, *, strip: bool) -> Iterator[DiffLine]:
    head = f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@"
    yield DiffLine("gap", head)
    edits: list[Edit] = []
    for line in hunk.lines:
        kind = KINDS.get(line[:1])
        text = line if kind in (None, "note") else line[1:]
        edits.append((kind or "same", text[:-1] if strip and text.endswith("\r") else text))
    yield from _numbered(edits, hunk.old_start, hunk.new_start)


def _numbered(edits: Sequence[Edit], before: int, after: int) -> Iterator[DiffLine]:
    for kind, text in edits:
        old, new = kind in ("same", "removed"), kind in ("same", "added")
        yield DiffLine(kind, text, before if old else None, after if new else None)
        before, after = before + old, after + new


# ----------------------------------------------------------------------------------------------- two texts


def _edits(old: str, new: str) -> list[Edit]:
    """Every line of both texts, marked."""
    before, after = _split(old), _split(new)
    if _ends_apart(old, new):
        return [edit for line in _script(_keep_ends(old), _keep_ends(new)) for edit in _note_end(line)]
    if _returns_only(before, old) and _returns_only(after, new):
        before, after = _split(old.replace("\r\n", "\n")), _split(new.replace("\r\n", "\n"))
    return _script(before, after)


def _split(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _ends_apart(old: str, new: str) -> bool:
    """Whether one of two texts ends in a line break and the other does not."""
    return bool(old and new) and old.endswith("\n") != new.endswith("\n")


def _returns_only(lines: Sequence[str], text: str) -> bool:
    """Whether each line break of the text is a carriage return and a line feed: then they need not be shown."""
    ended = lines if text.endswith("\n") else lines[:-1]
    return all(line.endswith("\r") for line in ended)


def _keep_ends(text: str) -> list[str]:
    lines = _split(text)
    return (
        [f"{line}\n" for line in lines] if text.endswith("\n") else [*(f"{line}\n" for line in lines[:-1]), lines[-1]]
    )


def _note_end(edit: Edit) -> tuple[Edit, ...]:
    kind, text = edit
    return ((kind, text[:-1]),) if text.endswith("\n") else (edit, ("note", NO_NEWLINE))


def _script(before: Sequence[str], after: Sequence[str]) -> list[Edit]:
    """The shortest way from one list of lines to the other."""
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    middle = _shortest(old, new) if old and new else None
    if middle is None:
        middle = [*(("removed", line) for line in old), *(("added", line) for line in new)]
    same: LineKind = "same"
    return [
        *((same, line) for line in before[:head]),
        *middle,
        *((same, line) for line in before[len(before) - tail :]),
    ]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    length = 0
    for mine, yours in zip(one, other, strict=False):
        if mine != yours:
            break
        length += 1
    return length


def _shortest(old: Sequence[str], new: Sequence[str]) -> list[Edit] | None:
    """Myers' greedy search; None when there are more than `MOST_EDITS` edits.

    `reach[k]` is how far down `old` the best path on diagonal k has come; each round is kept to walk back.
    """
    reach, rounds = {1: 0}, list[dict[int, int]]()
    for edits in range(min(len(old) + len(new), MOST_EDITS) + 1):
        rounds.append(reach)
        reach = dict(reach)
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and reach[k - 1] < reach[k + 1])
            x = reach[k + 1] if down else reach[k - 1] + 1
            while x < len(old) and x - k < len(new) and old[x] == new[x - k]:
                x += 1
            reach[k] = x
            if x >= len(old) and x - k >= len(new):
                return _walk_back(old, new, rounds)
    return None


def _walk_back(old: Sequence[str], new: Sequence[str], rounds: Sequence[dict[int, int]]) -> list[Edit]:
    script: list[Edit] = []
    x, y = len(old), len(new)
    for edits in range(len(rounds) - 1, -1, -1):
        reach, k = rounds[edits], x - y
        down = k == -edits or (k != edits and reach[k - 1] < reach[k + 1])
        from_k = k + 1 if down else k - 1
        from_x = reach[from_k]
        while x > from_x + (not down):  # the lines that are the same behind the edit
            x -= 1
            script.append(("same", old[x]))
        if edits:
            script.append(("added", new[from_x - from_k]) if down else ("removed", old[from_x]))
        x, y = from_x, from_x - from_k
    return script[::-1]


def _with_context(edits: Sequence[Edit]) -> Iterator[DiffLine]:
    """The changed lines with a few around them; a gap marks lines between that are left out."""
    kept = [False] * len(edits)
    for place, (kind, _) in enumerate(edits):
        if kind != "same":
            for near in range(max(0, place - CONTEXT), min(len(edits), place + CONTEXT + 1)):
                kept[near] = True
    shown = False
    for place, line in enumerate(_numbered(edits, 1, 1)):
        if kept[place]:
            if shown and not kept[place - 1]:
                yield DiffLine("gap", "")
            shown = True
            yield line
