"""A program on a real pseudo-terminal: type keys, wait for text, look at what a person would see."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

from tests.e2e.grid import Grid

RUN = [sys.executable, "-m", "footplate"]
ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


class Terminal:
    """`footplate ...` on a terminal of its own."""

    def __init__(self, env: dict[str, str], *arguments: str, cwd: str, columns: int = 80, rows: int = 24) -> None:
        self._main, self._side = pty.openpty()
        fcntl.ioctl(self._side, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
        self.before = termios.tcgetattr(self._side)
        self.process = subprocess.Popen(
            [*RUN, *arguments],
            env=env,
            cwd=cwd,
            stdin=self._side,
            stdout=self._side,
            stderr=self._side,
            start_new_session=True,
        )
        self.columns = columns
        self.seen = ""
        self._mark = 0

    @property
    def text(self) -> str:
        """Everything that was written, without colours and moves."""
        return ESCAPE.sub("", self.seen).replace("\r", "")

    @property
    def rows(self) -> list[str]:
        """The screen as a person sees it now, with what scrolled out above."""
        grid = Grid(self.columns)
        grid.feed(self.seen)
        return grid.rows

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._main, text.encode())

    def say(self, text: str) -> None:
        """Type a line and press Enter."""
        self.type(text + "\r")

    def wait(self, wanted: str, *, within: float = 20.0) -> None:
        """Wait until the text comes after what was waited for before."""
        deadline = time.monotonic() + within
        while (found := self.text.find(wanted, self._mark)) < 0:
            assert time.monotonic() < deadline, f"{wanted!r} is not in {self.text[self._mark :]!r}"
            if not self._read_some() and self.process.poll() is not None and not self._read_some():
                assert wanted in self.text[self._mark :], f"it ended without {wanted!r}: {self.text[self._mark :]!r}"
        self._mark = found + len(wanted)

    def wait_for_last_row(self, wanted: str, *, within: float = 20.0) -> None:
        """Wait until the screen is drawn down to this row."""
        deadline = time.monotonic() + within
        while self.rows[-1] != wanted:
            assert time.monotonic() < deadline, f"the last row is not {wanted!r}: {self.rows}"
            self._read_some()

    def resize(self, columns: int, rows: int = 24) -> None:
        """Make the terminal another size."""
        fcntl.ioctl(self._side, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    @property
    def restored(self) -> bool:
        """Whether the terminal is as it was before the program."""
        return termios.tcgetattr(self._side) == self.before and self.seen.rfind("\x1b[?2004l") >= self.seen.rfind(
            "\x1b[?2004h"
        )

    def finish(self, *, within: float = 20.0) -> int:
        """Read to the end; gives back the exit code."""
        deadline = time.monotonic() + within
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it does not end: {self.text!r}"
            self._read_some()
        while self._read_some(0.0):
            pass
        return self.process.wait()

    def close(self) -> None:
        """Whatever happened: no process and no descriptor is left."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for fd in (self._main, self._side):
            os.close(fd)

    def _read_some(self, patience: float = 0.1) -> bool:
        ready, _, _ = select.select([self._main], [], [], patience)
        if not ready:
            return False
        self.seen += os.read(self._main, 65536).decode(errors="replace")
        return True
