"""One connection to an agent: calls and their answers, what the agent tells, what it asks."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

import msgspec

from footplate.acp import jsonrpc
from footplate.acp.failures import Failure, unknown_method
from footplate.acp.jsonrpc import Envelope, RpcId
from footplate.errors import CallRefused, FootplateError
from footplate.sdk.acp.doors import Door, RemoteDoor, RpcDoor, ServerDoor, SocketDoor
from footplate.sdk.opening import Opening
from footplate.sdk.wire import PATIENCE_S, Wire
from footplate.tasks import spawn

DoorName = Literal["servers", "rpc", "remote", "socket"]
NotificationHandler = Callable[[str, object], None]
"""Gets a method and its params."""

RequestHandler = Callable[[str, object], object | Awaitable[object]]
"""Gets a method and its params; what it returns is the result. It raises `Failure` to refuse."""

log = logging.getLogger(__name__)


class AcpClient:
    """A client of the protocol. It knows envelopes and nothing of what they mean."""

    def __init__(self, door: Door, *, wire: Wire | None = None) -> None:
        self._door = door
        self._wire = wire
        self._ids = itertools.count(1)
        self._waiting: dict[RpcId, asyncio.Future[Envelope]] = {}
        self._told: list[NotificationHandler] = []
        self._asked: dict[str, RequestHandler] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        door.begin(self._take, self._fail)

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        agent: str = "",
        token: str = "",
        door: DoorName = "servers",
        server_id: str = "",
        patience_s: float | None = PATIENCE_S,
    ) -> Opening[AcpClient]:
        """A connection through one of the doors; nothing is sent before the first call."""

        async def begin() -> AcpClient:
            wire = Wire(url, token, patience_s=patience_s)
            match door:
                case "servers":
                    return cls(ServerDoor(wire, agent, server_id), wire=wire)
                case "rpc":
                    return cls(RpcDoor(wire, agent), wire=wire)
                case "remote":
                    return cls(RemoteDoor(wire, agent), wire=wire)
                case "socket":
                    return cls(SocketDoor(wire, agent), wire=wire)

        return Opening(begin)

    async def call(self, method: str, params: Mapping[str, object] | None = None) -> object:
        """Call a method; its result. Raises `CallRefused` with what the agent says."""
        number = next(self._ids)
        waiting: asyncio.Future[Envelope] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        message = jsonrpc.encode_request(number, method, dict(params or {}))
        sending = spawn(
            self._door.send(message, method=method, session=_session(params)), name=f"send {method}", awaited=True
        )
        try:
            await asyncio.wait((sending, waiting), return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                await sending  # its problem, if it has one; else the answer comes on a stream
            answer = await waiting
        finally:
            self._waiting.pop(number, None)
            if not sending.done():
                sending.cancel()
            await asyncio.wait((sending,))
        if answer.error is not None:
            data = msgspec.json.decode(answer.error.data) if answer.error.data is not None else None
            raise CallRefused(method, answer.error.code, answer.error.message, data)
        return None if answer.result is None else msgspec.json.decode(answer.result)

    async def notify(self, method: str, params: Mapping[str, object] | None = None) -> None:
        """Tell the agent something that has no answer."""
        message = jsonrpc.encode_notification(method, dict(params or {}))
        await self._door.send(message, method=method, session=_session(params))

    def on_notification(self, handler: NotificationHandler) -> Callable[[], None]:
        """Call the handler with everything that the agent tells, in order; what is returned ends that."""
        self._told.append(handler)
        return lambda: self._told.remove(handler)

    def on_request(self, method: str, handler: RequestHandler) -> None:
        """Let the handler answer what the agent asks by this method; what nobody answers is refused as unknown."""
        self._asked[method] = handler

    async def dispose(self) -> None:
        """Let the connection go."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._door.close()
        if self._wire is not None:
            await self._wire.close()

    # --------------------------------------------------------------------------------------------- inside

    def _take(self, message: bytes) -> None:
        envelope = jsonrpc.envelope_decoder.decode(message)
        match envelope.kind:
            case "response":
                waiting = self._waiting.pop(jsonrpc.id_of(envelope), None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(envelope)
            case "notification":
                params = _params(envelope)
                for handler in tuple(self._told):
                    handler(envelope.method or "", params)
            case "request":
                task = spawn(self._serve(envelope), name=f"asked {envelope.method}")
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            case "invalid":
                log.warning("the agent sent something that is no message: %s", message[:200])

    async def _serve(self, envelope: Envelope) -> None:
        number, method = jsonrpc.id_of(envelope), envelope.method or ""
        params = _params(envelope)
        try:
            handler = self._asked.get(method)
            if handler is None:
                raise unknown_method(method)
            told = handler(method, params)
            answer = jsonrpc.encode_response(number, await told if inspect.isawaitable(told) else told)
        except Failure as refusal:
            answer = refusal.frame(number)
        session = _session(params) if isinstance(params, Mapping) else ""
        await self._door.send(answer, method="", session=session)

    def _fail(self, problem: FootplateError) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(problem)
        self._waiting.clear()


def _params(envelope: Envelope) -> object:
    return {} if envelope.params is None else msgspec.json.decode(envelope.params)


def _session(params: Mapping[str, object] | None) -> str:
    found = (params or {}).get("sessionId", "")
    return found if isinstance(found, str) else ""
