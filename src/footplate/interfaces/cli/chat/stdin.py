"""Standard input as bytes or lines on the event loop: pipes and terminals without a thread, files at once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from typing import Final

CHUNK: Final = 65536


class Input:
    """Calls back with bytes as they come; empty bytes are the end. Pause it while another program reads."""

    def __init__(self, fd: int, on_bytes: Callable[[bytes], None]) -> None:
        self._fd = fd
        self._on_bytes = on_bytes
        self._loop = asyncio.get_running_loop()
        self._watching = False

    def start(self) -> None:
        """Begin, or go on."""
        try:
            self._loop.add_reader(self._fd, self._ready)
        except PermissionError:  # a file or /dev/null: always ready, never watched
            self._loop.call_soon(self._ready_file)
        else:
            self._watching = True

    def stop(self) -> None:
        """Read no more."""
        if self._watching:
            self._loop.remove_reader(self._fd)
            self._watching = False

    def _ready(self) -> None:
        try:
            data = os.read(self._fd, CHUNK)
        except OSError:  # the terminal is gone
            data = b""
        if not data:
            self.stop()
        self._on_bytes(data)

    def _ready_file(self) -> None:
        data = os.read(self._fd, CHUNK)
        self._on_bytes(data)
        if data:
            self._loop.call_soon(self._ready_file)


async def read_lines(fd: int) -> AsyncGenerator[str, None]:
    """Lines as they come, without their ends; the last one may lack its own."""
    chunks: asyncio.Queue[bytes] = asyncio.Queue()
    source = Input(fd, chunks.put_nowait)
    source.start()
    rest = b""
    try:
        while data := await chunks.get():
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace").rstrip("\r")
        if rest:
            yield rest.decode(errors="replace")
    finally:
        source.stop()
