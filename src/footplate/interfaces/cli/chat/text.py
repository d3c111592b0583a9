"""Text for a terminal that trusts nobody: cleaned, measured in columns, wrapped, styled. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal

import msgspec

from footplate.events.wording import format_count
from footplate.interfaces.cli.lines import paint, visible

Style = Literal["", "ok", "failed", "warning", "note", "running", "dim", "bold"]

ESCAPES: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)"  # titles, links, clipboards
    r"|\x1b[ -/]*[0-~]"
)
BEGUN_ESCAPE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]{0,200}|[ -/]*)$")
"""A sequence at the end of a piece that may still go on."""
UNSEEN: Final = frozenset({"Mn", "Me", "Cf"})
"""Characters that take no column of their own."""


class Line(msgspec.Struct, frozen=True):
    """One finished line: its text (clean), how it looks, how deep it stands."""

    text: str
    style: Style = ""
    indent: int = 0


def clean(text: str) -> str:
    """The text with its line breaks and without anything that could move, colour or fool a terminal."""
    text = ESCAPES.sub("", text).replace("\r", "").replace("\t", "    ")
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(char if char == "\n" or char.isprintable() else _harmless(char) for char in text)


def prose(text: str, *, terminal: bool) -> str:
    """An agent's answer for standard output: clean on a terminal, exact where a program reads it."""
    return clean(text) if terminal else text


def _harmless(char: str) -> str:
    category = unicodedata.category(char)
    if category in ("Zs", "Zl", "Zp"):
        return " "
    return "" if category == "Cf" else "\ufffd"


@lru_cache(maxsize=4096)
def char_width(char: str) -> int:
    """How many columns a character takes."""
    if char.isascii():
        return 1
    if unicodedata.category(char) in UNSEEN:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def width_of(text: str) -> int:
    """How many columns the text takes."""
    return len(text) if text.isascii() else sum(map(char_width, text))


def cut(text: str, columns: int) -> tuple[str, str]:
    """The text in two: what fits into so many columns (at least one character), and the rest."""
    used = 0
    for index, char in enumerate(text):
        used += char_width(char)
        if used > columns:
            at = max(index, 1)
            return text[:at], text[at:]
    return text, ""


def fit(text: str, columns: int) -> str:
    """The text in at most so many columns; what is cut off is told by a mark."""
    if width_of(text) <= columns:
        return text
    return cut(text, columns - 1)[0] + "…" if columns > 1 else "…"[:columns]


def wrap(text: str, columns: int) -> list[str]:
    """One line in rows of so many columns, broken between words, and between wide characters.

    A word that is too long for a row begins on one of its own: so the rows but the last stay the same however the text
    goes on, and what is being streamed can be shown row by row.
    """
    rows: list[str] = []
    row, used = "", 0
    for word in _words(text):
        width = width_of(word)
        if used + width <= columns:
            row, used = row + word, used + width
            continue
        if row:
            rows.append(row)
        *full, row = _pieces(word.lstrip() if row else word, columns)
        rows += full
        used = width_of(row)
    return [*rows, row]


def _words(text: str) -> Iterator[str]:
    """Pieces that stay on one row, each with the blanks before it."""
    for word in re.findall(r"\s*\S+|\s+$", text):
        if word.isascii():
            yield word
            continue
        begin = 0
        before = 0
        for index, char in enumerate(word):
            width = char_width(char)
            if index > begin and width and (width == 2 or before == 2):
                yield word[begin:index]
                begin = index
            before = width
        yield word[begin:]


def _pieces(word: str, columns: int) -> list[str]:
    """A word that is too long, in pieces that each fill a row; at least one, if an empty one."""
    if word.isascii():
        return [word[at : at + columns] for at in range(0, len(word), columns)] or [""]
    found, begin, used = [], 0, 0
    for index, char in enumerate(word):
        width = char_width(char)
        if used + width > columns and index > begin:
            found.append(word[begin:index])
            begin, used = index, 0
        used += width
    return [*found, word[begin:]]


def rows_of(line: Line, columns: int | None, *, color: bool) -> list[str]:
    """A line as rows of a terminal, or as it is where nobody counts columns."""
    indent = "  " * line.indent
    if columns is None:
        return [indent + paint(line.text, line.style, color=color and bool(line.style and line.text))]
    room = max(columns - len(indent), 8)
    return [
        indent + (paint(row, line.style, color=color) if line.style and row else row) for row in wrap(line.text, room)
    ]


def flat(text: str) -> str:
    """The text on one line."""
    return " ".join(clean(text).split())


def lines_of(text: str, style: Style = "", *, indent: int = 0) -> list[Line]:
    """Several lines of text, cleaned, without the empty ones at the end."""
    return [Line(line, style, indent) for line in clean(text).rstrip("\n").split("\n")]


def visible_lines(text: str, style: Style = "", *, indent: int = 0) -> list[Line]:
    """Several lines of what a person approves: nothing is taken out, hidden characters are visible."""
    return [Line(line, style, indent) for line in visible(text).rstrip("\n").split("\n")]


def output_lines(text: str, style: Style = "", *, indent: int = 0) -> list[Line]:
    """What a command wrote: a line that was written over and over is several lines."""
    return lines_of(text.replace("\r\n", "\n").replace("\r", "\n"), style, indent=indent)


def shorten(lines: list[Line], most: int) -> list[Line]:
    """At most so many of the lines; how many are left out is told."""
    if len(lines) <= most:
        return lines
    left = len(lines) - most + 1
    return [*lines[: most - 1], Line(f"… {format_count(left, 'more line')}", "dim", lines[0].indent)]
