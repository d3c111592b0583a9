"""The service's ends of an agent's three pipes on the event loop: lines out, frames in, a tail of stderr.

Each end owns its descriptor: it closes it at the end of the stream, when the pipe breaks, or on `close`.
No task and no thread belongs to any of them.
"""

from __future__ import annotations

import asyncio
import os
import select
import stat
from collections import deque
from collections.abc import Callable
from typing import Final

from .lines import Block, LineSplitter

CHUNK: Final = 64 * 1024  # what a pipe holds
WAKE: Final = 256 * 1024  # how much is read before other work of the loop gets its turn
GATHER_S: Final = 0.01  # how long lines that come one by one are left to gather
TRICKLE: Final = 8 * 1024  # a read of less is one of those
LEFT: Final = 1024 * 1024  # the most a pipe can hold once its writer is dead
HIGH_WATER: Final = 4 * 1024 * 1024
TAIL: Final = 64 * 1024


class LinePipe:
    """stdout: hands over whatever whole lines have come, as one block; stops reading when nobody takes them.

    To wake up costs more than to read a line. So a line is handed over as it comes, but when the next one is close
    behind it, those after it are left to gather for a moment. A pipe that is full is read without a pause. What comes
    after the agent was told something may be the answer to that, and is not left to gather.

    `ahead` is a file with what came before: it is read first, and `on_direct` is called before the pipe itself is.
    """

    def __init__(
        self,
        fd: int,
        *,
        high_water: int = HIGH_WATER,
        gather_s: float = GATHER_S,
        on_closed: Callable[[], None],
        ahead: int = -1,
        rest: bytes = b"",
        on_direct: Callable[[], None] = lambda: None,
    ) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._ahead = ahead
        self._rest = rest
        self._on_direct = on_direct
        self._came_ahead = 0
        self._taken = 0
        self._stopped = False
        self._high_water = high_water
        self._gather_s = gather_s
        self._on_closed = on_closed
        self._loop = asyncio.get_running_loop()
        self._splitter = LineSplitter()
        self._blocks: list[Block] = []
        self._unread = 0
        self._reading = False
        self._read_at = -gather_s
        self._gather_until = 0.0
        self._gathering: asyncio.TimerHandle | None = None
        self._writers_gone = False
        self._reader: asyncio.Future[None] | None = None
        self._before_read: Callable[[], None] | None = None
        self._nothing_read: Callable[[], None] | None = None
        self._resume()

    @property
    def closed(self) -> bool:
        """Tell whether the descriptor is closed; what was read before can still be taken."""
        return self._fd < 0

    @property
    def emptied(self) -> bool:
        """Tell whether readers have taken all that was read, to the last byte."""
        return not self._blocks and not self._splitter.pending()

    def tell_reads(self, before: Callable[[], None], nothing: Callable[[], None]) -> None:
        """Have the one called each time before the pipe is read, the other when there was nothing to read."""
        self._before_read, self._nothing_read = before, nothing

    @property
    def paused(self) -> bool:
        """Tell whether reading has stopped because too much is unread."""
        return not self.closed and not self._reading and self._gathering is None

    async def read(self) -> Block | None:
        """Wait for the next block of whole lines; None at the end. One reader at a time."""
        if self._reader is not None:
            raise RuntimeError("two tasks read from one agent; one has to do it for both")
        while not self._blocks or self._stopped:
            if self.closed or self._stopped:
                return None
            self._reader = self._loop.create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        return self._take()

    def expect(self) -> None:
        """Say that an answer may come: the next lines are handed over as if none had come before them."""
        self._read_at = -self._gather_s
        self._gather_until = 0.0
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
            self._resume()

    def last_call(self) -> None:
        """Say that whoever could write is dead: when the pipe is empty, that is the end."""
        self._writers_gone = True
        if not self.paused and self._ahead < 0:
            self._pump()

    def close(self) -> None:
        """Take in what the pipe still holds and close it."""
        self._writers_gone = True
        if self._stopped:
            self._leave_ahead()
        while self._ahead >= 0:
            self._pump_ahead()
        self._pump(LEFT)
        self._end()

    def stop(self) -> None:
        """Give nothing more to readers, as if it were at its end; `take_back` has what they did not get."""
        self._stopped = True
        if not self.closed:
            self._pause()
        self._wake()

    def take_back(self) -> bytes:
        """Close the pipe without reading it further; gives the bytes that came from it and that nobody took."""
        unread = b"" if self._ahead >= 0 else b"".join(block.lines for block in self._blocks) + self._splitter.pending()
        self._blocks, self._splitter = [], LineSplitter()
        self._leave_ahead()
        self._end()
        return unread

    def ahead_left(self) -> tuple[int, bool]:
        """How much of what came before was taken by readers, as bytes from its start; and whether that is all of it."""
        return min(self._taken, self._came_ahead), self._ahead < 0 and self._taken >= self._came_ahead

    def _take(self) -> Block:
        blocks, self._blocks, self._unread = self._blocks, [], 0
        for block in blocks:
            self._taken += len(block.lines) + sum(found.size + 1 for found in block.oversize)
        if self.paused:
            self._resume()
        if len(blocks) == 1:
            return blocks[0]
        oversize = tuple(found for block in blocks for found in block.oversize)
        return Block(b"".join([block.lines for block in blocks]), oversize)

    def _resume(self) -> None:
        self._reading = True
        if self._ahead >= 0:
            self._loop.call_soon(self._pump_ahead)
            return
        self._loop.add_reader(self._fd, self._on_readable)
        if self._writers_gone:  # the loop would never wake us for a pipe that is empty and held open
            self._pump()

    def _pause(self) -> None:
        self._loop.remove_reader(self._fd)  # it may not be there yet
        self._reading = False
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None

    def _pump_ahead(self) -> None:
        """Read on in what came before; at its end turn to the pipe."""
        if self._ahead < 0 or self._stopped:
            return
        if self._before_read is not None:
            self._before_read()
        chunk = os.read(self._ahead, WAKE)
        self._came_ahead += len(chunk or self._rest)
        self._add(self._splitter.feed(chunk or self._rest))
        if not chunk:
            self._leave_ahead()
            self._on_direct()
        if self._reading and self._unread > self._high_water:
            self._pause()
        elif self._reading:
            self._resume()

    def _leave_ahead(self) -> None:
        if self._ahead >= 0:
            os.close(self._ahead)
            self._ahead = -1

    def _on_readable(self) -> None:
        """Take what has come, unless it is to gather: the loop is told not to look only when there is such a line."""
        now = self._loop.time()
        if now < self._gather_until:
            self._pause()
            self._gather(self._gather_until - now)
            return
        before, self._read_at = self._read_at, now
        if self._pump() < TRICKLE and now < before + self._gather_s:
            self._gather_until = now + self._gather_s

    def _gather(self, left_s: float) -> None:
        self._gathering = self._loop.call_later(left_s, self._on_gathered)

    def _on_gathered(self) -> None:
        """Take what has come meanwhile; when nothing has, the loop watches the pipe again."""
        self._gathering = None
        size = self._pump()
        if self.closed or self._unread > self._high_water:
            return
        if 0 < size < TRICKLE:
            self._gather(self._gather_s)
        else:
            self._resume()

    def _pump(self, budget: int = WAKE) -> int:
        """Read what is there, within the budget; how much it was."""
        size = 0
        while size < budget and not self.closed:
            if self._before_read is not None:
                self._before_read()
            try:
                chunk = os.read(self._fd, CHUNK)
            except BlockingIOError:
                if self._writers_gone:
                    self._end()
                if self._nothing_read is not None:
                    self._nothing_read()
                break
            if not chunk:
                self._end()
                break
            size += len(chunk)
            self._add(self._splitter.feed(chunk))
            if len(chunk) < CHUNK and not self._writers_gone:
                break  # that was all; the loop wakes us for more
        if self._reading and self._unread > self._high_water:
            self._pause()
        return size

    def _add(self, block: Block) -> None:
        if block.lines or block.oversize:
            self._blocks.append(block)
            self._unread += len(block.lines)
            self._wake()

    def _end(self) -> None:
        if self.closed:
            return
        self._pause()
        os.close(self._fd)
        self._fd = -1
        self._add(self._splitter.finish())
        self._wake()
        self._on_closed()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


