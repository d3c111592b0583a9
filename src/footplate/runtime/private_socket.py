"""A Unix socket that only its owner may open: the kernel says who connects, and nobody else is let in."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

LINE_LIMIT: Final = 512 * 1024 * 1024
LONGEST_PATH: Final = 100
"""The kernel takes about this much as a socket's address; a longer path is reached through its folder."""

log = logging.getLogger(__name__)
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Serves one visitor until it leaves, and cleans up when it is cancelled; the connection is closed for it."""


@contextmanager
def short_address(path: Path) -> Iterator[str]:
    """An address of the socket that the kernel takes, however long the path is."""
    if len(os.fsencode(path)) <= LONGEST_PATH or sys.platform != "linux":
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


async def connect(path: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to whoever listens there. Raises `OSError` when nobody does."""
    with short_address(path) as address:
        return await asyncio.open_unix_connection(address, limit=LINE_LIMIT)


class PrivateServer:
    """Listens on a path and serves each visitor by a task of its own, until it is closed."""

    def __init__(self, path: Path, serve: Serve) -> None:
        self._path = path
        self._serve = serve
        self._server: asyncio.Server | None = None
        self._visits: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> PrivateServer:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Listen. Whoever does owns the data folder: an old socket is removed."""
        self._path.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            with short_address(self._path) as address:
                listening.bind(address)
        except OSError:
            listening.close()
            raise
        finally:
            os.umask(before)
        self._server = await asyncio.start_unix_server(self._welcome, sock=listening, limit=LINE_LIMIT)

    async def close(self) -> None:
        """Let every visitor go; the socket is removed."""
        self._path.unlink(missing_ok=True)
        if self._server is not None:
            self._server.close()
        visits = tuple(self._visits)
        for visit in visits:
            visit.cancel()
        if visits:
            await asyncio.wait(visits)

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None:  # pragma: no cover - a coroutine always runs in a task here
            return
        self._visits.add(task)
        try:
            if same_person(writer):
                await self._serve(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass  # the visitor is gone, or we are closing
        finally:
            self._visits.discard(task)
            writer.close()


def same_person(writer: asyncio.StreamWriter) -> bool:
    """Whether the kernel says that the peer runs as we do; where it cannot say, the socket's mode has to do."""
    if sys.platform != "linux":
        return True
    raw = writer.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, uid, _ = struct.unpack("3i", raw)
    if uid != os.getuid():
        log.warning("a connection of another person was refused (uid %d, pid %d)", uid, pid)
    return bool(uid == os.getuid())
