"""The editor at our standard input and output: a message per line, and nothing else ever on its output."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.streams import FlowControlMixin
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from footplate.errors import InvalidValue

LINE_LIMIT: Final = 512 * 1024 * 1024


class Editor:
    """Whole lines from the editor, whole lines to it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> bytes:
        """The next message; empty when the editor is gone."""
        try:
            while line := await self._reader.readline():
                if line.strip():
                    return line
        except ConnectionError:
            pass  # the same as the end of its output
        return b""

    async def write(self, frames: Sequence[bytes]) -> None:
        """Send messages, each a line. What an editor that is gone does not take is dropped: its input ends, too."""
        if not self._writer.is_closing():
            self._writer.writelines(frames)
            try:
                await self._writer.drain()
            except ConnectionError:
                self._reader.feed_eof()


@asynccontextmanager
async def open_editor() -> AsyncIterator[Editor]:
    """Our standard streams as the editor's; whatever else is printed goes to standard error from here on."""
    loop = asyncio.get_running_loop()
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    reader = asyncio.StreamReader(limit=LINE_LIMIT)
    try:
        incoming, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        outgoing, flow = await loop.connect_write_pipe(FlowControlMixin, os.fdopen(out, "wb", buffering=0))
    except ValueError:
        told = "pipes, as an editor starts it; not a file"
        raise InvalidValue("standard input and output", "a file", told) from None
    try:
        yield Editor(reader, asyncio.StreamWriter(outgoing, flow, None, loop))
    finally:
        incoming.close()
        outgoing.close()