class Frame:
    """Bytes on their way to stdin: what is left of them, and who waits for it."""

    __slots__ = ("begun", "left", "taken")

    def __init__(self, left: memoryview, taken: asyncio.Future[None], *, begun: bool) -> None:
        self.left = left
        self.taken = taken
        self.begun = begun


class FramePipe:
    """stdin: frames go in whole and in order, whoever writes and whoever gives up waiting."""

    def __init__(self, fd: int, *, gone: Callable[[], Exception], on_closed: Callable[[], None] = lambda: None) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._whole = select.PIPE_BUF if stat.S_ISFIFO(os.fstat(fd).st_mode) else 0
        """How many bytes at most are taken all at once or not at all."""
        self._gone = gone
        self._on_closed = on_closed
        self._loop = asyncio.get_running_loop()
        self._frames: deque[Frame] = deque()
        self._last = False

    @property
    def closed(self) -> bool:
        """Tell whether the descriptor is closed."""
        return self._fd < 0

    def fileno(self) -> int:
        """The descriptor itself; -1 when it is closed."""
        return self._fd

    async def write(self, data: bytes) -> None:
        """Write all of `data`; returns when the pipe has taken it.

        A writer that is cancelled before its frame has begun takes the frame back; a frame that has
        begun is written to its end.
        """
        if self.closed or self._last:
            raise self._gone()
        left = memoryview(data)
        if not self._frames:
            try:
                left = self._write_now(left)
            except OSError:  # a pipe nobody reads, a terminal nobody has
                self.close()
                raise self._gone() from None
        if left:
            await self._wait_for(Frame(left, self._loop.create_future(), begun=len(left) < len(data)))

    def write_now(self, data: bytes) -> bool:
        """Write a short frame if the pipe takes it at once; when this is False nothing is written, and `write` can."""
        if len(data) > self._whole or self._frames or self._last or self.closed:
            return False
        try:
            return os.write(self._fd, data) == len(data)
        except OSError:  # it is full, or nobody reads it: `write` tells which
            return False

    @property
    def torn(self) -> bool:
        """Whether a frame is written in part."""
        return bool(self._frames) and self._frames[0].begun

    def finish(self) -> None:
        """Close stdin as soon as the frames that wait are written; nothing can be written after."""
        self._last = True
        if not self._frames:
            self.close()

    def close(self) -> None:
        """Close stdin now; whoever still waits learns that the agent is gone."""
        if self.closed:
            return
        self._loop.remove_writer(self._fd)
        os.close(self._fd)
        self._fd = -1
        self._on_closed()
        frames, self._frames = self._frames, deque()
        for frame in frames:
            if not frame.taken.done():
                frame.taken.set_exception(self._gone())

    async def _wait_for(self, frame: Frame) -> None:
        self._frames.append(frame)
        self._loop.add_writer(self._fd, self._pump)
        try:
            await frame.taken
        except asyncio.CancelledError:
            if not frame.begun and frame in self._frames:
                self._frames.remove(frame)
            raise

    def _write_now(self, left: memoryview) -> memoryview:
        try:
            while left:
                left = left[os.write(self._fd, left) :]
        except BlockingIOError:
            pass  # the pipe is full; what is left waits
        return left

    def _pump(self) -> None:
        while self._frames:
            frame = self._frames[0]
            before = len(frame.left)
            try:
                frame.left = self._write_now(frame.left)
            except OSError:  # a pipe nobody reads, a terminal nobody has
                self.close()
                return
            frame.begun = frame.begun or len(frame.left) < before
            if frame.left:
                return
            self._frames.popleft()
            if not frame.taken.done():
                frame.taken.set_result(None)
        self._loop.remove_writer(self._fd)
        if self._last:
            self.close()


