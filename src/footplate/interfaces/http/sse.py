"""Event streams: one encoded chunk for all readers of an event, several events per write when a reader lags.

`EventStream` writes what a `Feed` has ready. A silent stream says that it lives; one whose reader takes nothing for too
long is cut, and its reader comes back with `Last-Event-ID`. Three feeds exist: of a session's log (`SessionFeed`), and
of a `Fan`, which any resource with numbered messages uses.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

import msgspec
from starlette.types import Message, Receive, Scope, Send

from footplate.interfaces.http.api import Api
from footplate.interfaces.http.wire import ABORT

HEARTBEAT: Final = b": heartbeat\n\n"
MEDIA: Final = "text/event-stream"
WRITE_BYTES: Final = 256 * 1024
"""How much is put together for one write to a reader that lags."""

HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


def frame(data: bytes, *, event: str = "", number: int | None = None) -> bytes:
    """One event as it stands on the wire. `data` is JSON, so it has no line breaks of its own."""
    head = f"event: {event}\n" if event else ""
    if number is not None:
        head += f"id: {number}\n"
    return b"%bdata: %b\n\n" % (head.encode(), data)


class Feed(Protocol):
    """Where a stream gets its chunks from."""

    async def next(self) -> Sequence[bytes]:
        """The chunks that are ready, in order; waits for at least one. Empty: it is over."""
        ...

    def close(self) -> None:
        """No more is wanted; a `next` that waits returns empty."""
        ...


class EventStream:
    """A response that is a stream of events. A handler returns it; the app calls it."""

    def __init__(self, api: Api, feed: Feed, *, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        self._api = api
        self._feed = feed
        self._headers = [*HEADERS, *headers]
        self._wrote = time.monotonic()
        self._writing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write until the feed is over, the reader is gone, or the server stops."""
        forget = self._api.at_stop(self._feed.close)
        self._api.meters.streams += 1
        await send({"type": "http.response.start", "status": 200, "headers": self._headers})
        if scope["method"] == "HEAD":
            self._feed.close()
        writer = asyncio.ensure_future(self._write(send))
        watcher = asyncio.ensure_future(self._watch(receive, send))
        try:
            await asyncio.wait((writer, watcher), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._feed.close()
            forget()
            self._api.meters.streams -= 1
            for task in (writer, watcher):
                task.cancel()
            await asyncio.wait((writer, watcher))
        if not watcher.cancelled() and watcher.exception() is not None:
            self._api.meters.streams_cut += 1
            scope["extensions"][ABORT]()
        elif not writer.cancelled():
            writer.result()
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _write(self, send: Send) -> None:
        await self._send(send, b"")
        while chunks := await self._feed.next():
            if len(chunks) == 1:
                await self._send(send, chunks[0])
                continue
            for body in _joined(chunks):
                await self._send(send, body)

    async def _send(self, send: Send, body: bytes) -> None:
        self._writing = True
        message: Message = {"type": "http.response.body", "body": body, "more_body": True}
        await send(message)
        self._writing = False
        self._wrote = time.monotonic()

    async def _watch(self, receive: Receive, send: Send) -> None:
        """Returns when the reader is gone; raises `TimeoutError` when it takes nothing any more."""
        settings = self._api.settings.http
        while True:
            try:
                async with asyncio.timeout(min(settings.heartbeat_s, settings.stall_s)):
                    message = await receive()
            except TimeoutError:
                quiet = time.monotonic() - self._wrote
                if self._writing:
                    if quiet >= settings.stall_s:
                        raise TimeoutError(f"took nothing for {quiet:.0f} s") from None
                elif quiet >= settings.heartbeat_s:
                    await self._send(send, HEARTBEAT)
                continue
            if message["type"] == "http.disconnect":
                return


def _joined(chunks: Sequence[bytes]) -> list[bytes]:
    """The chunks put together, each piece of about the size that is written at once."""
    found: list[bytes] = []
    some: list[bytes] = []
    size = 0
    for chunk in chunks:
        some.append(chunk)
        size += len(chunk)
        if size >= WRITE_BYTES:
            found.append(b"".join(some))
            some, size = [], 0
    if some:
        found.append(b"".join(some))
    return found


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
