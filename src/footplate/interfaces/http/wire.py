"""The server's end of a connection: uvicorn's own, with limits for peers that send too much, too slowly or never read.

What cannot be parsed, a head that is too large, and one that does not come to its end are answered as problems, too.
"""

from __future__ import annotations

import asyncio
import socket
from functools import partial
from typing import BinaryIO, ClassVar, Final, cast

import msgspec
from starlette.websockets import WebSocket
from uvicorn._types import ASGISendEvent, WebSocketSendEvent
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.frames import Opcode

from footplate.config.settings import HttpSettings
from footplate.interfaces.http.problem import MEDIA, URN, Problem

ABORT: Final = "footplate.abort"
"""The extension of a call's scope that ends the connection at once, whatever still waits to be written."""

HANGUP: Final = "footplate.hangup"
"""The extension that is done when the other end has hung up: a future, one for all calls of a connection."""

UTF8: Final = "utf8"
"""The field of a `websocket.send` message with a text that is encoded already."""

FRAGMENT: Final = 256 * 1024
"""A longer WebSocket message is sent in parts of this size, each once the peer has taken most of the one before.

asyncio copies what it cannot send at once, so a message in one piece would cost its size for each slow reader.
"""

STOP_S: Final = 1.0
"""How long a peer may take what was written to it when the server stops."""

SENDFILE: Final = "footplate.sendfile"
"""The extension that sends a part of a file without a copy of ours, in a response that has a length. Not on TLS."""