class TailPipe:
    """stderr: always read, so that the agent never blocks on it; the last bytes are kept."""

    def __init__(self, fd: int, *, keep: int = TAIL, before: bytes = b"") -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._keep = keep
        self._tail = bytearray(before)
        self._take: Callable[[bytes], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(fd, self._pump)

    def listen(self, take: Callable[[bytes], None]) -> None:
        """Pass on the tail so far, and each chunk that is read from now on."""
        self._take = take
        if self._tail:
            take(bytes(self._tail))

    @property
    def closed(self) -> bool:
        """Tell whether the descriptor is closed; the tail stays."""
        return self._fd < 0

    def text(self, limit: int) -> str:
        """Give the last bytes as text, at most `limit` of them."""
        return bytes(self._tail[-min(limit, self._keep) :]).decode("utf-8", "replace") if limit > 0 else ""

    def close(self) -> None:
        """Take in what the pipe still holds and close it."""
        self._pump(LEFT)
        self._end()

    def leave(self) -> None:
        """Close it without reading it further."""
        self._end()

    def _pump(self, budget: int = WAKE) -> None:
        while budget > 0 and not self.closed:
            try:
                chunk = os.read(self._fd, CHUNK)
            except BlockingIOError:
                return
            if not chunk:
                self._end()
            budget -= len(chunk)
            self._tail += chunk
            if len(self._tail) > 2 * self._keep:
                del self._tail[: -self._keep]
            if chunk and self._take is not None:
                self._take(chunk)

    def _end(self) -> None:
        if not self.closed:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1
