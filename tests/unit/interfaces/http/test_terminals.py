"""Terminals over WebSocket, with a real client: keys, sizes, the end, and the screen for one who comes back."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.unit.interfaces.http.exchanges import PROBLEM
from tests.unit.interfaces.http.served import TOKEN, Served


def dial(served: Served, process: str, token: str = TOKEN) -> connect:
    url = f"{served.url.replace('http', 'ws')}/v1/processes/{process}/terminal/ws?access_token={token}"
    return connect(url, proxy=None, max_size=None)


async def start(client: httpx.AsyncClient, script: str, **more: object) -> str:
    body = {"command": "sh", "args": ["-c", script], "tty": True, "interactive": True, **more}
    return str((await client.post("/v1/processes", json=body)).json()["id"])


class Screen:
    """What a client has seen."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.shown = b""
        self.frames: list[dict[str, object]] = []

    async def until(self, fact: Callable[[Screen], object]) -> None:
        async with asyncio.timeout(30):
            while not fact(self):
                message = await self.socket.recv()
                if isinstance(message, bytes):
                    self.shown += message
                else:
                    self.frames.append(json.loads(message))

    async def sees(self, text: bytes) -> None:
        await self.until(lambda screen: text in screen.shown)

    async def types(self, text: str, **more: object) -> None:
        await self.socket.send(json.dumps({"type": "input", "data": text, **more}))

    async def closed(self) -> int | None:
        async with asyncio.timeout(30):
            try:
                while True:
                    message = await self.socket.recv()
                    if isinstance(message, str):
                        self.frames.append(json.loads(message))
                    else:
                        self.shown += message
            except ConnectionClosed:
                return self.socket.close_code


async def test_a_terminal_takes_keys_and_shows_what_comes_to_its_end(client: httpx.AsyncClient, served: Served) -> None:
    process = await start(client, "printf 'name? '; read x; echo hello $x; stty size; exit 3")
    async with dial(served, process) as socket:
        screen = Screen(socket)
        await screen.sees(b"name? ")
        assert screen.frames == [{"type": "ready", "processId": process}]
        await socket.send(json.dumps({"type": "resize", "cols": 100, "rows": 40}))
        await screen.types("wor")
        await screen.types(base64.b64encode(b"ld\r").decode(), encoding="base64")
        assert await screen.closed() == 1000
    assert screen.shown.endswith(b"hello world\r\n40 100\r\n")
    assert screen.frames[1:] == [{"type": "exit", "exitCode": 3}]


async def test_who_comes_back_sees_the_screen_again_and_the_process_went_on(
    client: httpx.AsyncClient, served: Served
) -> None:
    process = await start(client, "echo first; read x; echo second $x; read x; echo third $x")
    async with dial(served, process) as socket:
        screen = Screen(socket)
        await screen.sees(b"first")
        await screen.types("a\r")
        await screen.sees(b"second a")
        await socket.send(json.dumps({"type": "close"}))
        assert await screen.closed() == 1000
    async with dial(served, process) as one, dial(served, process) as two:
        both = [Screen(one), Screen(two)]
        for screen in both:
            await screen.sees(b"second a\r\n")
            assert screen.shown.startswith(b"first\r\n")
        await both[0].types("b\r")
        for screen in both:
            await screen.sees(b"third b")
    async with dial(served, process) as late:
        screen = Screen(late)
        assert await screen.closed() == 1000
        assert screen.shown.endswith(b"third b\r\n")
        assert screen.frames[-1] == {"type": "exit", "exitCode": 0}


async def test_a_program_with_the_whole_screen_is_asked_to_draw_it_anew(
    client: httpx.AsyncClient, served: Served
) -> None:
    script = "trap 'echo drawn anew' WINCH; printf '\\033[?1049hscreen\\n'; while :; do sleep 0.05; done"
    process = await start(client, script)
    async with dial(served, process) as socket:
        await Screen(socket).sees(b"screen")
    async with dial(served, process) as socket:
        await Screen(socket).sees(b"drawn anew")


async def test_frames_that_cannot_be_used_are_told_and_the_terminal_goes_on(
    client: httpx.AsyncClient, served: Served
) -> None:
    process = await start(client, "cat")
    async with dial(served, process) as socket:
        screen = Screen(socket)
        bad: list[str | bytes] = [
            b"binary",
            "no json",
            '{"type":"dance"}',
            '{"type":"input","data":"!!","encoding":"base64"}',
            '{"type":"resize","cols":0,"rows":5}',
            json.dumps({"type": "input", "data": "x" * 70_000}),
        ]
        for frame in bad:
            await socket.send(frame)
        await screen.until(lambda seen: len(seen.frames) == 1 + len(bad))
        assert {frame["type"] for frame in screen.frames[1:]} == {"error"}
        await screen.types("still here\r")
        await screen.sees(b"still here\r\nstill here\r\n")


async def test_a_lot_of_output_comes_whole_and_in_order(client: httpx.AsyncClient, served: Served) -> None:
    process = await start(client, "read x; seq 1 100000; echo end")
    async with dial(served, process) as socket:
        screen = Screen(socket)
        await screen.types("\r")
        assert await screen.closed() == 1000
    lines = screen.shown.replace(b"\r\n", b"\n").split(b"\n")
    at = lines.index(b"1")
    assert lines[at : at + 100_000] == [b"%d" % number for number in range(1, 100_001)]


async def test_a_socket_to_nothing_is_refused_as_a_problem(client: httpx.AsyncClient, served: Served) -> None:
    plain = await start(client, "sleep 300", tty=False)
    terminal = await start(client, "sleep 300")
    assert (await client.get(f"/v1/processes/{terminal}/terminal/ws")).status_code == 400
    for process, token, status in (("nope", TOKEN, 404), (plain, TOKEN, 409), (terminal, "wrong", 401)):
        with pytest.raises(InvalidStatus) as caught:
            async with dial(served, process, token):
                pass
        assert caught.value.response.status_code == status
        assert caught.value.response.headers["content-type"] == PROBLEM


async def test_a_client_that_vanishes_leaves_the_process_running(client: httpx.AsyncClient, served: Served) -> None:
    process = await start(client, "echo on; sleep 300")
    async with dial(served, process) as socket:
        await Screen(socket).sees(b"on")
        socket.transport.abort()
    assert (await client.get(f"/v1/processes/{process}")).json()["status"] == "running"
