"""The terminal itself: raw mode that is always undone, lines above, a small region below that is drawn anew.

Nothing here decides what is shown. Whatever happens, `leave` gives the terminal back as it was.
"""

from __future__ import annotations

import os
import termios
from types import TracebackType
from typing import Final, Self

PASTE_ON: Final = "\x1b[?2004h"
PASTE_OFF: Final = "\x1b[?2004l"
HIDE: Final = "\x1b[?25l"
SHOW: Final = "\x1b[?25h"
NARROWEST: Final = 20
INPUT_FLAGS, OUTPUT_FLAGS, LOCAL_FLAGS, CONTROL_CHARS = 0, 1, 3, 6


class Screen:
    """A terminal with a growing text and, below it, a region of a few rows whose last one has the cursor."""

    def __init__(self, fd_in: int, fd_out: int) -> None:
        self._in = fd_in
        self._out = fd_out
        self._saved: list[int | list[bytes | int]] | None = None
        self._region: tuple[tuple[str, ...], int] = ((), 0)
        self.gone = False

    def __enter__(self) -> Self:
        self.enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    @property
    def active(self) -> bool:
        """Whether the terminal is ours now."""
        return self._saved is not None

    def enter(self) -> None:
        """Take the terminal: keys one by one, no echo, pastes marked as such."""
        if self._saved is not None:
            return
        self._saved = termios.tcgetattr(self._in)
        raw = termios.tcgetattr(self._in)
        raw[INPUT_FLAGS] &= ~(termios.ICRNL | termios.IXON | termios.INLCR | termios.IGNCR)
        raw[LOCAL_FLAGS] &= ~(termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN)
        raw[CONTROL_CHARS][termios.VMIN] = 1
        raw[CONTROL_CHARS][termios.VTIME] = 0
        termios.tcsetattr(self._in, termios.TCSADRAIN, raw)
        self._write(PASTE_ON)

    def leave(self) -> None:
        """Give the terminal back as it was; the region is wiped."""
        if self._saved is None:
            return
        saved, self._saved = self._saved, None
        self._write(self._wipe() + PASTE_OFF + SHOW)
        self._region = ((), 0)
        try:
            termios.tcsetattr(self._in, termios.TCSADRAIN, saved)
        except termios.error:
            self.gone = True  # there is no terminal any more to be restored

    @property
    def columns(self) -> int:
        """The width that can be used: one less than there is, so that no row wraps by itself."""
        try:
            columns = os.get_terminal_size(self._out).columns
        except OSError:
            columns = 0
        return max((columns or 80) - 1, NARROWEST)

    def draw(self, rows: list[str], region: tuple[str, ...], column: int) -> None:
        """Add rows to the text, and show the region below with the cursor in that column of its last row."""
        if not self.active or (not rows and (region, column) == self._region):
            return
        text = HIDE + self._wipe() + "".join(row + "\n" for row in rows) + "\n".join(region) + "\r"
        text += f"\x1b[{column}C" if column else ""
        self._region = (region, column)
        self._write(text + SHOW)

    def clear(self) -> None:
        """An empty screen."""
        self._region = ((), 0)
        self._write("\x1b[H\x1b[2J")

    def forget_region(self) -> None:
        """The terminal was resized: what stands there cannot be trusted to be where it was."""
        self._write(self._wipe())
        self._region = ((), 0)

    def _wipe(self) -> str:
        height = len(self._region[0])
        if not height:
            return ""
        return "\r" + (f"\x1b[{height - 1}A" if height > 1 else "") + "\x1b[J"

    def _write(self, text: str) -> None:
        data = text.encode(errors="replace")
        try:
            while data and not self.gone:
                data = data[os.write(self._out, data) :]
        except OSError:
            self.gone = True
