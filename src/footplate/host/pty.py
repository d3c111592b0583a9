"""What a terminal shows again to one who comes back: its last output, and the state in which that output began.

Not an emulator: the bytes are given back as they came. What has been cut off is looked through for the modes that it
left behind (other screen, colours, scroll region, mouse, title), so that what follows looks as it did. Questions to the
terminal are left out: they were answered when they were asked. Pure.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Final

ESCAPES: Final = re.compile(
    rb"\x1b\[(?P<mark>[?>=!]?)(?P<numbers>[0-9;:]*)(?P<between>[ -/]*)(?P<end>[@-~])"
    rb"|\x1b\](?P<osc>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    rb"|\x1b(?P<charset>[()][0-9A-Za-z])"
    rb"|\x1b(?P<plain>[=>c])"
    rb"|(?P<shift>[\x0e\x0f])"
)
BEGUN: Final = re.compile(rb"\x1b(?:\][^\x07\x1b]*\x1b?|P[^\x1b]*\x1b?|\[[?>=!]?[0-9;:]*[ -/]*|[()]?)\Z")
QUESTIONS: Final = re.compile(
    rb"\x1b\[[?>=]?[0-9;]*[cn]|\x1b\[[?>]?[0-9;]*\$p|\x1b\[>[0-9;]*q|\x1b\[\?u|\x1b\[(?:1[468]|2[01])t"
    rb"|\x1b\][0-9;]+;\?(?:\x07|\x1b\\)|\x1bP[+$]q[^\x1b]*\x1b\\|\x1bZ|\x05"
)
OTHER_SCREENS: Final = frozenset((b"47", b"1047", b"1049"))
UNFINISHED: Final = 4096
COLOURS: Final = 64


class Modes:
    """The state of a terminal, but for what it shows."""

    def __init__(self) -> None:
        self._rest = b""
        self._reset()

    def _reset(self) -> None:
        self._private: dict[bytes, bytes] = {}
        self._colours: list[bytes] = []
        self._single: dict[str, bytes] = {}

    def feed(self, data: bytes) -> None:
        """Take note of the modes that these bytes set."""
        data = self._rest + data
        end = 0
        for found in ESCAPES.finditer(data):
            end = found.end()
            self._note(found)
        self._rest = _unfinished(data[end:])

    def _note(self, found: re.Match[bytes]) -> None:
        whole = found[0]
        if found["end"]:
            self._note_control(found["mark"], found["numbers"], found["between"] + found["end"], whole)
        elif found["osc"] is not None:
            if found["osc"][:2] in (b"0;", b"2;"):
                self._single["title"] = whole
        elif found["charset"]:
            self._single[f"charset {found['charset'][:1].decode()}"] = whole
        elif found["plain"] == b"c":
            self._reset()
        elif found["plain"]:
            self._single["keypad"] = whole
        else:
            self._single["shift"] = whole

    def _note_control(self, mark: bytes, numbers: bytes, end: bytes, whole: bytes) -> None:
        if mark == b"?" and end in (b"h", b"l"):
            for number in numbers.split(b";"):
                self._private[number] = end
        elif end == b"m" and not mark:
            if numbers in (b"", b"0"):
                self._colours = []
            else:
                self._colours = [*self._colours[1 - COLOURS :], whole]
        elif (mark, end) == (b"!", b"p"):
            self._reset()
        elif not mark and end in (b"r", b" q"):
            self._single[end.decode()] = whole
        elif not mark and end in (b"h", b"l"):
            self._single[f"mode {numbers.decode()}"] = whole

    @property
    def other_screen(self) -> bool:
        """Whether a program has the whole screen to itself (an editor, a pager)."""
        return any(self._private.get(number) == b"h" for number in OTHER_SCREENS)

    def restore(self) -> bytes:
        """What brings a fresh terminal into this state."""
        ordered = sorted(self._private.items(), key=lambda item: item[0] not in OTHER_SCREENS)
        private = b"".join(b"\x1b[?%b%b" % item for item in ordered)
        return private + b"".join((*self._single.values(), *self._colours)) + self._rest


def _unfinished(tail: bytes) -> bytes:
    """The part of a sequence, or of a character, that the end of the bytes cuts off."""
    if begun := BEGUN.search(tail):
        return begun[0] if len(begun[0]) < UNFINISHED else b""
    for length in range(1, min(4, len(tail) + 1)):
        first = tail[-length]
        if first >= 0xC0:
            return tail[-length:] if length < (2 if first < 0xE0 else 3 if first < 0xF0 else 4) else b""
        if first < 0x80:
            break
    return b""


class Replay:
    """The last output of a terminal."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._before = Modes()

    def feed(self, data: bytes) -> None:
        """More output."""
        self._chunks.append(data)
        self._size += len(data)
        while self._size > self._limit:
            oldest = self._chunks.popleft()
            cut = min(len(oldest), self._size - self._limit)
            if cut < len(oldest):
                self._chunks.appendleft(oldest[cut:])
            self._before.feed(oldest[:cut])
            self._size -= cut

    def show(self) -> bytes:
        """What a fresh terminal is to be sent."""
        return self._before.restore() + QUESTIONS.sub(b"", b"".join(self._chunks))

    def other_screen(self) -> bool:
        """Whether a program has the whole screen to itself now: it is asked to draw it anew."""
        now = Modes()
        now.feed(self.show())
        return now.other_screen
