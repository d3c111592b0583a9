"""Files on their way out: handed to the system where it can send them by itself, else read in a thread.

A download holds no more than one piece in memory, waits for its reader, and is cut when the reader takes nothing any
more. The event loop never waits for the disk: what is not in memory yet is read in a thread first.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import time
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from typing import BinaryIO, Final

import msgspec
from starlette.types import Receive, Scope, Send

from footplate.errors import RangeRefused
from footplate.host.files import Opened
from footplate.interfaces.http.call import Gone
from footplate.interfaces.http.wire import ABORT, SENDFILE

PIECE: Final = 1024 * 1024
SMALLEST: Final = 256 * 1024
LARGEST: Final = 8 * 1024 * 1024
QUICK_S: Final = 0.5
NOWAIT: Final[int] = getattr(os, "RWF_NOWAIT", 0)

SendFile = Callable[[BinaryIO, int, int], Awaitable[int]]


class Shrunk(Exception):
    """The file became shorter while it was sent: what was promised cannot be kept, and the connection is cut."""


class Part(msgspec.Struct, frozen=True):
    """Which bytes of a file are sent; `whole` when it is all of them, because nothing else was asked for."""

    offset: int
    length: int
    whole: bool = False


def choose_range(opened: Opened, wanted: str, unless: str = "") -> Part | None:
    """The part that a `Range` header asks for; the whole where we may ignore it. None: the size is not known.

    Raises `RangeRefused` when the file does not reach so far. Several ranges at once are answered with the whole.
    """
    if opened.size is None:
        return None
    whole = Part(0, opened.size, whole=True)
    asked = re.fullmatch(r"bytes\s*=\s*(\d*)\s*-\s*(\d*)", wanted.strip())
    if asked is None or not (asked[1] or asked[2]) or (unless and unless != opened.etag):
        return whole
    if not asked[1]:
        count = min(int(asked[2]), opened.size)
        first, last = opened.size - count, opened.size - 1
    else:
        first = int(asked[1])
        last = min(int(asked[2]) if asked[2] else opened.size - 1, opened.size - 1)
        if asked[2] and int(asked[2]) < first:
            return whole
    if first > last:
        raise RangeRefused(wanted, opened.size)
    return Part(first, last - first + 1)


class Download:
    """A response that is a file. It owns the descriptor."""

    def __init__(self, opened: Opened, part: Part | None, *, fresh: str = "", stall_s: float) -> None:
        self._opened = opened
        self._part = part
        self._fresh = bool(fresh) and part is not None and part.whole and fresh in (opened.etag, "*")
        self._stall_s = stall_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, and close the file."""
        with os.fdopen(self._opened.fd, "rb", buffering=0) as file:
            status, headers = self._head()
            await send({"type": "http.response.start", "status": status, "headers": headers})
            try:
                if scope["method"] != "HEAD" and status != 304:
                    await self._body(file, scope, send)
            except (TimeoutError, Shrunk):
                scope["extensions"][ABORT]()
                return
            except ConnectionError:
                raise Gone from None
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _head(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        opened, part = self._opened, self._part
        headers = [
            ("content-type", "application/octet-stream"),
            ("accept-ranges", "bytes" if part else "none"),
            ("etag", opened.etag),
            ("last-modified", formatdate(opened.modified_ns // 1_000_000_000, usegmt=True)),
        ]
        status = 200
        if self._fresh:
            status = 304
        elif part is not None:
            headers.append(("content-length", str(part.length)))
            if not part.whole:
                status = 206
                span = f"bytes {part.offset}-{part.offset + part.length - 1}/{opened.size}"
                headers.append(("content-range", span))
        return status, [(name.encode(), value.encode("latin-1")) for name, value in headers]

    async def _body(self, file: BinaryIO, scope: Scope, send: Send) -> None:
        hand_over: SendFile | None = scope["extensions"].get(SENDFILE)
        if self._part is not None and self._part.length > PIECE and hand_over is not None:
            await self._hand_over(file, self._part, hand_over)
        else:
            await self._read(file, self._part, send)

    async def _hand_over(self, file: BinaryIO, part: Part, hand_over: SendFile) -> None:
        """Let the system send it, window by window: small ones for a slow reader, whose patience is watched."""
        offset, end = part.offset, part.offset + part.length
        window = SMALLEST
        while offset < end:
            count = min(window, end - offset)
            await _in_memory(file.fileno(), offset, count)
            began = time.monotonic()
            async with asyncio.timeout(self._stall_s):
                sent = await hand_over(file, offset, count)
            if sent < count:
                raise Shrunk
            offset += count
            window = min(window * 2, LARGEST) if time.monotonic() - began < QUICK_S else SMALLEST

    async def _read(self, file: BinaryIO, part: Part | None, send: Send) -> None:
        """Read it piece by piece; a file without a size is read to its end."""
        offset, left = (part.offset, part.length) if part else (0, None)
        while left is None or left > 0:
            data = await asyncio.to_thread(os.pread, file.fileno(), min(PIECE, left or PIECE), offset)
            if not data:
                if left is not None:
                    raise Shrunk
                return
            offset += len(data)
            left = None if left is None else left - len(data)
            async with asyncio.timeout(self._stall_s):
                await send({"type": "http.response.body", "body": data, "more_body": True})


async def _in_memory(fd: int, offset: int, count: int) -> None:
    """See to it that the system has this part in memory, so that sending it does not wait for the disk."""
    try:
        last = os.preadv(fd, [bytearray(1)], offset + count - 1, NOWAIT) if NOWAIT else 0
    except BlockingIOError:
        last = 0
    except OSError as problem:
        if problem.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
            raise
        last = 0
    if not last:
        await asyncio.to_thread(_read_through, fd, offset, count)


def _read_through(fd: int, offset: int, count: int) -> None:
    buffer = bytearray(min(count, PIECE))
    end = offset + count
    while offset < end:
        done = os.preadv(fd, [memoryview(buffer)[: end - offset]], offset)
        if not done:
            raise Shrunk
        offset += done
