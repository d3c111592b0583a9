"""Readers that do not read: cut off like one that is gone, and no reason for the server to wait when it stops."""

from __future__ import annotations

import asyncio
import base64
import fcntl
import json
import socket as socket_module
import sys
import termios
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from websockets.asyncio.client import connect

from footplate.config.settings import HttpSettings, Settings
from footplate.events.ids import SessionId
from tests.unit.interfaces.http.reading import get, post
from tests.unit.interfaces.http.served import TOKEN, Served, serve
from tests.unit.runtime.following import until_ended

BIG = 30_000_000
"""More than the kernel takes for a peer that does not read."""


@asynccontextmanager
async def _deaf(
    served: Served, path: str, *, socket: bool
) -> AsyncIterator[tuple[asyncio.StreamReader, socket_module.socket]]:
    """A connection that reads nothing but the head of the answer, unless the test does."""
    host, _, port = served.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=4096)
    key = base64.b64encode(b"0123456789abcdef").decode()
    upgrade = "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"
    head = f"{upgrade}sec-websocket-key: {key}\r\n" if socket else ""
    writer.write(f"GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n{head}\r\n".encode())
    status = await reader.readuntil(b"\r\n\r\n")
    assert status.split()[1] in (b"101", b"200")
    try:
        yield reader, writer.get_extra_info("socket")
    finally:
        writer.transport.abort()


async def _session(served: Served, client: httpx.AsyncClient) -> str:
    return str((await post(client, "/api/sessions", 201, engine="mock", cwd=str(served.work)))["id"])


async def _answer_big(served: Served, session: str) -> None:
    live = await served.api.hub.get(SessionId(session))
    await live.prompt(f"big {BIG}")
    await until_ended(live)


async def _until_full(connection: socket_module.socket) -> None:
    """Wait until nothing more comes to a connection that is not read: the buffers on the way are full."""
    waiting = bytearray(4)
    seen, since = -1, time.monotonic()
    async with asyncio.timeout(20):
        while seen <= 0 or time.monotonic() - since < 0.2:
            fcntl.ioctl(connection.fileno(), termios.FIONREAD, waiting)
            if (now := int.from_bytes(waiting, sys.byteorder)) != seen:
                seen, since = now, time.monotonic()
            await asyncio.sleep(0.01)


async def _until_unread(served: Served, session: str) -> None:
    live = await served.api.hub.get(SessionId(session))
    async with asyncio.timeout(20):
        while live.watchers:  # noqa: ASYNC110  nothing tells that a reader has left
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(("place", "socket"), [("ws", True), ("events", False)])
async def test_a_peer_that_does_not_read_is_cut_off(tmp_path: Path, place: str, *, socket: bool) -> None:
    limits = Settings(http=HttpSettings(stall_s=0.5, heartbeat_s=0.2))
    async with serve(tmp_path, limits) as served, served.client() as client:
        session = await _session(served, client)
        async with _deaf(served, f"/api/sessions/{session}/{place}", socket=socket) as (reader, _):
            await _answer_big(served, session)
            await _until_unread(served, session)
            got = 0
            try:
                while data := await reader.read(1_000_000):
                    got += len(data)
            except ConnectionResetError:
                pass
            assert got < BIG


@pytest.mark.parametrize(
    ("path", "socket"), [("/api/sessions/{session}/ws", True), ("/api/sessions/{session}/events", False)]
)
async def test_a_peer_that_does_not_read_does_not_delay_the_end_of_the_server(
    tmp_path: Path, path: str, *, socket: bool
) -> None:
    async with serve(tmp_path) as served:
        async with served.client() as client:
            session = await _session(served, client)
            holder = _deaf(served, path.format(session=session), socket=socket)
            _, connection = await holder.__aenter__()
            await _answer_big(served, session)
            await _until_full(connection)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    await holder.__aexit__(None, None, None)


async def test_a_peer_on_an_acp_socket_that_does_not_read_does_not_delay_the_end_either(tmp_path: Path) -> None:
    async with serve(tmp_path) as served:
        holder = connect(
            f"{served.url.replace('http', 'ws')}/acp?agent=mock&access_token={TOKEN}",
            proxy=None,
            max_size=None,
            compression=None,
            max_queue=1,
        )
        socket = await holder.__aenter__()

        async def call(number: int, method: str, params: dict[str, object]) -> None:
            await socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))

        async def answer(number: int) -> dict[str, object]:
            while True:
                told: dict[str, object] = json.loads(await socket.recv())
                if told.get("id") == number:
                    return told

        await call(1, "initialize", {"protocolVersion": 1})
        await answer(1)
        await call(2, "session/new", {"cwd": str(served.work), "mcpServers": []})
        made = (await answer(2))["result"]
        assert isinstance(made, dict)
        prompt = [{"type": "text", "text": f"big {BIG}"}]
        await call(3, "session/prompt", {"sessionId": made["sessionId"], "prompt": prompt})
        await until_ended(await served.api.hub.get(SessionId(str(made["sessionId"]))))
        await _until_full(socket.transport.get_extra_info("socket"))
        began = time.monotonic()
    assert time.monotonic() - began < 5
    socket.transport.abort()
    await holder.__aexit__(None, None, None)


async def test_a_large_message_comes_whole_between_answers_to_commands(
    served: Served, client: httpx.AsyncClient
) -> None:
    session = await _session(served, client)
    url = f"{served.url.replace('http', 'ws')}/api/sessions/{session}/ws?access_token={TOKEN}"
    async with connect(url, proxy=None, max_size=None) as socket:
        for number in range(20):
            await socket.send(json.dumps({"type": "Rename", "key": f"k{number}", "title": f"t{number}"}))
        prompt = {"type": "SendPrompt", "key": "p", "prompt": "p", "content": [{"type": "text", "text": "big 3000000"}]}
        await socket.send(json.dumps(prompt))
        done: list[str] = []
        text = ""
        async with asyncio.timeout(30):
            while not text or len(done) < 21:
                told = json.loads(await socket.recv())
                if "done" in told:
                    done.append(told["done"])
                elif told["event"]["type"] == "Message":
                    text = told["event"]["text"]
    assert text == "x" * 3_000_000
    assert done == [*(f"k{number}" for number in range(20)), "p"]


async def test_the_socket_of_a_deleted_session_ends(served: Served, client: httpx.AsyncClient) -> None:
    session = await _session(served, client)
    url = f"{served.url.replace('http', 'ws')}/api/sessions/{session}/ws?access_token={TOKEN}"
    async with connect(url, proxy=None) as socket:
        await socket.recv()
        assert (await client.delete(f"/api/sessions/{session}")).status_code == 204
        async with asyncio.timeout(10):
            async for _ in socket:
                pass
    assert (await get(client, f"/api/sessions/{session}", 404))["status"] == 404
