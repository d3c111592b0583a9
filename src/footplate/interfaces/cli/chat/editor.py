"""A line editor: keys in, text and cursor out. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Final

from footplate.interfaces.cli.chat.keys import Key
from footplate.interfaces.cli.chat.text import UNSEEN, char_width, clean

NEWLINE_MARK: Final = "↵"
MOST_HISTORY: Final = 500


class LineEditor:
    """The line being typed. `apply` gives back the text when Enter was pressed, else None."""

    def __init__(self) -> None:
        self.text = ""
        self.cursor = 0
        self._history: list[str] = []
        self._place = 0
        self._draft = ""
        self._killed = ""

    def remember(self, text: str) -> None:
        """Something that was sent, to be found again with the arrows."""
        if text and (not self._history or self._history[-1] != text):
            self._history = [*self._history[-MOST_HISTORY:], text]
        self._place = len(self._history)

    def clear(self) -> None:
        """Begin anew."""
        self.text, self.cursor, self._place = "", 0, len(self._history)

    def apply(self, key: Key) -> str | None:
        """Take one key."""
        if key.name == "enter":
            text = self.text
            self.clear()
            return text
        if key.name in ("text", "paste"):
            self.insert(clean(key.text))
        elif key.name in _MOVES:
            _MOVES[key.name](self)
        return None

    def insert(self, text: str) -> None:
        """Put text where the cursor is."""
        self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
        self.cursor += len(text)

    def window(self, columns: int) -> tuple[str, int]:
        """The part of the line that fits into so many columns with the cursor in it, and the cursor's column."""
        shown = self.text.replace("\n", NEWLINE_MARK)
        start, used = self.cursor, 0
        while start > 0 and used + char_width(shown[start - 1]) < columns:
            start -= 1
            used += char_width(shown[start])
        end, wide = self.cursor, used
        while end < len(shown) and wide + char_width(shown[end]) < columns:
            wide += char_width(shown[end])
            end += 1
        return shown[start:end], used

    # ------------------------------------------------------------------------------------------- moves

    def before(self) -> int:
        """Where the character before the cursor begins, with what is put on top of it."""
        at = self.cursor
        while at > 0:
            at -= 1
            if unicodedata.category(self.text[at]) not in UNSEEN:
                break
        return at

    def after(self) -> int:
        """Where the next character begins."""
        at = min(self.cursor + 1, len(self.text))
        while at < len(self.text) and unicodedata.category(self.text[at]) in UNSEEN:
            at += 1
        return at

    def word_before(self) -> int:
        """Where the word before the cursor begins."""
        at = self.cursor
        while at > 0 and self.text[at - 1].isspace():
            at -= 1
        while at > 0 and not self.text[at - 1].isspace():
            at -= 1
        return at

    def word_after(self) -> int:
        """Where the word after the cursor ends."""
        at = self.cursor
        while at < len(self.text) and self.text[at].isspace():
            at += 1
        while at < len(self.text) and not self.text[at].isspace():
            at += 1
        return at

    def go(self, at: int) -> None:
        """Put the cursor there."""
        self.cursor = at

    def remove(self, start: int, end: int, *, keep: bool = False) -> None:
        """Take a piece out; `keep` it to be put back with Ctrl-Y."""
        if keep:
            self._killed = self.text[start:end]
        self.text = self.text[:start] + self.text[end:]
        self.cursor = start

    def yank(self) -> None:
        """Put back what was taken out last."""
        self.insert(self._killed)

    def browse(self, step: int) -> None:
        """An older or newer line of the history; beyond the newest is what was being typed."""
        place = self._place + step
        if not 0 <= place <= len(self._history):
            return
        if self._place == len(self._history):
            self._draft = self.text
        self._place = place
        self.text = self._draft if place == len(self._history) else self._history[place]
        self.cursor = len(self.text)


_MOVES: Final[dict[str, Callable[[LineEditor], None]]] = {
    "left": lambda e: e.go(e.before()),
    "right": lambda e: e.go(e.after()),
    "home": lambda e: e.go(0),
    "end": lambda e: e.go(len(e.text)),
    "ctrl-a": lambda e: e.go(0),
    "ctrl-e": lambda e: e.go(len(e.text)),
    "ctrl-b": lambda e: e.go(e.before()),
    "ctrl-f": lambda e: e.go(e.after()),
    "word-left": lambda e: e.go(e.word_before()),
    "word-right": lambda e: e.go(e.word_after()),
    "up": lambda e: e.browse(-1),
    "down": lambda e: e.browse(1),
    "ctrl-p": lambda e: e.browse(-1),
    "ctrl-n": lambda e: e.browse(1),
    "backspace": lambda e: e.remove(e.before(), e.cursor),
    "delete": lambda e: e.remove(e.cursor, e.after()),
    "ctrl-d": lambda e: e.remove(e.cursor, e.after()),
    "ctrl-w": lambda e: e.remove(e.word_before(), e.cursor, keep=True),
    "delete-word": lambda e: e.remove(e.word_before(), e.cursor, keep=True),
    "delete-word-right": lambda e: e.remove(e.cursor, e.word_after(), keep=True),
    "ctrl-u": lambda e: e.remove(0, e.cursor, keep=True),
    "ctrl-k": lambda e: e.remove(e.cursor, len(e.text), keep=True),
    "ctrl-y": lambda e: e.yank(),
    "newline": lambda e: e.insert("\n"),
}
