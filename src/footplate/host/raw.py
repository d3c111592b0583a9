"""A program whose output is taken as it comes, both streams, line or no line; in pipes or on a terminal."""

from __future__ import annotations

import asyncio
import errno
import os
import termios
from collections.abc import Callable
from typing import Any, Final, Literal

from .child import Process
from .lines import Block, LineSplitter
from .messages import Attached
from .pipes import CHUNK, WAKE, LinePipe, TailPipe

Stream = Literal["stdout", "stderr", "pty"]
Take = Callable[[Stream, bytes], None]

NOTHING: Final = Block(b"", ())


class Unsplit(LineSplitter):
    """Does not look for lines."""

    def feed(self, chunk: bytes) -> Block:
        """The chunk itself."""
        return Block(chunk, ())

    def finish(self) -> Block:
        """Nothing is ever held back."""
        return NOTHING


class ChunkPipe(LinePipe):
    """stdout, or the terminal: every chunk goes to `take` at once. A terminal that nobody has is at its end."""

    def __init__(self, fd: int, *, take: Callable[[bytes], None], on_closed: Callable[[], None], **before: Any) -> None:
        self._give = take
        super().__init__(fd, gather_s=0.0, on_closed=on_closed, **before)
        self._splitter = Unsplit()

    def _add(self, block: Block) -> None:
        if block.lines:
            self._give(block.lines)
            self._taken += len(block.lines)

    def _pump(self, budget: int = WAKE) -> int:
        try:
            return super()._pump(budget)
        except OSError as problem:
            if problem.errno != errno.EIO:
                raise
            self._end()
            return 0


class TapPipe(TailPipe):
    """stderr: every chunk is given to `take` at once."""

    def __init__(self, fd: int, *, take: Callable[[bytes], None], on_closed: Callable[[], None]) -> None:
        self._give = take
        self._on_closed = on_closed
        super().__init__(fd, keep=0)

    def _pump(self, budget: int = WAKE) -> None:
        while budget > 0 and not self.closed:
            try:
                chunk = os.read(self._fd, CHUNK)
            except BlockingIOError:
                return
            if not chunk:
                self._end()
            else:
                budget -= len(chunk)
                self._give(chunk)

    def _end(self) -> None:
        if not self.closed:
            super()._end()
            self._on_closed()


class RawProcess(Process):
    """A program that `Keeper.spawn(make=...)` started, whose output goes to `take` as it comes."""

    def __init__(self, *args: Any, take: Take, tty: bool, **facts: Any) -> None:
        self._give = take
        self._tty = tty
        self._flowing = 2
        self._drained: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        super().__init__(*args, **facts)

    def _open_stdout(self, fd: int, high_water: int) -> LinePipe:
        stream: Stream = "pty" if self._tty else "stdout"
        return ChunkPipe(fd, take=lambda data: self._give(stream, data), on_closed=self._on_end)

    def _open_stderr(self, fd: int) -> TailPipe:
        return TapPipe(fd, take=lambda data: self._give("stderr", data), on_closed=self._on_end)

    def _take_over(self, told: Attached, fds: list[int], high_water: int) -> None:
        """What it said meanwhile goes to `take` first; each part of it is settled as soon as it was given."""
        stream: Stream = "pty" if self._tty else "stdout"

        def give(data: bytes) -> None:
            self._give(stream, data)
            if not self._direct:
                asyncio.get_running_loop().call_soon(self.settle)

        rest = told.rest.encode("latin-1")
        self._stdout = ChunkPipe(
            fds[1], take=give, on_closed=self._on_end, ahead=fds[3], rest=rest, on_direct=self._on_direct
        )
        with open(fds[4], "rb") as spool:  # noqa: PTH123  a descriptor
            while chunk := spool.read(CHUNK):
                self._give("stderr", chunk)
        self._stderr = self._open_stderr(fds[2])
        if not told.stdin:
            self._stdin.finish()

    def _on_direct(self) -> None:
        super()._on_direct()
        self.settle()

    def _on_end(self) -> None:
        self._flowing -= 1
        if not self._flowing and not self._drained.done():
            self._drained.set_result(None)
        self._release()

    @property
    def is_drained(self) -> bool:
        """Whether nothing more can come."""
        return self._drained.done()

    async def drained(self) -> None:
        """Wait until nothing more can come: whoever could write is gone, or has closed its end."""
        await asyncio.shield(self._drained)

    def kill(self) -> None:
        """End it now, with all that it started; its input is not closed first, so that it has no time to end well."""
        if self.exit is None:
            self._ask_end(0)

    @property
    def size(self) -> tuple[int, int]:
        """The rows and columns of its terminal."""
        rows, cols = termios.tcgetwinsize(self._stdin.fileno())
        return rows, cols

    def resize(self, rows: int, cols: int) -> None:
        """Give its terminal another size; it is told by SIGWINCH. Does nothing once the terminal is closed."""
        if not self._stdin.closed:
            termios.tcsetwinsize(self._stdin.fileno(), (rows, cols))
