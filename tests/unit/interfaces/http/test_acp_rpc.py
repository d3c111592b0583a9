"""`/v1/rpc`: the connection in a header, sessions that belong to the server, the `_sandboxagent/...` methods."""

from __future__ import annotations

from typing import Any

import httpx

from tests.unit.interfaces.http.acp_wire import Wire, is_answer, is_method, text_of, until
from tests.unit.interfaces.http.reading import stream
from tests.unit.interfaces.http.served import Served

HEADER = "x-acp-connection-id"


async def connect(client: httpx.AsyncClient, agent: str = "mock") -> tuple[Wire, Any]:
    """A new connection to that agent, and what it says of itself."""
    meta = {"sandboxagent.dev": {"agent": agent}}
    hello = {"id": 0, "method": "initialize", "params": {"protocolVersion": 1, "_meta": meta}}
    answer = await Wire(client, "/v1/rpc").post(hello)
    return Wire(client, "/v1/rpc", **{HEADER: answer.headers[HEADER]}), answer.json()["result"]


async def test_initialize_makes_a_connection_and_a_turn_runs_on_it(client: httpx.AsyncClient, served: Served) -> None:
    wire, told = await connect(client)
    offered = told["agentCapabilities"]["_meta"]["sandboxagent.dev"]["extensions"]
    assert "_sandboxagent/session/events" in offered
    session = await wire.open(served.work)
    async with stream(client, "/v1/rpc", **wire.headers) as events:
        assert await wire.say(session, "hello") == "end_turn"
        assert text_of(await until(events, is_answer(2))) == "mock: hello"


async def test_an_unknown_connection_is_a_404_and_none_a_400(client: httpx.AsyncClient) -> None:
    message = {"id": 1, "method": "session/list", "params": {}}
    unknown = await Wire(client, "/v1/rpc").post(message, 404, **{HEADER: "nobody"})
    assert unknown.json()["type"] == "urn:sandbox-agent:error:not_found"
    await Wire(client, "/v1/rpc").post(message, 400)
    assert (await client.get("/v1/rpc", headers={HEADER: "nobody"})).status_code == 404
    meta = {"sandboxagent.dev": {"agent": "nobody"}}
    bad = {"id": 0, "method": "initialize", "params": {"protocolVersion": 1, "_meta": meta}}
    answer = await Wire(client, "/v1/rpc").post(bad, 400)
    assert answer.json()["type"] == "urn:sandbox-agent:error:unsupported_agent"


async def test_a_message_that_is_not_utf_8_is_a_400(client: httpx.AsyncClient) -> None:
    for bad in (b'{"id":1,"method":"initialize","params":{"a":"\xff"}}', b'{"id":"\xff","method":"a"}'):
        answer = await client.post("/v1/rpc", content=bad, headers={"content-type": "application/json"})
        assert (answer.status_code, "the body is not JSON" in answer.json()["detail"]) == (400, True)


async def test_leaving_a_connection_leaves_its_sessions_and_every_connection_sees_them(
    client: httpx.AsyncClient, served: Served
) -> None:
    wire, _ = await connect(client)
    session = await wire.open(served.work)
    await wire.say(session, "hello")
    for _ in range(2):
        assert (await client.delete("/v1/rpc", headers=wire.headers)).status_code == 204
    other, _ = await connect(client)
    listed = (await other.call("session/list"))["sessions"]
    assert [each["sessionId"] for each in listed] == [session]
    async with stream(client, "/v1/rpc", **other.headers) as events:
        await other.call("session/load", {"sessionId": session, "cwd": str(served.work), "mcpServers": []})
        seen = await until(events, is_answer(2))
        assert text_of(seen) == "mock: hello"
        assert await other.say(session, "again") == "end_turn"


async def test_ending_a_session_is_explicit_and_told(client: httpx.AsyncClient, served: Served) -> None:
    wire, _ = await connect(client)
    session = await wire.open(served.work)
    async with stream(client, "/v1/rpc", **wire.headers) as events:
        await wire.call("_sandboxagent/session/terminate", {"sessionId": session})
        ended = await until(events, is_method("_sandboxagent/session/ended"))
        assert ended[-1].data["params"]["sessionId"] == session


async def test_two_doors_may_serve_one_session(client: httpx.AsyncClient, served: Served) -> None:
    wire, _ = await connect(client)
    session = await wire.open(served.work)
    door = Wire(client, "/v1/acp/s1?agent=mock")
    await door.begin()
    await door.call("session/resume", {"sessionId": session, "cwd": str(served.work)})
    async with stream(client, "/v1/acp/s1") as there, stream(client, "/v1/rpc", **wire.headers) as here:
        assert await wire.say(session, "from here") == "end_turn"
        await until(here, is_answer(2))
        seen = await there.until(lambda told: "mock: from here" in str(told.data))
        assert "user_message_chunk" in str([each.data for each in seen]), "the other door hears what was said"
        assert await door.say(session, "from there") == "end_turn"
