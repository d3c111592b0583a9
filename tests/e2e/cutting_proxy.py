"""A proxy that can be told to cut every connection, as a bad network does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class CuttingProxy:
    """Passes bytes on to a port of this machine. `port` may be set anew: the next connections go there."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cuts = 0
        self._server: asyncio.Server | None = None
        self.passed = asyncio.Event()
        """Set when something was passed back since the last cut.

        The head of an answer alone counts only every other time: cut off right behind it each time, nobody gets on.
        """
        self._spared = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Where to connect to."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @classmethod
    @asynccontextmanager
    async def open(cls, port: int) -> AsyncIterator[CuttingProxy]:
        """The proxy, for the block."""
        proxy = cls(port)
        proxy._server = await asyncio.start_server(proxy._serve, "127.0.0.1", 0)
        try:
            yield proxy
        finally:
            proxy._server.close()
            proxy.cut()
            if proxy._serving:
                await asyncio.wait(proxy._serving)

    def cut(self) -> None:
        """Cut every connection, without a word."""
        if self._writers:
            self.cuts += 1
        self.passed.clear()
        for writer in tuple(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, far_writer}
        await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer, back=True))
        self._writers -= {writer, far_writer}

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, back: bool = False) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
                if back:
                    self._note(data)
        except OSError:
            pass
        finally:
            writer.transport.abort()

    def _note(self, data: bytes) -> None:
        head, _, body = data.partition(b"\r\n\r\n")
        if head.startswith(b"HTTP/1.1 ") and not body:
            self._spared = not self._spared
            if self._spared:
                return
        self.passed.set()
