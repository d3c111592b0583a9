"""Bytes of a terminal as keys: UTF-8, escape sequences, bracketed paste. Pure."""

from __future__ import annotations

import codecs
from typing import Final

import msgspec

PASTE_BEGINS: Final = "\x1b[200~"
PASTE_ENDS: Final = "\x1b[201~"
LONGEST_SEQUENCE: Final = 16

CONTROLS: Final = {
    "\r": "enter",
    "\n": "enter",
    "\t": "tab",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x1b": "escape",
}
SEQUENCES: Final = {
    "[A": "up",
    "[B": "down",
    "[C": "right",
    "[D": "left",
    "[H": "home",
    "[F": "end",
    "OA": "up",
    "OB": "down",
    "OC": "right",
    "OD": "left",
    "OH": "home",
    "OF": "end",
    "[1~": "home",
    "[7~": "home",
    "[4~": "end",
    "[8~": "end",
    "[3~": "delete",
    "[1;5C": "word-right",
    "[1;5D": "word-left",
    "[1;3C": "word-right",
    "[1;3D": "word-left",
    "b": "word-left",
    "f": "word-right",
    "d": "delete-word-right",
    "\x7f": "delete-word",
    "\x08": "delete-word",
    "\r": "newline",
    "\n": "newline",
}


class Key(msgspec.Struct, frozen=True):
    """One key. `name` is `text` for characters and `paste` for what was pasted; the text is then beside it."""

    name: str
    text: str = ""


class KeyReader:
    """Takes bytes as they come and gives keys; a sequence that is cut in two waits for its rest."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    @property
    def pending(self) -> bool:
        """Whether something waits that may be a lone Escape."""
        return self._rest.startswith("\x1b") and not self._rest.startswith(PASTE_BEGINS)

    def feed(self, data: bytes) -> list[Key]:
        """The keys that are complete."""
        self._rest += self._decoder.decode(data)
        keys: list[Key] = []
        while self._rest:
            key, used = self._next()
            if not used:
                break
            self._rest = self._rest[used:]
            if key is not None:
                keys.append(key)
        return keys

    def flush(self) -> list[Key]:
        """Nothing more came: an escape that waits was the key itself."""
        if not self.pending:
            return []
        rest, self._rest = self._rest[1:], ""
        return [Key("escape"), *self.feed(rest.encode())]

    def _next(self) -> tuple[Key | None, int]:
        char = self._rest[0]
        if char == "\x1b":
            return self._escape()
        if char in CONTROLS:
            return Key(CONTROLS[char]), 1
        if char < " ":
            return Key(f"ctrl-{chr(ord(char) + 96)}"), 1
        end = 1
        while end < len(self._rest) and self._rest[end] >= " " and self._rest[end] != "\x7f":
            end += 1
        return Key("text", self._rest[:end]), end

    def _escape(self) -> tuple[Key | None, int]:
        if self._rest.startswith(PASTE_BEGINS):
            end = self._rest.find(PASTE_ENDS)
            if end < 0:
                return None, 0
            return Key("paste", self._rest[len(PASTE_BEGINS) : end]), end + len(PASTE_ENDS)
        if len(self._rest) == 1:
            return None, 0
        body = self._rest[1]
        if body in "[O":
            return self._sequence()
        if body == "\x1b":
            return Key("escape"), 1
        name = SEQUENCES.get(body)
        return (Key(name) if name else None), 2

    def _sequence(self) -> tuple[Key | None, int]:
        """`ESC [ numbers letter`; one that we do not know is let pass as a whole."""
        for index in range(2, min(len(self._rest), LONGEST_SEQUENCE)):
            char = self._rest[index]
            if "@" <= char <= "~" and not (index == 2 and char == "["):
                name = SEQUENCES.get(self._rest[1 : index + 1])
                return (Key(name) if name else None), index + 1
        return (None, len(self._rest)) if len(self._rest) >= LONGEST_SEQUENCE else (None, 0)
