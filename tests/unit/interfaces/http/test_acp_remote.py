"""`/acp`: the protocol's own remote transport by HTTP streams and by WebSocket."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect

from tests.unit.interfaces.http.acp_wire import Wire, is_answer, is_method, prompt, text_of
from tests.unit.interfaces.http.reading import Stream, Told, stream
from tests.unit.interfaces.http.served import TOKEN, Served

CONNECTION, SESSION = "acp-connection-id", "acp-session-id"
HELLO = {"id": 0, "method": "initialize", "params": {"protocolVersion": 1, "clientCapabilities": {}}}


async def begin(client: httpx.AsyncClient) -> Wire:
    """A new connection to the mock agent."""
    answer = await Wire(client, "/acp?agent=mock").post(HELLO)
    assert answer.json()["result"]["agentInfo"]["name"] == "footplate-mock"
    return Wire(client, "/acp", **{CONNECTION: answer.headers[CONNECTION]})


async def ask(wire: Wire, events: Stream, message: dict[str, Any], **headers: str) -> Told:
    """Send a request and take its answer from the stream."""
    accepted = await wire.post(message, 202, **headers)
    assert accepted.content == b""
    return (await events.until(is_answer(message["id"])))[-1]


async def open_session(wire: Wire, events: Stream, served: Served, rpc_id: int = 1) -> str:
    params = {"cwd": str(served.work), "mcpServers": []}
    told = await ask(wire, events, {"id": rpc_id, "method": "session/new", "params": params})
    return str(told.data["result"]["sessionId"])


async def test_answers_come_on_the_streams_each_where_it_belongs(client: httpx.AsyncClient, served: Served) -> None:
    wire = await begin(client)
    async with stream(client, "/acp", **wire.headers) as events:
        session = await open_session(wire, events, served)
        async with stream(client, "/acp", **wire.headers, **{SESSION: session}) as updates:
            message = {"id": 2, "method": "session/prompt", "params": prompt(session, "stream 5")}
            await wire.post(message, 202, **{SESSION: session})
            seen = await updates.until(is_answer(2))
            assert text_of(seen) == "chunk 0chunk 1chunk 2chunk 3chunk 4"
            assert {each.data["params"]["sessionId"] for each in seen[:-1]} == {session}
        listed = await ask(wire, events, {"id": 3, "method": "session/list", "params": {}})
        assert [each["sessionId"] for each in listed.data["result"]["sessions"]] == [session]


async def test_load_without_a_session_header_is_answered_on_the_connections_stream(
    client: httpx.AsyncClient, served: Served
) -> None:
    wire = await begin(client)
    async with stream(client, "/acp", **wire.headers) as events:
        session = await open_session(wire, events, served)
        params = {"sessionId": session, "cwd": str(served.work), "mcpServers": []}
        loaded = await ask(wire, events, {"id": 2, "method": "session/load", "params": params})
        assert "modes" in loaded.data["result"]


async def test_a_stream_that_is_opened_again_goes_on_where_it_was(client: httpx.AsyncClient, served: Served) -> None:
    wire = await begin(client)
    async with stream(client, "/acp", **wire.headers) as events:
        session = await open_session(wire, events, served)
        headers = {**wire.headers, SESSION: session}
        await wire.post({"id": 2, "method": "session/prompt", "params": prompt(session, "one")}, 202, **headers)
        async with stream(client, "/acp", **headers) as updates:
            first = await updates.until(is_answer(2))
        await wire.post({"id": 3, "method": "session/prompt", "params": prompt(session, "two")}, 202, **headers)
        async with stream(client, "/acp", **headers, **{"last-event-id": first[-1].id}) as updates:
            second = await updates.until(is_answer(3))
        assert text_of(second) == "mock: two"
        async with stream(client, "/acp", **headers, **{"last-event-id": "0"}) as updates:
            whole = await updates.until(is_answer(3))
        assert text_of(whole) == "mock: onemock: two"


async def test_a_permission_is_asked_on_the_sessions_stream(client: httpx.AsyncClient, served: Served) -> None:
    wire = await begin(client)
    async with stream(client, "/acp", **wire.headers) as events:
        session = await open_session(wire, events, served)
        headers = {**wire.headers, SESSION: session}
        async with stream(client, "/acp", **headers) as updates:
            message = {"id": 2, "method": "session/prompt", "params": prompt(session, "permission")}
            await wire.post(message, 202, **headers)
            asked = (await updates.until(is_method("session/request_permission")))[-1].data
            outcome = {"outcome": {"outcome": "selected", "optionId": "reject"}}
            await wire.post({"id": asked["id"], "result": outcome}, 202, **headers)
            assert text_of(await updates.until(is_answer(2))) == "permission: reject"


async def test_what_cannot_be_is_refused_with_its_status(client: httpx.AsyncClient) -> None:
    wire = await begin(client)
    bare = Wire(client, "/acp")
    listing = {"id": 1, "method": "session/list", "params": {}}
    await bare.post(listing, 400)
    await bare.post(listing, 404, **{CONNECTION: "nobody"})
    assert (await client.get("/acp")).status_code == 400
    assert (await client.get("/acp", headers={CONNECTION: "nobody"})).status_code == 404
    assert (await client.get("/acp", headers={**wire.headers, "accept": "text/html"})).status_code == 406
    batch = await client.post("/acp", json=[listing], headers=wire.headers)
    assert (batch.status_code, batch.json()["type"]) == (400, "urn:sandbox-agent:error:invalid_request")
    text = await client.post("/acp", content="{}", headers={**wire.headers, "content-type": "text/plain"})
    assert text.status_code == 415
    mixed = {"id": 1, "method": "session/prompt", "params": prompt("one", "x")}
    await wire.post(mixed, 400, **{SESSION: "two"})
    assert (await client.delete("/acp", headers=wire.headers)).status_code == 202
    assert (await client.delete("/acp", headers=wire.headers)).status_code == 404


# ----------------------------------------------------------------------------------------------- websocket


class Socket:
    """A client over one WebSocket."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.heard: list[dict[str, Any]] = []

    async def send(self, message: dict[str, Any]) -> None:
        await self.connection.send(json.dumps({"jsonrpc": "2.0", **message}))

    async def hear(self, wanted: Any) -> dict[str, Any]:
        async with asyncio.timeout(30):
            while True:
                message = json.loads(await self.connection.recv())
                self.heard.append(message)
                if wanted(message):
                    return message  # type: ignore[no-any-return]

    async def call(self, rpc_id: object, method: str, params: dict[str, Any]) -> Any:
        await self.send({"id": rpc_id, "method": method, "params": params})
        answer = await self.hear(lambda each: "method" not in each and each["id"] == rpc_id)
        return answer["result"]


