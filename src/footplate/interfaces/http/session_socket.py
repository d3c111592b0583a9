"""A session over WebSocket: its events one way, commands the other. The same as the stream and the calls."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.websockets import WebSocket, WebSocketDisconnect

from footplate.errors import CursorLost, FootplateError, WrongShape
from footplate.events import commands as c
from footplate.events.commands import Command
from footplate.interfaces.http.call import SURFACE_HEADER, Call
from footplate.interfaces.http.problem import Problem, problem_of
from footplate.interfaces.http.routing import Routes
from footplate.interfaces.http.session_events import Reset
from footplate.interfaces.http.wire import send_encoded
from footplate.runtime.access import Scope
from footplate.runtime.audit import Principal, claimed_surface
from footplate.runtime.backend import carry_out
from footplate.runtime.session import Session
from footplate.tasks import spawn

routes = Routes("events")
SURFACE = "websocket"


class SocketQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Where to begin: the number and the epoch of the last envelope that the client has, ephemeral ones included.

    The token may stand here, because a page cannot set headers of a WebSocket.
    """

    after: Annotated[int, Meta(ge=0)] = 0
    epoch: Annotated[int, Meta(ge=0)] | None = None
    access_token: str = ""


class Done(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a command: nothing but its key when it was accepted."""

    done: str
    problem: Problem | None = None


class ResetMessage(msgspec.Struct, frozen=True, kw_only=True):
    """The log does not have the client's cursor: envelopes from the beginning follow."""

    reset: Reset


@routes.socket(
    "/api/sessions/{session}/ws",
    scope="read",
    summary="The session over WebSocket: envelopes come, commands go, each answered with `{done: key, problem?}`",
    problems=(404,),
)
async def follow(call: Call, query: SocketQuery) -> None:
    live = await call.session()
    socket = call.socket
    await socket.accept()
    feed = _Feed(socket, live, query)
    forget = call.at_end(feed.close)
    sending = spawn(feed.send(), name=f"socket of {live.id}: send", awaited=True)
    taking = spawn(_take(call, live, socket), name=f"socket of {live.id}: receive", awaited=True)
    try:
        await asyncio.wait((sending, taking), return_when=asyncio.FIRST_COMPLETED)
    finally:
        forget()
        feed.close()
        for task in (sending, taking):
            task.cancel()
        await asyncio.wait((sending, taking))
    for task in (sending, taking):
        if not task.cancelled() and not isinstance(task.exception(), WebSocketDisconnect | None):
            task.result()
    if taking.cancelled():
        await socket.close(1001)


class _Feed:
    """The session's log as messages of the socket."""

    def __init__(self, socket: WebSocket, live: Session, query: SocketQuery) -> None:
        self._socket = socket
        self._live = live
        self._reader = live.subscribe(query.after, query.epoch)

    async def send(self) -> None:
        try:
            await self._reader.check()
        except CursorLost as lost:
            self._reader.close()
            self._reader = self._live.subscribe(0)
            await send_encoded(self._socket, msgspec.json.encode(ResetMessage(reset=Reset.of(lost))))
        async for delivery in self._reader:
            await send_encoded(self._socket, delivery.body)

    def close(self) -> None:
        self._reader.close()


async def _take(call: Call, live: Session, socket: WebSocket) -> None:
    while True:
        text = await socket.receive_text()
        key = ""
        try:
            command = decode_command(text)
            key = command.key
            call.grant.require(_scope_of(command))
            await carry_out(live, command, _principal_of(call, command))
            done = Done(done=key)
        except FootplateError as problem:
            done = Done(done=key, problem=problem_of(problem))
        await send_encoded(socket, msgspec.json.encode(done))


_decoder: msgspec.json.Decoder[Command] = msgspec.json.Decoder(Command)


def decode_command(text: str) -> Command:
    """A command in its JSON form. Raises `WrongShape`."""
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise WrongShape(f"not a command: {problem}") from problem


def _scope_of(command: Command) -> Scope:
    return "answer" if isinstance(command, c.AnswerRequest) else "drive"


def _principal_of(call: Call, command: Command) -> Principal:
    """Who asked is who the token says, whatever the command claims. A page cannot set the header with its surface."""
    named = call.header(SURFACE_HEADER.decode())
    surface = claimed_surface(command.surface, claimed_surface(named, SURFACE))
    return msgspec.structs.replace(call.principal, surface=surface)
