"""A terminal's screen, as far as our programs use it: what a person sees after all moves and wipes."""

from __future__ import annotations

import re
import unicodedata

TOKEN = re.compile(r"\x1b\[([0-?]*)[ -/]*([@-~])|\x1b.|[\r\n\b]|[^\x1b\r\n\b]", re.DOTALL)
SHADOW = ""
"""The second column of a wide character."""


class Grid:
    """Rows of cells and a cursor; rows that scroll out of sight are kept above."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self._rows: list[list[str]] = [[]]
        self._row = 0
        self._column = 0

    def feed(self, text: str) -> None:
        """Draw what a program wrote."""
        for token in TOKEN.finditer(text):
            if token[2]:
                self._move(token[1], token[2])
            elif token[0] == "\r":
                self._column = 0
            elif token[0] == "\n":
                self._down()
            elif not token[0].startswith("\x1b"):
                self._put(token[0])

    @property
    def rows(self) -> list[str]:
        """Every row, without blanks at its end."""
        return ["".join(row).rstrip() for row in self._rows]

    @property
    def cursor(self) -> tuple[int, int]:
        """Row (from the last row: 0) and column."""
        return len(self._rows) - 1 - self._row, self._column

    def _down(self) -> None:
        self._row += 1
        if self._row == len(self._rows):
            self._rows.append([])

    def _put(self, char: str) -> None:
        width = 2 if unicodedata.east_asian_width(char) in "WF" else 0 if unicodedata.combining(char) else 1
        if self._column + width > self.columns:
            self._down()
            self._column = 0
        row = self._rows[self._row]
        row.extend(" " * (self._column + width - len(row)))
        if width:
            row[self._column] = char
        elif self._column:
            row[self._column - 1] += char
        if width == 2:
            row[self._column + 1] = SHADOW
        self._column += width

    def _move(self, numbers: str, letter: str) -> None:
        count = int(numbers) if numbers.isdecimal() else 1
        if letter == "A":
            assert self._row >= count, "moved above the first row"
            self._row -= count
        elif letter == "C":
            self._column = min(self._column + count, self.columns - 1)
        elif letter == "J" and numbers in ("", "0"):
            del self._rows[self._row + 1 :]
            del self._rows[self._row][self._column :]
