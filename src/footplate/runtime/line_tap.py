"""The raw lines of one agent process on their way to the recorder.

The task that reads an agent calls `record` with bytes that it has anyway. A process can be started before its session
is known (`WarmPool`), so lines from before `connect` are kept, up to a limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from footplate.host.lines import Block, LineSplitter
from footplate.runtime.frame_log import log_errors
from footplate.store.values import Direction

LINE_BYTES: Final = 256 * 1024
"""A longer line is stored cut, with its size."""

EARLY_BYTES: Final = 512 * 1024
"""How much is kept before the session is known."""

SILENCE_S: Final = 1.0
"""After this time a line of stderr that is not finished is given as it is."""


class Sink(Protocol):
    """Takes the raw lines of an agent. It must not wait, and must not raise."""

    def record(self, direction: Direction, lines: bytes, *, size: int = 0, age_s: float = 0.0) -> None:
        """Take whole lines that were read or written `age_s` ago; `size` is the length of one line that was cut."""

    def lose(self, lines: int, size: int) -> None:
        """Note that this number of lines and bytes is missing here."""

    def finish(self) -> None:
        """The agent has ended: what was taken should be stored soon."""


class LineTap:
    """Gives the lines of one agent to a sink, once there is one."""

    def __init__(self) -> None:
        self._sink: Sink | None = None
        self._early: list[tuple[float, Direction, bytes, int]] = []
        self._early_bytes = 0
        self._lost_lines = 0
        self._lost_bytes = 0

    def connect(self, sink: Sink | None) -> None:
        """Give all lines to this sink from now on; without one they are dropped from now on."""
        now = asyncio.get_running_loop().time()
        early, self._early = self._early, []
        self._sink = sink or _NOWHERE
        for at, direction, lines, size in early:
            self._sink.record(direction, lines, size=size, age_s=now - at)
        if self._lost_lines:
            self._sink.lose(self._lost_lines, self._lost_bytes)

    def record(self, direction: Direction, lines: bytes) -> None:
        """Take whole lines. A last newline that is missing is added: this must not fail, whatever an engine sends."""
        if not lines:
            return
        if not lines.endswith(b"\n"):
            lines += b"\n"
        if len(lines) > LINE_BYTES:
            for part, size in cut_lines(lines):
                self._give(direction, part, size)
        elif self._sink is not None:
            self._sink.record(direction, lines)
        else:
            self._give(direction, lines, 0)

    def record_cut(self, direction: Direction, head: bytes, size: int) -> None:
        """Take the beginning of a line that was too long to be read whole."""
        self._give(direction, head.replace(b"\n", b" ") + b"\n", size)

    def finish(self) -> None:
        """The agent has ended."""
        if self._sink is not None:
            self._sink.finish()

    def _give(self, direction: Direction, lines: bytes, size: int) -> None:
        if self._sink is not None:
            self._sink.record(direction, lines, size=size)
        elif self._early_bytes + len(lines) > EARLY_BYTES:
            self._lost_lines += lines.count(b"\n")
            self._lost_bytes += size or len(lines)
        else:
            self._early_bytes += len(lines)
            self._early.append((asyncio.get_running_loop().time(), direction, lines, size))


class ErrorLines:
    """stderr of an agent as lines, for the log and for the tap. What waits without a newline is given after a silence:
    an agent that asks for a password and waits must be seen."""

    def __init__(self, tap: LineTap, session: Callable[[], str]) -> None:
        self._tap = tap
        self._session = session
        self._lines = LineSplitter(ceiling=LINE_BYTES)
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, chunk: bytes) -> None:
        """Take what the agent has written."""
        self._note(self._lines.feed(chunk))
        self._stop()
        if not chunk.endswith(b"\n"):
            self._timer = asyncio.get_running_loop().call_later(SILENCE_S, self.finish)

    def finish(self) -> None:
        """What came so far is a line."""
        self._stop()
        self._note(self._lines.finish())

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def _note(self, block: Block) -> None:
        session = self._session()
        log_errors(session, block.lines)
        if block.lines:
            self._tap.record("err", block.lines)
        for line in block.oversize:
            log_errors(session, line.head, size=line.size)
            self._tap.record_cut("err", line.head, line.size)


class _Nowhere:
    """Drops everything."""

    def record(self, direction: Direction, lines: bytes, *, size: int = 0, age_s: float = 0.0) -> None:
        """Drop the lines."""

    def lose(self, lines: int, size: int) -> None:
        """Nothing is recorded, so nothing is missing."""

    def finish(self) -> None:
        """There is nothing to store."""


_NOWHERE: Final = _Nowhere()


def cut_lines(lines: bytes) -> Iterator[tuple[bytes, int]]:
    """The lines in groups of at most `LINE_BYTES`; a longer line alone and cut, with its size (else 0)."""
    start = end = 0
    while end < len(lines):
        newline = lines.index(b"\n", end) + 1
        size = newline - end - 1
        if size > LINE_BYTES or newline - start > LINE_BYTES:
            if end > start:
                yield lines[start:end], 0
            start = end
        if size > LINE_BYTES:
            yield lines[start : start + LINE_BYTES] + b"\n", size
            start = newline
        end = newline
    if end > start:
        yield lines[start:end], 0
