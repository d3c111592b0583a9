"""The four ways to an agent: `/v1/acp/{server_id}`, `/v1/rpc`, `/acp` by streams, `/acp` by WebSocket.

A door sends one message at a time and hands every message that comes to `take`. Numbers, cursors and lost connections
are its business and nobody else's.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Final, Protocol

import httpx
import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from footplate.errors import FootplateError, ProtocolError, ServiceUnreachable
from footplate.sdk.follow import follow_stream
from footplate.sdk.problems import error_of
from footplate.sdk.wire import Wire
from footplate.tasks import spawn

Take = Callable[[bytes], None]
Lost = Callable[[FootplateError], None]

RPC_HEADER: Final = "x-acp-connection-id"
REMOTE_HEADER: Final = "acp-connection-id"
SESSION_HEADER: Final = "acp-session-id"
VENDOR: Final = "sandboxagent.dev"
GOODBYE_S: Final = 2.0

log = logging.getLogger(__name__)


class Door(Protocol):
    """A way to one agent."""

    def begin(self, take: Take, lost: Lost) -> None:
        """Hand messages to `take` from now on; `lost` is told when no more will come."""
        ...

    async def send(self, message: bytes, *, method: str, session: str) -> None:
        """Send one message. What answers it comes by `take`, whichever way it came to the door."""
        ...

    async def close(self) -> None:
        """Let the connection go."""
        ...


class _Streams:
    """Streams that are read in the background, each once."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._take: Take = lambda _: None
        self._lost: Lost = lambda _: None

    def begin(self, take: Take, lost: Lost) -> None:
        self._take, self._lost = take, lost

    def take(self, message: bytes) -> None:
        self._take(message)

    def open(self, path: str, headers: Mapping[str, str], *, name: str = "") -> None:
        """Read a stream from its beginning on, unless it is read already."""
        if name not in self._tasks:
            self._tasks[name] = spawn(
                self._read(path, headers), name=f"stream {path} {name}", on_failure=lambda each: self._broke(path, each)
            )

    def _broke(self, path: str, problem: BaseException) -> None:
        self._lost(ProtocolError(path, f"the stream is read no more: {type(problem).__name__}: {problem}"))

    async def _read(self, path: str, headers: Mapping[str, str]) -> None:
        try:
            async with aclosing(follow_stream(self._wire, path, headers=headers)) as events:
                async for event in events:
                    if event.event == "gap":
                        raise ProtocolError(
                            path, f"the server no longer has messages that were not read: {event.data.decode()}"
                        )
                    self._take(event.data)
        except FootplateError as problem:
            self._lost(problem)

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values())


class ServerDoor:
    """`/v1/acp/{server_id}`: the client names the connection; a request is answered by its POST and on the stream."""

    def __init__(self, wire: Wire, agent: str = "", server_id: str = "") -> None:
        self._wire = wire
        self._agent = agent
        self._path = f"/v1/acp/{server_id or uuid.uuid4().hex}"
        self._streams = _Streams(wire)
        self.begin = self._streams.begin

    async def send(self, message: bytes, *, method: str, session: str) -> None:
        """Send one message."""
        params = {"agent": self._agent}
        answer = await self._wire.exchange("POST", self._path, content=message, params=params, slow=True)
        self._streams.open(self._path, {})
        if answer.content:
            self._streams.take(answer.content)

    async def close(self) -> None:
        """End the connection, and a relayed agent with it."""
        await self._streams.close()
        await _leave(self._wire, self._path)


class RpcDoor:
    """`/v1/rpc`: the server names the connection in a header; the agent is told in the first message."""

    def __init__(self, wire: Wire, agent: str = "") -> None:
        self._wire = wire
        self._agent = agent
        self._headers: dict[str, str] = {}
        self._streams = _Streams(wire)
        self.begin = self._streams.begin

    async def send(self, message: bytes, *, method: str, session: str) -> None:
        """Send one message."""
        if not self._headers and self._agent:
            message = _name_agent(message, self._agent)
        answer = await self._wire.exchange("POST", "/v1/rpc", content=message, headers=self._headers, slow=True)
        if not self._headers:
            self._headers = {RPC_HEADER: _named(answer, RPC_HEADER)}
        self._streams.open("/v1/rpc", self._headers)
        if answer.content:
            self._streams.take(answer.content)

    async def close(self) -> None:
        """Leave the connection; its sessions live on."""
        await self._streams.close()
        if self._headers:
            await _leave(self._wire, "/v1/rpc", self._headers)


