"""A session over WebSocket: its events one way, commands the other. The same as the stream and the calls."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.websockets import WebSocket, WebSocketDisconnect

from footplate.errors import FootplateError, WrongShape
from footplate.events import commands as c
from footplate.events.commands import Command
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.problem import Problem, problem_of
from footplate.interfaces.http.routing import Routes
from footplate.runtime.access import Scope
from footplate.runtime.backend import carry_out
from footplate.runtime.log import Subscription
from footplate.runtime.session import Session
from footplate.tasks import spawn

routes = Routes("events")
SURFACE = "websocket"


class SocketQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Where to begin; the token may stand here, because a page cannot set headers of a WebSocket."""

    after: Annotated[int, Meta(ge=0)] = 0
    access_token: str = ""


class Done(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a command: nothing but its key when it was accepted."""

    done: str
    problem: Problem | None = None


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
    after = query.after if query.after <= live.view().last_seq else 0
    reader = live.subscribe(after)
    forget = call.at_end(reader.close)
    sending = spawn(_send(socket, reader), name=f"socket of {live.id}: send", awaited=True)
    taking = spawn(_take(call, live, socket), name=f"socket of {live.id}: receive", awaited=True)
    try:
        await asyncio.wait((sending, taking), return_when=asyncio.FIRST_COMPLETED)
    finally:
        forget()
        reader.close()
        for task in (sending, taking):
            task.cancel()
        await asyncio.wait((sending, taking))
    for task in (sending, taking):
        if not task.cancelled() and not isinstance(task.exception(), WebSocketDisconnect | None):
            task.result()
    if taking.cancelled():
        await socket.close(1001)


async def _send(socket: WebSocket, reader: Subscription) -> None:
    async for delivery in reader:
        await socket.send_text(delivery.body.decode())


async def _take(call: Call, live: Session, socket: WebSocket) -> None:
    while True:
        text = await socket.receive_text()
        key = ""
        try:
            command = decode_command(text)
            key = command.key
            call.grant.require(_scope_of(command))
            await carry_out(live, _signed(command, call.grant.name))
            done = Done(done=key)
        except FootplateError as problem:
            done = Done(done=key, problem=problem_of(problem))
        await socket.send_text(msgspec.json.encode(done).decode())


_decoder: msgspec.json.Decoder[Command] = msgspec.json.Decoder(Command)


def decode_command(text: str) -> Command:
    """A command in its JSON form. Raises `WrongShape`."""
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise WrongShape(f"not a command: {problem}") from problem


def _scope_of(command: Command) -> Scope:
    return "answer" if isinstance(command, c.AnswerRequest) else "drive"


def _signed(command: Command, by: str) -> Command:
    """Who asked is who the token says, whatever the command claims."""
    return msgspec.structs.replace(command, by=by, surface=command.surface or SURFACE)
