"""`/v1/rpc`: the same messages under a connection id in a header. Ending the connection ends no session."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.responses import Response

from footplate.errors import InvalidValue, NotFound
from footplate.events.base import OptionalRaw
from footplate.interfaces.http.acp_calls import TapeFeed, check_reach, exchange, read_posted, read_stream_cursor
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import Routes
from footplate.interfaces.http.sse import EventStream
from footplate.runtime.acp.connection import Connection
from footplate.runtime.acp.extensions import VENDOR
from footplate.ulid import new_ulid

routes = Routes("acp")
HEADER: Final = "x-acp-connection-id"


class _Vendor(msgspec.Struct, frozen=True):
    agent: str = ""


class _Meta(msgspec.Struct, frozen=True, rename={"vendor": VENDOR}):
    vendor: _Vendor = _Vendor()


class _Initialize(msgspec.Struct, frozen=True, rename={"meta": "_meta"}):
    meta: _Meta = _Meta()


@routes.post(
    "/v1/rpc",
    scope="drive",
    summary="Send one ACP message; the first `initialize` may leave the connection's id out and gets one",
    raw_body=True,
    also=(202,),
    answer=dict,
    problems=(404, 406, 415, 504),
)
async def post(call: Call) -> Response:
    posted = await read_posted(call)
    name = call.header(HEADER)
    door = call.api.acp.rpc
    if name or posted.envelope.method != "initialize":
        connection = await _known(call)
    else:
        agent = _agent(posted.envelope.params) or call.api.settings.default_engine
        connection = await door.open(f"conn_{new_ulid()}", agent)
    answer = await exchange(call, door, connection, posted)
    answer.headers[HEADER] = connection.name
    return answer


@routes.get(
    "/v1/rpc",
    scope="read",
    summary="The stream of everything that the agent sends on this connection",
    media="text/event-stream",
    problems=(404, 406),
)
async def follow(call: Call) -> EventStream:
    after, run = read_stream_cursor(call)
    connection = await _known(call)
    return EventStream(call, TapeFeed(connection.tape.reader(after or 0, run=run)))


@routes.delete("/v1/rpc", scope="drive", summary="Leave the connection; its sessions and their agents live on")
async def leave(call: Call) -> None:
    check_reach(call)
    if not call.header(HEADER):
        raise InvalidValue(HEADER, "", "the id of a connection")
    await call.api.acp.rpc.end(call.header(HEADER))


async def _known(call: Call) -> Connection:
    name = call.header(HEADER)
    if not name:
        raise InvalidValue(HEADER, "", "the id of a connection, or `initialize` as the first message")
    connection = await call.api.acp.rpc.find(name)
    if connection is None:
        raise NotFound("acp_connection", name)
    return connection


def _agent(params: OptionalRaw) -> str:
    """The agent that the client asks for."""
    try:
        return "" if params is None else msgspec.json.decode(params, type=_Initialize).meta.vendor.agent
    except msgspec.ValidationError:
        return ""