class RemoteDoor:
    """`/acp`: the protocol's own transport. `initialize` is answered by its POST, all else on streams."""

    def __init__(self, wire: Wire, agent: str = "") -> None:
        self._wire = wire
        self._agent = agent
        self._headers: dict[str, str] = {}
        self._streams = _Streams(wire)

    def begin(self, take: Take, lost: Lost) -> None:
        """Hand messages over; a session that a message names for the first time has a stream of its own."""

        def look(message: bytes) -> None:
            if found := _session_of(message):
                self._follow(found)
            take(message)

        self._streams.begin(look, lost)

    def _follow(self, session: str) -> None:
        self._streams.open("/acp", {**self._headers, SESSION_HEADER: session}, name=session)

    async def send(self, message: bytes, *, method: str, session: str) -> None:
        """Send one message."""
        headers = dict(self._headers)
        if session:
            headers[SESSION_HEADER] = session
        params = {} if self._headers else {"agent": self._agent}
        if session:
            self._follow(session)
        answer = await self._wire.exchange("POST", "/acp", content=message, headers=headers, params=params, slow=True)
        if not self._headers:
            self._headers = {REMOTE_HEADER: _named(answer, REMOTE_HEADER)}
            self._streams.open("/acp", self._headers)
        if answer.content:
            self._streams.take(answer.content)

    async def close(self) -> None:
        """End the connection; its sessions live on."""
        await self._streams.close()
        if self._headers:
            await _leave(self._wire, "/acp", self._headers)


class SocketDoor:
    """`/acp` by WebSocket: one connection for everything. Lost, it is lost: sessions are loaded again on another."""

    def __init__(self, wire: Wire, agent: str = "") -> None:
        self._wire = wire
        self._path = "/acp" + (f"?agent={agent}" if agent else "")
        self._socket: ClientConnection | None = None
        self._reading: asyncio.Task[None] | None = None
        self._take: Take = lambda _: None
        self._lost: Lost = lambda _: None

    def begin(self, take: Take, lost: Lost) -> None:
        """Hand messages over from the first one on."""
        self._take, self._lost = take, lost

    async def send(self, message: bytes, *, method: str, session: str) -> None:
        """Send one message; the first one opens the connection."""
        if self._socket is None:
            self._socket = await self._connect()
            self._reading = spawn(self._read(self._socket), name="acp socket", on_failure=self._broke)
        try:
            await self._socket.send(message.decode())
        except ConnectionClosed as problem:
            raise ServiceUnreachable(self._wire.url, str(problem)) from None

    def _broke(self, problem: BaseException) -> None:
        self._lost(ProtocolError(self._wire.url, f"the socket is read no more: {type(problem).__name__}: {problem}"))

    async def _connect(self) -> ClientConnection:
        url = self._wire.socket_url(self._path)
        try:
            return await connect(url, additional_headers=self._wire.socket_headers(), max_size=None)
        except InvalidStatus as refused:
            raise error_of(refused.response.status_code, bytes(refused.response.body or b"")) from None
        except OSError as problem:
            raise ServiceUnreachable(self._wire.url, str(problem)) from problem

    async def _read(self, socket: ClientConnection) -> None:
        try:
            async for message in socket:
                self._take(message.encode() if isinstance(message, str) else message)
            problem: Exception | str = "the connection was closed"
        except ConnectionClosed as closed:
            problem = closed
        self._lost(ServiceUnreachable(self._wire.url, str(problem)))

    async def close(self) -> None:
        """End the connection."""
        if self._socket is not None:
            await self._socket.close()
        if self._reading is not None:
            await asyncio.wait((self._reading,))


async def _leave(wire: Wire, path: str, headers: Mapping[str, str] | None = None) -> None:
    """Say goodbye. Whoever does not hear it in time (the server of sandbox-agent may take a minute) is left."""
    try:
        async with asyncio.timeout(GOODBYE_S):
            await wire.exchange("DELETE", path, headers=headers)
    except (TimeoutError, ServiceUnreachable):
        log.info("%s%s did not answer that the connection ended", wire.url, path)


class _Named(msgspec.Struct):
    session: str = msgspec.field(name="sessionId", default="")


class _Told(msgspec.Struct):
    result: _Named | None = None
    params: _Named | None = None


def _session_of(message: bytes) -> str:
    """The session that a message names."""
    try:
        told = msgspec.json.decode(message, type=_Told)
    except msgspec.MsgspecError:
        return ""
    return next((each.session for each in (told.result, told.params) if each is not None and each.session), "")


def _named(answer: httpx.Response, header: str) -> str:
    found = answer.headers.get(header, "")
    if not found:
        raise ProtocolError(str(answer.url.copy_with(query=None)), f"no {header} in the answer to the first message")
    return str(found)


def _name_agent(message: bytes, agent: str) -> bytes:
    """The first message with the agent that is wanted in its `_meta`."""
    told = msgspec.json.decode(message)
    params = dict(told.get("params") or {})
    meta = dict(params.get("_meta") or {})
    meta.setdefault(VENDOR, {"agent": agent})
    return msgspec.json.encode({**told, "params": {**params, "_meta": meta}})
