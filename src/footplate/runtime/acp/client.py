"""The client at the other end of a connection: whole messages to it in order, and what we have asked it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from footplate.acp import jsonrpc
from footplate.acp.encode_requests import Asked
from footplate.acp.jsonrpc import RpcId
from footplate.acp.wire import Wire
from footplate.events.ids import RequestId, SessionId

Send = Callable[[Sequence[bytes]], Awaitable[None]]
"""Takes messages, each a line, for good and in order."""


class Manner(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between the doors through which a client comes."""

    surface: str = "acp"
    adapter: bool = False
    """Tell of lines that were no messages, and of the agent's exit, as `_adapter/...` does."""

    extensions: bool = False
    """Have the `_sandboxagent/...` methods, and tell of a session's end and of unreadable lines by them."""

    command: tuple[str, ...] = ()
    """How the client started us, where it can do so again in a terminal for a login."""

    adopts: bool = False
    """Open sessions that the agent's own program has, and make them ours."""

    responses: bool = False
    """Tell what the tools of Claude answered in full, as claude-agent-acp does."""

    all_engines: bool = False
    """List the sessions of every engine, not only of the connection's own."""


class CancelRequest(Wire, frozen=True, kw_only=True):
    """Parameters of `$/cancel_request`."""

    request_id: RpcId


class Pending(msgspec.Struct, frozen=True):
    """A request of ours that the client has not answered."""

    session: SessionId
    asked: Asked


class Client:
    """Writes to one client; one message never stands inside another.

    The ids of what it is asked are not those of another connection: a late answer never means another request. Each
    names the request that it is about, so that an answer is understood though the service was started anew meanwhile.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._turn = asyncio.Lock()
        self._asked: dict[RpcId, Pending] = {}
        self._numbers = 0
        self._series = secrets.token_hex(4)

    async def write(self, frames: Sequence[bytes]) -> None:
        """Write messages, in order, after all that was given before."""
        if frames:
            async with self._turn:
                await self._send(frames)

    def ask(self, session: SessionId, asked: Asked) -> bytes:
        """The message that asks; its answer is expected from here on."""
        self._numbers += 1
        name = f"ask-{self._series}-{self._numbers}-{asked.request.id}"
        self._asked[name] = Pending(session, asked)
        return jsonrpc.encode_request(name, asked.method, asked.params)

    def answered(self, rpc_id: RpcId) -> Pending | None:
        """What the client's response is to; None when nobody waits for it any more."""
        return self._asked.pop(rpc_id, None)

    def asked_before(self, rpc_id: RpcId) -> RequestId | None:
        """The request that a client was asked about by an earlier service; None for an id of ours, or of nobody's."""
        kind, series, _, request = (str(rpc_id).split("-", 3) + [""] * 3)[:4]
        return RequestId(request) if kind == "ask" and series != self._series and request else None

    def drop(self, request: RequestId) -> list[bytes]:
        """The request needs no answer of this client any more; the messages that tell it so."""
        names = [name for name, pending in self._asked.items() if pending.asked.request.id == request]
        return [self._cancel(name) for name in names]

    def drop_session(self, session: SessionId) -> None:
        """The session is not this client's any more; what it was asked needs no answer."""
        for name in [name for name, pending in self._asked.items() if pending.session == session]:
            del self._asked[name]

    def _cancel(self, name: RpcId) -> bytes:
        del self._asked[name]
        return jsonrpc.encode_notification("$/cancel_request", CancelRequest(request_id=name))
