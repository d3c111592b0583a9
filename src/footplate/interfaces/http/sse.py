"""Event streams: one encoded chunk for all readers of an event, several events per write when a reader lags.

`EventStream` writes what a `Feed` has ready. A silent stream says that it lives; one whose reader takes nothing for too
long is cut, and its reader comes back with `Last-Event-ID`. Three feeds exist: of a session's log (`SessionFeed`), and
of a `Fan`, which any resource with numbered messages uses.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol

from starlette.types import Message, Receive, Scope, Send

from footplate.errors import InvalidValue
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.fan import Fan, FanFeed, Numbered, frame
from footplate.interfaces.http.wire import ABORT
from footplate.tasks import spawn

__all__ = [
    "MEDIA",
    "WRITE_BYTES",
    "Chunk",
    "EventStream",
    "Fan",
    "FanFeed",
    "Feed",
    "Numbered",
    "frame",
    "join_chunks",
    "read_cursor",
]

Chunk = bytes | memoryview
"""A part of a stream; what several streams carry is made once and shared."""

DIGITS: Final = 18
HEARTBEAT: Final = b": heartbeat\n\n"
MEDIA: Final = "text/event-stream"
WRITE_BYTES: Final = 256 * 1024
"""How much is written at once: small chunks are put together up to it, larger ones are cut into pieces of it.

So a reader that does not read costs about this much memory, whatever the size of an event: see `asyncio`'s transports,
which copy what they cannot send.
"""

STOP_S: Final = 1.0
"""How long a reader may take what was written to it when the server stops."""

HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


class Feed(Protocol):
    """Where a stream gets its chunks from."""

    async def next(self) -> Sequence[Chunk]:
        """The chunks that are ready, in order; waits for at least one. Empty: it is over."""
        ...

    def close(self) -> None:
        """No more is wanted; a `next` that waits returns empty."""
        ...


class EventStream:
    """A response that is a stream of events. A handler returns it; the app calls it."""

    def __init__(self, call: Call, feed: Feed, *, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        self._call = call
        self._api = call.api
        self._feed = feed
        self._headers = [*HEADERS, *headers]
        self._wrote = time.monotonic()
        self._writing = False
        self._cutting: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write until the feed is over, the reader is gone or no longer allowed, or the server stops."""
        forget = self._call.at_end(lambda: self._end(scope))
        self._api.meters.streams += 1
        await send({"type": "http.response.start", "status": 200, "headers": self._headers})
        if scope["method"] == "HEAD":
            self._feed.close()
        writer = spawn(self._write(send), name="stream: write", awaited=True)
        watcher = spawn(self._watch(receive, send), name="stream: watch", awaited=True)
        try:
            await asyncio.wait((writer, watcher), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._feed.close()
            forget()
            if self._cutting is not None:
                self._cutting.cancel()
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

    def _end(self, scope: Scope) -> None:
        """The server stops, or the token is no longer valid: a reader that does not read must not delay that."""
        self._feed.close()
        if self._writing and self._cutting is None:
            self._cutting = asyncio.get_running_loop().call_later(STOP_S, scope["extensions"][ABORT])

    async def _write(self, send: Send) -> None:
        await self._send(send, b"")
        while chunks := await self._feed.next():
            for body in join_chunks(chunks):
                await self._send(send, body)

    async def _send(self, send: Send, body: Chunk) -> None:
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


def read_cursor(call: Call) -> tuple[int, int | None] | None:
    """`Last-Event-ID`: `12.1`, or a plain number, which says nothing of the epoch. None when there is none."""
    given = call.header("last-event-id")
    if not given:
        return None
    number, dot, epoch = given.partition(".")
    for part in (number, epoch) if dot else (number,):
        if not part.isdecimal() or len(part) > DIGITS:
            raise InvalidValue("Last-Event-ID", given, "the id of an event")
    return int(number), int(epoch) if dot else None


def join_chunks(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """The chunks as pieces of about the size that is written at once."""
    some: list[Chunk] = []
    size = 0
    for chunk in chunks:
        if len(chunk) > WRITE_BYTES:
            if some:
                yield _joined(some)
                some, size = [], 0
            whole = memoryview(chunk)
            for at in range(0, len(chunk), WRITE_BYTES):
                yield whole[at : at + WRITE_BYTES]
            continue
        some.append(chunk)
        size += len(chunk)
        if size >= WRITE_BYTES:
            yield _joined(some)
            some, size = [], 0
    if some:
        yield _joined(some)


def _joined(chunks: list[Chunk]) -> Chunk:
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)
