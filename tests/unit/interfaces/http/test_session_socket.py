"""A session over WebSocket: events one way, commands the other, refusals before and after."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.unit.interfaces.http.reading import Json, post
from tests.unit.interfaces.http.served import TOKEN, Served


@asynccontextmanager
async def _socket(
    served: Served, session: str, token: str = TOKEN, cursor: str = "after=0"
) -> AsyncIterator[ClientConnection]:
    url = f"{served.url.replace('http', 'ws')}/api/sessions/{session}/ws?access_token={token}&{cursor}"
    async with connect(url, proxy=None) as made:
        yield made


async def _until(socket: ClientConnection, name: str, value: str) -> Json:
    async with asyncio.timeout(30):
        while True:
            told: Json = json.loads(await socket.recv())
            if told.get(name) == value or told.get("event", {}).get(name) == value:
                return told


async def _session(served: Served, client: httpx.AsyncClient) -> str:
    return str((await post(client, "/api/sessions", 201, engine="mock", cwd=str(served.work)))["id"])


def _command(kind: str, **fields: object) -> str:
    return json.dumps({"type": kind, "key": "k1", **fields})


async def test_commands_go_in_and_events_come_out(served: Served, client: httpx.AsyncClient) -> None:
    session = await _session(served, client)
    async with _socket(served, session) as socket:
        await socket.send(_command("SendPrompt", prompt="p1", content=[{"type": "text", "text": "permission"}]))
        request = (await _until(socket, "type", "RequestOpened"))["event"]["request"]["id"]
        await socket.send(_command("AnswerRequest", request=request, answer={"type": "choose", "option": "allow"}))
        answered = await _until(socket, "type", "RequestAnswered")
        assert (answered["event"]["by"], answered["event"]["surface"]) == ("operator", "websocket")
        ended = await _until(socket, "type", "TurnEnded")
    async with _socket(served, session, cursor=f"after={ended['seq'] - 1}&epoch=1") as socket:
        assert json.loads(await socket.recv())["event"]["type"] == "TurnEnded"


async def test_a_cursor_that_the_log_does_not_have_is_reset(served: Served, client: httpx.AsyncClient) -> None:
    session = await _session(served, client)
    for cursor in ("after=4711", "after=1&epoch=9"):
        async with _socket(served, session, cursor=cursor) as socket:
            told = [json.loads(await socket.recv()) for _ in range(2)]
        assert told[0]["reset"]["asked"] == int(cursor.partition("=")[2].partition("&")[0])
        assert (told[1]["seq"], told[1]["event"]["type"]) == (1, "SessionOpened")


async def test_any_envelope_is_a_cursor_also_an_ephemeral_one(served: Served, client: httpx.AsyncClient) -> None:
    session = await _session(served, client)
    async with _socket(served, session) as socket:
        await socket.send(_command("SendPrompt", prompt="p1", content=[{"type": "text", "text": "hang"}]))
        delta = await _until(socket, "type", "MessageDelta")
    await post(client, f"/api/sessions/{session}/interrupt", 202)
    async with _socket(served, session, cursor=f"after={delta['seq']}&epoch={delta.get('epoch', 1)}") as socket:
        while (told := json.loads(await socket.recv()))["event"]["type"] == "MessageDelta":
            assert told["seq"] == delta["seq"]
    assert told["seq"] == delta["seq"] + 1


async def test_a_command_that_cannot_be_is_answered_with_a_problem(served: Served, client: httpx.AsyncClient) -> None:
    session = await _session(served, client)
    async with _socket(served, session) as socket:
        await socket.send(_command("WithdrawPrompt", prompt="nothing"))
        assert (await _until(socket, "done", "k1"))["problem"]["status"] == 400
        await socket.send("nonsense")
        assert (await _until(socket, "done", ""))["problem"]["status"] == 422


async def test_who_may_only_read_may_not_command(served: Served, client: httpx.AsyncClient) -> None:
    session = await _session(served, client)
    token = (await post(client, "/api/tokens", 201, name="guest", scopes=["read"]))["token"]
    async with _socket(served, session, token) as socket:
        await socket.send(_command("Interrupt"))
        assert (await _until(socket, "done", "k1"))["problem"]["status"] == 403


@pytest.mark.parametrize(("token", "session", "status"), [("wrong", "", 401), (TOKEN, "nobody", 404)])
async def test_a_socket_that_may_not_be_is_refused_with_a_problem(
    served: Served, client: httpx.AsyncClient, token: str, session: str, status: int
) -> None:
    named = session or await _session(served, client)
    with pytest.raises(InvalidStatus) as refused:
        async with _socket(served, named, token):
            pass
    assert refused.value.response.status_code == status
    body = refused.value.response.body
    assert body is not None
    assert json.loads(body)["status"] == status


async def test_the_end_of_the_server_ends_the_socket(served: Served, client: httpx.AsyncClient) -> None:
    session = await _session(served, client)
    async with _socket(served, session) as socket:
        await _until(socket, "type", "SessionOpened")
        served.api.stop()
        with pytest.raises(ConnectionClosed):
            await _until(socket, "type", "nothing of that name")
