"""`/v1/acp`: one agent per server id, which the client chooses. What the published TypeScript SDK speaks."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from footplate.errors import InvalidValue, NotFound
from footplate.interfaces.http.acp_calls import TapeFeed, check_reach, exchange, read_posted, read_stream_cursor
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import Routes
from footplate.interfaces.http.sse import EventStream
from footplate.runtime.acp.connection import Connection

routes = Routes("acp")


class AcpServer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One connection to an agent."""

    server_id: str
    agent: str
    created_at_ms: int


class AcpServers(msgspec.Struct, frozen=True, kw_only=True):
    """Every connection to an agent."""

    servers: tuple[AcpServer, ...]


class AgentQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which agent stands behind a new connection; later calls may leave it out."""

    agent: str = ""


@routes.get("/v1/acp", scope="read", summary="Every connection to an agent", answer=AcpServers)
async def list_servers(call: Call) -> AcpServers:
    check_reach(call)
    return AcpServers(
        servers=tuple(
            AcpServer(server_id=record.name, agent=record.agent, created_at_ms=int(record.created_at * 1000))
            for record in await call.api.acp.servers.list()
        )
    )


@routes.post(
    "/v1/acp/{server_id}",
    scope="drive",
    summary="Send one ACP message; a request is answered here and on the stream, anything else with 202",
    raw_body=True,
    also=(202,),
    answer=dict,
    problems=(404, 406, 409, 415, 504),
)
async def post(call: Call, query: AgentQuery) -> Response:
    posted = await read_posted(call)
    name = call.params["server_id"]
    door = call.api.acp.servers
    is_request = posted.envelope.kind == "request"
    if is_request and not query.agent and await door.find(name) is None:
        raise InvalidValue("agent", query.agent, f"an agent for the new server {name!r}: ?agent=NAME")
    connection = await door.open(name, query.agent, new=is_request)
    return await exchange(call, door, connection, posted)


@routes.get(
    "/v1/acp/{server_id}",
    scope="read",
    summary="The stream of everything that the agent sends; `Last-Event-ID` goes on behind a number",
    media="text/event-stream",
    problems=(404, 406),
)
async def follow(call: Call) -> EventStream:
    after, run = read_stream_cursor(call)
    connection = await _known(call)
    return EventStream(call, TapeFeed(connection.tape.reader(after or 0, run=run)))


@routes.delete("/v1/acp/{server_id}", scope="drive", summary="End the connection and its agent's process")
async def end(call: Call) -> None:
    check_reach(call)
    await call.api.acp.servers.end(call.params["server_id"])


async def _known(call: Call) -> Connection:
    name = call.params["server_id"]
    connection = await call.api.acp.servers.find(name)
    if connection is None:
        raise NotFound("acp_server", name)
    return connection