def address(served: Served) -> str:
    return served.url.replace("http", "ws", 1) + "/acp?agent=mock"


async def test_a_whole_turn_over_a_websocket(served: Served) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with connect(address(served), additional_headers=headers) as connection:
        assert connection.response is not None
        assert connection.response.headers[CONNECTION]
        socket = Socket(connection)
        await socket.call(0, "initialize", HELLO["params"])  # type: ignore[arg-type]
        opened = await socket.call(1, "session/new", {"cwd": str(served.work), "mcpServers": []})
        session = opened["sessionId"]
        await socket.send({"id": 2, "method": "session/prompt", "params": prompt(session, "permission")})
        asked = await socket.hear(lambda each: each.get("method") == "session/request_permission")
        await socket.send({"id": asked["id"], "result": {"outcome": {"outcome": "selected", "optionId": "allow"}}})
        answer = await socket.hear(lambda each: each.get("id") == 2)
        assert answer["result"]["stopReason"] == "end_turn"


async def test_a_frame_that_is_not_utf_8_is_refused_under_its_id(served: Served) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with connect(address(served), additional_headers=headers) as connection:
        await connection.send(b'{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"a":"\xff"}}')
        answer = await Socket(connection).hear(lambda each: "error" in each)
        assert (answer["id"], answer["error"]["code"]) == (7, -32700)


@pytest.mark.parametrize(("text", "code"), [("{", -32700), ("[1]", -32600), ('{"id":1}', -32600), ("5", -32600)])
async def test_a_frame_that_is_no_message_is_told_so(served: Served, text: str, code: int) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with connect(address(served), additional_headers=headers) as connection:
        await connection.send(text)
        answer = await Socket(connection).hear(lambda each: "error" in each)
        assert (answer["id"], answer["error"]["code"]) == (None, code)
