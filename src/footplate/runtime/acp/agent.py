"""Our sessions as an ACP agent: one object per connection, messages in, messages out in order.

It starts no process and owns no session: those are the hub's, and live on when the client goes. What one session is
asked is done in order; sessions do not wait for one another.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine

import msgspec

from footplate.acp import jsonrpc
from footplate.acp.failures import Failure, failure_of, unknown_method
from footplate.acp.jsonrpc import Envelope, RpcId
from footplate.acp.schema.sessions import CancelNotification
from footplate.engines.rpc import read_broken
from footplate.errors import FootplateError
from footplate.runtime.acp.client import CancelRequest, Client, Manner, Pending, Send
from footplate.runtime.acp.methods import METHODS
from footplate.runtime.acp.room import Reply, Room, read_params, session_of
from footplate.runtime.acp.vendor import EXTENSIONS
from footplate.runtime.audit import Principal
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.store.values import RequestFilter
from footplate.tasks import Tasks

BROKEN = Failure(jsonrpc.INTERNAL_ERROR, "Internal error: something of ours broke; the log says what")
log = logging.getLogger(__name__)


def answer_unreadable(message: bytes, problem: Exception) -> bytes:
    """What the sender of a message that cannot be decoded gets: under the id of its request, where that can be seen."""
    broken = read_broken(message, str(problem))
    rpc_id = broken.id if broken is not None and broken.asks else None
    return Failure(jsonrpc.PARSE_ERROR, f"Parse error: {problem}").frame(rpc_id)


class AcpAgent:
    """One connection of a client to our sessions of an engine."""

    def __init__(self, hub: Hub, services: Services, engine: str, send: Send, manner: Manner | None = None) -> None:
        self._client = Client(send)
        self._room = Room(hub, services, engine, self._client, manner or Manner())
        self._lanes: dict[str, asyncio.Lock] = {}
        self._tasks = Tasks()

    async def receive(self, message: bytes, who: Principal) -> None:
        """Take one message of the client, and who sent it. Its answer, where it has one, comes by `send`."""
        try:
            envelope = jsonrpc.decode_message(message)
        except msgspec.ValidationError as problem:
            await self._client.write([Failure(jsonrpc.INVALID_REQUEST, f"Invalid request: {problem}").frame(None)])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            await self._client.write([answer_unreadable(message, problem)])
        else:
            await self._dispatch(envelope, who)

    async def close(self) -> None:
        """The client is gone. The sessions go on; what it was asked can be answered elsewhere."""
        await self._tasks.cancel()
        await self._room.close()

    # ----------------------------------------------------------------------------------------- dispatch

    async def _dispatch(self, envelope: Envelope, who: Principal) -> None:
        match envelope.kind:
            case "request" if envelope.method == "initialize":
                await self._serve(jsonrpc.id_of(envelope), envelope, who)  # nothing may pass it
            case "request":
                self._start(self._serve_in_lane(envelope, who))
            case "notification":
                self._start(self._notified(envelope))
            case "response":
                self._start(self._answered(envelope, who))
            case "invalid":
                failure = Failure(jsonrpc.INVALID_REQUEST, "Invalid request: neither a method nor a result")
                await self._client.write([failure.frame(None)])

    def _start(self, work: Coroutine[None, None, None]) -> None:
        self._tasks.spawn(work, name="acp call")

    def _lane(self, envelope: Envelope) -> asyncio.Lock:
        """What is asked of one session is done one after the other; the rest at once."""
        name = session_of(envelope)
        return self._lanes.setdefault(name, asyncio.Lock()) if name else asyncio.Lock()

    async def _serve_in_lane(self, envelope: Envelope, who: Principal) -> None:
        async with self._lane(envelope):
            await self._serve(jsonrpc.id_of(envelope), envelope, who)

    async def _serve(self, rpc_id: RpcId, envelope: Envelope, who: Principal) -> None:
        method = METHODS.get(envelope.method or "")
        try:
            if method is None and self._room.manner.extensions:
                method = EXTENSIONS.get(envelope.method or "")
            if method is None:
                raise unknown_method(envelope.method or "")  # noqa: TRY301
            with self._room.serving(rpc_id, who):
                reply = await method(self._room, rpc_id, envelope)
        except Failure as failure:
            await self._client.write([failure.frame(rpc_id)])
        except FootplateError as problem:
            await self._client.write([failure_of(problem).frame(rpc_id)])
        except Exception:
            log.exception("%s broke", envelope.method)
            await self._client.write([BROKEN.frame(rpc_id)])
        else:
            if isinstance(reply, Reply):
                await self._client.write([jsonrpc.encode_response(rpc_id, reply.result)])
                if reply.then is not None:
                    await reply.then()

    async def _notified(self, envelope: Envelope) -> None:
        """A notification gets no answer, whatever is wrong with it; those that we do not know are let pass."""
        try:
            if envelope.method == "session/cancel":
                async with self._lane(envelope):
                    seat = self._room.seats.get(self._room.known(read_params(envelope, CancelNotification).session_id))
                    if seat is not None:
                        await seat.cancel()
            elif envelope.method == "$/cancel_request":
                await self._cancel_request(read_params(envelope, CancelRequest).request_id)
        except (Failure, FootplateError) as problem:
            log.info("%s could not be done: %s", envelope.method, problem)

    async def _cancel_request(self, rpc_id: RpcId) -> None:
        """The client does not want the answer to a prompt any more."""
        for seat in tuple(self._room.seats.values()):
            if rpc_id in seat.prompts.values():
                await seat.cancel()

    async def _answered(self, envelope: Envelope, who: Principal) -> None:
        name = jsonrpc.id_of(envelope)
        pending = self._client.answered(name) or await self._asked_before(name)
        seat = self._room.seats.get(pending.session) if pending is not None else None
        if pending is None or seat is None:
            log.info("a response that nobody waits for: %r", envelope.id)
            return
        try:
            await seat.take(pending, envelope, who)
        except FootplateError as problem:
            log.warning("an answer could not be used: %s", problem)

    async def _asked_before(self, name: RpcId) -> Pending | None:
        """What the client was asked by the service before this one, if it is still open."""
        request = self._client.asked_before(name)
        if request is None:
            return None
        rows = (await self._room.hub.requests(RequestFilter(request=request, states=("open",)))).items
        if not rows:
            return None
        seat = await self._room.seat(rows[0].session)
        return seat.pending(request)
