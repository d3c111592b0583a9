"""`/acp`: the protocol's own remote transport, by HTTP streams or by WebSocket.

`initialize` is answered at once with the id of a new connection; everything else is accepted with 202 and answered on a
stream: the connection's own, or that of a session. Beyond the draft every message has a number, and a stream goes on
behind `Last-Event-ID`.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec
from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from footplate.acp import jsonrpc
from footplate.acp.failures import Failure
from footplate.errors import FootplateError, InvalidValue, NotFound
from footplate.interfaces.http.acp_calls import (
    BATCH,
    Posted,
    TapeFeed,
    check_reach,
    read_posted,
    read_stream_cursor,
    sender,
    wait_for,
)
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import JSON, Routes
from footplate.interfaces.http.sse import EventStream
from footplate.interfaces.http.wire import send_encoded
from footplate.runtime.acp.agent import answer_unreadable
from footplate.runtime.acp.connection import Connection
from footplate.runtime.acp.room import session_of
from footplate.runtime.acp.tape import TapeReader
from footplate.runtime.audit import Principal
from footplate.tasks import spawn
from footplate.ulid import new_ulid

routes = Routes("acp")
CONNECTION: Final = "acp-connection-id"
SESSION: Final = "acp-session-id"


class AgentQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which agent stands behind a new connection; default: the default engine."""

    agent: str = ""
    access_token: str = ""


@routes.post(
    "/acp",
    scope="drive",
    summary="Send one ACP message: `initialize` opens a connection, all else is answered on its streams",
    raw_body=True,
    also=(202,),
    answer=dict,
    problems=(404, 406, 415, 504),
)
async def post(call: Call, query: AgentQuery) -> Response:
    posted = await read_posted(call)
    if posted.envelope.method == "initialize" and not call.header(CONNECTION):
        return await _begin(call, posted, query.agent)
    connection = await _known(call)
    envelope = posted.envelope
    if envelope.kind == "request":
        named = call.header(SESSION)
        if named and (meant := session_of(envelope)) and meant != named:
            raise InvalidValue(SESSION, named, f"the session of the message, {meant!r}")
        await connection.call(envelope, sender(call), stream=named)
    else:
        await connection.tell(envelope, posted.raw, sender(call))
    return Response(status_code=202)


@routes.get(
    "/acp",
    scope="read",
    summary="A stream of the connection, or of the session that `Acp-Session-Id` names",
    media="text/event-stream",
    problems=(404, 406),
)
async def follow(call: Call) -> EventStream:
    after, run = read_stream_cursor(call)
    connection = await _known(call)
    reader = connection.tape.reader(after, run=run, stream=call.header(SESSION))
    return EventStream(call, TapeFeed(reader))


@routes.delete("/acp", scope="drive", summary="End the connection; its sessions live on", status=202, problems=(404,))
async def end(call: Call) -> None:
    check_reach(call)
    connection = await _known(call)
    await call.api.acp.remote.end(connection.name)


@routes.socket("/acp", scope="drive", summary="The same messages over one WebSocket")
async def converse(call: Call, query: AgentQuery) -> None:
    check_reach(call)
    connection = await _open(call, query.agent)
    socket = call.socket
    await socket.accept(headers=[(CONNECTION.encode(), connection.name.encode())])
    reader = connection.tape.reader(0)
    forget = call.at_end(reader.close)
    sending = spawn(_send(socket, reader), name=f"acp socket {connection.name}: send", awaited=True)
    taking = spawn(_take(socket, connection, sender(call)), name=f"acp socket {connection.name}: receive", awaited=True)
    try:
        await asyncio.wait((sending, taking), return_when=asyncio.FIRST_COMPLETED)
    finally:
        forget()
        reader.close()
        for task in (sending, taking):
            task.cancel()
        await asyncio.wait((sending, taking))
        await call.api.acp.remote.end(connection.name)
    for task in (sending, taking):
        if not task.cancelled() and not isinstance(task.exception(), WebSocketDisconnect | None):
            task.result()
    if taking.cancelled():
        await socket.close(1001)


async def _send(socket: WebSocket, reader: TapeReader) -> None:
    while (found := await reader.next()) is not None:
        for each in found.messages:
            await send_encoded(socket, each.body)


async def _take(socket: WebSocket, connection: Connection, who: Principal) -> None:
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        raw = (message.get("text") or "").encode() or message.get("bytes") or b""
        try:
            envelope = jsonrpc.decode_message(raw)
        except msgspec.ValidationError as problem:
            words = f"Invalid request: {problem}" if raw.lstrip()[:1] != b"[" else f"Invalid request: {BATCH}"
            await connection.send([Failure(jsonrpc.INVALID_REQUEST, words).frame(None)])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            await connection.send([answer_unreadable(raw, problem)])
        else:
            await _hand_on(connection, Posted(envelope, raw), who)


async def _hand_on(connection: Connection, posted: Posted, who: Principal) -> None:
    match posted.envelope.kind:
        case "request":
            await connection.call(posted.envelope, who)
        case "invalid":
            await connection.send([Failure(jsonrpc.INVALID_REQUEST, "Invalid request: no method").frame(None)])
        case _:
            try:
                await connection.tell(posted.envelope, posted.raw, who)
            except FootplateError as problem:
                await connection.send([Failure(jsonrpc.INTERNAL_ERROR, str(problem)).frame(None)])


# -------------------------------------------------------------------------------------------------- inside


async def _begin(call: Call, posted: Posted, agent: str) -> Response:
    connection = await _open(call, agent)
    waiting = await connection.call(posted.envelope, sender(call), stream="")
    answer = await wait_for(call, connection, waiting)
    connection.tape.skip(answer.number, "")
    if not answer.failed:
        await call.api.acp.remote.began(connection, posted.envelope)
    return Response(answer.body, 200, {CONNECTION: connection.name}, JSON)


async def _open(call: Call, agent: str) -> Connection:
    name = f"conn_{new_ulid()}"
    engine = agent or call.api.settings.default_engine
    return await call.api.acp.remote.open(name, engine)


async def _known(call: Call) -> Connection:
    name = call.header(CONNECTION)
    if not name:
        raise InvalidValue(CONNECTION, "", "the id of a connection, or `initialize` as the first message")
    connection = await call.api.acp.remote.find(name)
    if connection is None:
        raise NotFound("acp_connection", name)
    return connection