class Joined:
    """The transport of one answer: the head waits for what follows it, so that both go out as one packet.

    It waits no longer than the loop takes to come round.
    """

    def __init__(self, cycle: RequestResponseCycle, loop: asyncio.AbstractEventLoop) -> None:
        self._cycle = cycle
        self._loop = loop
        self._transport = cycle.transport
        self._head: bytes | None = None

    def write(self, data: bytes) -> None:
        """Write, or keep the head; what comes before that (word that a body may come) is not held up."""
        if self._head is None and self._cycle.response_started:
            self._head = data
            self._loop.call_soon(self.flush)
        elif self._head:
            held, self._head = self._head, b""
            self._transport.write(held + data)
        else:
            self._transport.write(data)

    def flush(self) -> None:
        """Write the head, if it still waits."""
        if self._head:
            held, self._head = self._head, b""
            self._transport.write(held)

    def close(self) -> None:
        """Close the connection once all is written."""
        self.flush()
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether it closes or is closed."""
        return self._transport.is_closing()


class LimitedProtocol(HttpToolsProtocol):
    """One connection."""

    settings: ClassVar[HttpSettings] = HttpSettings()

    _hangup: asyncio.Future[None]
    _head = 0
    _in_head = True
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._hangup = self.loop.create_future()
        # asyncio does this only for sockets that were made with the protocol's number; else an answer waits 40 ms
        # for the acknowledgement of its own head.
        connection = transport.get_extra_info("socket")
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._hangup.set_result(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head += len(data)
        super().data_received(data)
        if self._in_head and self._head > self.settings.header_limit_kb * 1024:
            self._refuse(431, "header_too_large", f"the head is larger than {self.settings.header_limit_kb} KiB")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {ABORT: self.transport.abort, HANGUP: self._hangup}  # type: ignore[dict-item]
        if not self._in_head:
            self._expect_head()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_waiting()
        before = self.cycle
        super().on_headers_complete()
        if self.cycle is not before:
            answer = Joined(self.cycle, self.loop)
            self.cycle.transport = answer  # type: ignore[assignment]
            if self.transport.get_extra_info("sslcontext") is None:
                send_file = partial(self._send_file, self.cycle, answer)
                self.cycle.scope["extensions"][SENDFILE] = send_file  # type: ignore[assignment]

    async def _send_file(
        self, cycle: RequestResponseCycle, answer: Joined, file: BinaryIO, offset: int, count: int
    ) -> int:
        """Hand a part of a file to the system; how many bytes it had. Raises `ConnectionError`."""
        if self.transport.is_closing():
            raise ConnectionResetError("the other end is gone")
        answer.flush()
        sent = await self.loop.sendfile(self.transport, file, offset, count)
        cycle.expected_content_length -= sent
        return sent

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "invalid_request", "this is not HTTP")

    def _expect_head(self) -> None:
        self._in_head = True
        self._head = 0
        self._stop_waiting()
        self._deadline = self.loop.call_later(self.settings.header_timeout_s, self._too_slow)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        if self._head:
            self._refuse(408, "timeout", f"the head did not come within {self.settings.header_timeout_s:g} s")
        elif not self.transport.is_closing():
            self.transport.close()

    def _refuse(self, status: int, kind: str, words: str) -> None:
        if self.transport.is_closing():
            return
        title = kind.replace("_", " ")
        problem = Problem(type=URN + kind, title=title.title(), status=status, detail=f"{title}: {words}")
        body = msgspec.json.encode(problem)
        head = f"HTTP/1.1 {status} {title}\r\ncontent-type: {MEDIA}\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
        self.transport.close()


class SocketProtocol(WebSocketsSansIOProtocol):
    """One WebSocket. A peer that does not read is cut off after `stall_s`, and does not delay the end of the server."""

    settings: ClassVar[HttpSettings] = HttpSettings()

    _turn: asyncio.Lock

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._turn = asyncio.Lock()

    async def send(self, message: ASGISendEvent) -> None:
        """Send what the application says. Parts of one message never stand between parts of another."""
        async with self._turn:
            await self._await_peer()
            if message["type"] == "websocket.send" and self.handshake_complete and not self.close_sent:
                await self._send_message(message)
            else:
                await super().send(message)

    async def _send_message(self, message: WebSocketSendEvent) -> None:
        text = message.get("text")
        raw: bytes | None = text.encode() if text is not None else cast("bytes | None", message.get(UTF8))
        opcode, data = (Opcode.TEXT, raw) if raw is not None else (Opcode.BINARY, message.get("bytes") or b"")
        whole = memoryview(data)
        try:
            for at in range(0, max(len(whole), 1), FRAGMENT):
                if at:
                    await asyncio.sleep(0)  # a peer that reads fast enough leaves no other moment to the loop
                    await self._await_peer()
                part, last = whole[at : at + FRAGMENT], at + FRAGMENT >= len(whole)
                if at:
                    self.conn.send_continuation(part, fin=last)
                elif opcode is Opcode.TEXT:
                    self.conn.send_text(part, fin=last)
                else:
                    self.conn.send_binary(part, fin=last)
                self.transport.write(b"".join(self.conn.data_to_send()))
        except InvalidState:
            raise ClientDisconnected from None

    async def _await_peer(self) -> None:
        """Wait until the peer has taken most of what was written. Raises `ClientDisconnected`."""
        try:
            async with asyncio.timeout(self.settings.stall_s):
                await self.writable.wait()
        except TimeoutError:
            self.transport.abort()
            raise ClientDisconnected from None
        if self.disconnected:
            raise ClientDisconnected

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self.transport.abort()  # to close it would wait until the peer reads

    def shutdown(self) -> None:
        super().shutdown()
        self.loop.call_later(STOP_S, self.transport.abort)


async def send_encoded(socket: WebSocket, text: bytes) -> None:
    """Send a text that is encoded already; a large one is neither decoded nor copied as a whole."""
    await socket.send({"type": "websocket.send", UTF8: text})


def make_protocol(settings: HttpSettings) -> type[LimitedProtocol]:
    """What uvicorn makes one of for each connection."""
    return type("LimitedProtocol", (LimitedProtocol,), {"settings": settings})


def make_socket_protocol(settings: HttpSettings) -> type[SocketProtocol]:
    """What uvicorn makes one of for each WebSocket."""
    return type("SocketProtocol", (SocketProtocol,), {"settings": settings})
