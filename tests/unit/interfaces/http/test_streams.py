"""Event streams: shared chunks, cursors, what a slow reader gets, heartbeats, the end of the server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect
from websockets.asyncio.client import connect

from footplate.config.settings import HttpSettings, Settings
from footplate.errors import StoreClosed
from footplate.interfaces.http.api import Api
from footplate.interfaces.http.app import App
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.guard import Doors, Guard
from footplate.interfaces.http.routing import Routes, RouteTable
from footplate.interfaces.http.serving import bind, listen
from footplate.interfaces.http.sse import EventStream, Fan, Numbered, frame
from footplate.runtime.access import TokenRequest
from tests.unit.interfaces.http.served import TOKEN, serve


def test_an_event_on_the_wire_has_its_name_its_number_and_one_line_of_data() -> None:
    assert frame(b'{"a":1}', event="message", cursor=7) == b'event: message\nid: 7\ndata: {"a":1}\n\n'
    assert frame(b"1") == b"data: 1\n\n"


async def test_every_reader_of_a_fan_gets_the_same_chunks_from_its_cursor_on() -> None:
    fan = Fan()
    for text in (b"a", b"b", b"c"):
        fan.publish(text)
    all_of_it, rest = fan.feed(0), fan.feed(2)
    assert await all_of_it.next() == [b"a", b"b", b"c"]
    assert await rest.next() == [b"c"]
    chunk = b"d" * 10
    fan.publish(chunk)
    first, second = await all_of_it.next(), await rest.next()
    assert first[0] is chunk
    assert second[0] is chunk
    fan.close()
    assert await all_of_it.next() == ()
    assert await fan.feed(3).next() == [chunk]


async def test_a_reader_beyond_what_is_kept_reads_on_from_where_older_chunks_are_or_is_cut() -> None:
    async def older(after: int) -> Sequence[bytes | Numbered]:
        return [b"gap", *(Numbered(n, b"old%d" % n) for n in range(max(after + 1, 3), 5))]

    fan = Fan(kept_bytes=8, older=older)
    for n in range(1, 9):
        fan.publish(b"new%d" % n)
    reader = fan.feed(0)
    assert await reader.next() == [b"gap", b"old3", b"old4"]
    assert await reader.next() == [b"gap"]
    assert await reader.next() == [b"new7", b"new8"]

    forgetful = Fan(kept_bytes=8)
    for n in range(1, 9):
        forgetful.publish(b"new%d" % n)
    assert await forgetful.feed(0).next() == ()
    assert await forgetful.feed(6).next() == [b"new7", b"new8"]


def _app(api: Api, fan: Fan, ended: asyncio.Event) -> App:
    routes = Routes("streams")

    @routes.get("/stream", scope="read", summary="A stream")
    async def stream(call: Call) -> object:
        written = EventStream(call, fan.feed(0))

        async def write(scope: Scope, receive: Receive, send: Send) -> None:
            await written(scope, receive, send)
            ended.set()

        return write

    return App(api, RouteTable(routes.all), Guard(Doors(), api.access))


async def _connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=1024)
    writer.write(f"GET /stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\r\n".encode())
    return reader, writer


async def test_a_silent_stream_says_that_it_lives_and_ends_with_the_server(tmp_path: Path) -> None:
    fan, ended = Fan(), asyncio.Event()
    async with serve(tmp_path, Settings(http=HttpSettings(heartbeat_s=0.05))) as served:
        async with listen(_app(served.api, fan, ended), served.api, bind("127.0.0.1", 0)) as listening:
            reader, writer = await _connect(listening.url)
            async with asyncio.timeout(30):
                await reader.readuntil(b": heartbeat\n\n")
                fan.publish(frame(b"1", cursor=1))
                await reader.readuntil(b"data: 1\n\n")
                assert served.api.meters.streams == 1
                listening.stop()
                rest = await reader.read()
            assert rest.endswith(b"0\r\n\r\n")
            writer.close()
            await writer.wait_closed()
        assert served.api.meters.streams == 0


@pytest.mark.long
async def test_a_reader_that_takes_nothing_is_cut_and_nobody_else_notices(tmp_path: Path) -> None:
    fan, cut = Fan(kept_bytes=64_000_000), asyncio.Event()
    limits = Settings(http=HttpSettings(heartbeat_s=0.2, stall_s=3))
    async with (
        serve(tmp_path, limits) as served,
        listen(_app(served.api, fan, cut), served.api, bind("127.0.0.1", 0)) as listening,
    ):
        _, slow_writer = await _connect(listening.url)
        quick, quick_writer = await _connect(listening.url)
        for _ in range(30):
            fan.publish(frame(b"x" * 1_000_000))
        size = 0
        async with asyncio.timeout(50):
            while size < 30_000_000:
                size += len(await quick.read(1_000_000))
            await cut.wait()
        assert (served.api.meters.streams_cut, served.api.meters.streams) == (1, 1)
        for writer in (slow_writer, quick_writer):
            writer.transport.abort()


async def test_a_stream_that_breaks_is_cut_off_and_told_to_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        async def next(self) -> Sequence[bytes]:
            raise StoreClosed("here")

        def close(self) -> None:
            pass

    routes = Routes("streams")

    @routes.get("/stream", scope="read", summary="A stream")
    async def stream(call: Call) -> object:
        return EventStream(call, Broken())

    async with serve(tmp_path) as served:
        app = App(served.api, RouteTable(routes.all), Guard(Doors(), served.api.access))
        async with listen(app, served.api, bind("127.0.0.1", 0)) as listening:
            reader, writer = await _connect(listening.url)
            async with asyncio.timeout(30):
                try:
                    said = await reader.read()
                except ConnectionResetError:
                    said = b""
            writer.close()
    assert not said.endswith(b"0\r\n\r\n"), "it must not look whole"
    assert "broke while it was answered" in caplog.text


async def test_a_caller_who_hangs_up_as_we_do_is_no_error_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    routes, left = Routes("sockets"), asyncio.Event()

    @routes.socket("/socket", scope=None, summary="A socket")
    async def socket(call: Call) -> None:
        await call.socket.accept()
        await left.wait()
        raise WebSocketDisconnect(1006)  # what the library makes of a close that finds nobody

    async with serve(tmp_path) as served, asyncio.timeout(30):
        app = App(served.api, RouteTable(routes.all), Guard(Doors(), served.api.access))
        async with listen(app, served.api, bind("127.0.0.1", 0)) as listening:
            async with connect(listening.url.replace("http", "ws", 1) + "/socket"):
                before = served.api.meters.running
            left.set()
            while served.api.meters.running >= before:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    assert before == 1
    assert "broke" not in caplog.text


async def test_what_a_token_opened_ends_when_it_is_revoked(tmp_path: Path) -> None:
    async with serve(tmp_path) as served, asyncio.timeout(30):
        issued = await served.api.access.issue(TokenRequest(name="guest", scopes=("drive",)))
        async with served.client(issued.token) as guest, served.client() as owner:
            made = (await guest.post("/api/sessions", json={"engine": "mock", "cwd": str(served.work)})).json()["id"]
            address = served.url.replace("http", "ws", 1) + f"/api/sessions/{made}/ws"
            async with (
                guest.stream("GET", "/api/events") as stream,
                owner.stream("GET", "/api/events") as other,
                connect(address, additional_headers={"authorization": f"Bearer {issued.token}"}) as socket,
            ):
                assert (stream.status_code, other.status_code) == (200, 200)
                assert (await owner.delete(f"/api/tokens/{issued.record.id}")).status_code == 204
                assert [line async for line in stream.aiter_lines()]
                assert [message async for message in socket]
                assert (await guest.get("/api/info")).status_code == 401
                assert served.api.meters.streams == 1, "that of the owner goes on"
