"""Numbered chunks for many readers at once, and how one event looks on the wire of a stream."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import msgspec


def frame(data: bytes, *, event: str = "", cursor: str | int = "") -> bytes:
    """One event on the wire; `cursor` is its id. `data` is JSON, so it has no line breaks of its own."""
    head = f"event: {event}\n" if event else ""
    if cursor != "":
        head += f"id: {cursor}\n"
    return b"%bdata: %b\n\n" % (head.encode(), data)


class Numbered(msgspec.Struct, frozen=True, gc=False):
    """A chunk and its number; numbers rise and leave nothing out."""

    number: int
    chunk: bytes


Older = Callable[[int], Awaitable[Sequence[bytes | Numbered]]]
"""Reads on after a number from where older chunks are kept; bare bytes are said in between and count for nothing."""


class Fan:
    """Numbered chunks for many readers: the latest are kept once for all, each reader is but a number in them.

    Who lags beyond what is kept reads on from `older` (a journal, a log on disk). Without it the stream of that reader
    ends, and nobody else notices; it comes back with the last number it saw.
    """

    def __init__(self, *, kept_bytes: int = 1_000_000, last: int = 0, older: Older | None = None) -> None:
        self.last = last
        """The number of the latest chunk."""
        self._kept: deque[bytes] = deque()
        self._size = 0
        self._limit = kept_bytes
        self._older = older
        self._readers: set[FanFeed] = set()
        self._over = False

    def publish(self, chunk: bytes) -> int:
        """Give a chunk to every reader; its number."""
        self.last += 1
        self._kept.append(chunk)
        self._size += len(chunk)
        while self._size > self._limit and len(self._kept) > 1:
            self._size -= len(self._kept.popleft())
        for reader in self._readers:
            reader.ring()
        return self.last

    def feed(self, after: int) -> FanFeed:
        """A reader that has seen everything up to that number."""
        reader = FanFeed(self, after)
        if self._over:
            reader.end()
        else:
            self._readers.add(reader)
        return reader

    def close(self) -> None:
        """Nothing more comes: each reader gets what is kept for it, then its stream is over."""
        self._over = True
        for reader in tuple(self._readers):
            reader.end()

    def forget(self, reader: FanFeed) -> None:
        """The reader has closed."""
        self._readers.discard(reader)

    async def read(self, after: int) -> tuple[int, Sequence[bytes]] | None:
        """What follows a number, and how far that goes. None: it is no longer kept, and nobody else has it."""
        first = self.last - len(self._kept) + 1
        if after + 1 >= first:
            wanted = self.last - after
            return self.last, list(self._kept)[len(self._kept) - wanted :] if wanted > 0 else []
        if self._older is None:
            return None
        found = await self._older(after)
        numbers = [each.number for each in found if isinstance(each, Numbered)]
        chunks = [each.chunk if isinstance(each, Numbered) else each for each in found]
        return (numbers[-1] if numbers else first - 1), chunks


class FanFeed:
    """One reader of a fan."""

    def __init__(self, fan: Fan, after: int) -> None:
        self._fan = fan
        self.cursor = after
        self._bell = asyncio.Event()
        self._ending = False
        self._closed = False

    def ring(self) -> None:
        """There is something new."""
        self._bell.set()

    def end(self) -> None:
        """There will be nothing new; what is there is still read."""
        self._ending = True
        self._bell.set()

    def close(self) -> None:
        """No more is wanted."""
        self._closed = True
        self._bell.set()
        self._fan.forget(self)

    async def next(self) -> Sequence[bytes]:
        """The chunks that are ready."""
        while not self._closed:
            if self.cursor < self._fan.last:
                found = await self._fan.read(self.cursor)
                if found is None:
                    return ()
                self.cursor, chunks = found
                if chunks:
                    return chunks
                continue
            if self._ending:
                return ()
            self._bell.clear()
            await self._bell.wait()
        return ()
