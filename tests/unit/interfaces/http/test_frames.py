"""`GET /api/sessions/{id}/frames`: raw lines by the page, for callers that may drive, without a change of anything."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import httpx
import msgspec
import pytest

from footplate.config.retention import RetentionSettings
from footplate.config.settings import Settings
from footplate.events.ids import SessionId
from footplate.events.model import SessionOpened
from footplate.interfaces.http.frames import FrameLine
from footplate.store.conformance.scene import envelope
from footplate.store.memory import MemoryStore
from footplate.store.values import FrameQuery, RawLines
from tests.unit.interfaces.http.reading import Json, get, post, run_turn
from tests.unit.interfaces.http.served import Served, serve

ID = SessionId("01J0SESSION")


async def frames_of(client: httpx.AsyncClient, session: str, **query: object) -> Json:
    return await get(client, f"/api/sessions/{session}/frames", **query)


async def until_stored(client: httpx.AsyncClient, session: str, text: str) -> Json:
    """The page once a line with this text is in it."""
    async with asyncio.timeout(10):
        while True:
            page = await frames_of(client, session, limit=5000)
            if any(text in frame["raw"] for frame in page["frames"]):
                return page
            await asyncio.sleep(0.05)


async def test_a_turn_leaves_its_raw_lines_in_both_directions(client: httpx.AsyncClient, served: Served) -> None:
    session = (await post(client, "/api/sessions", 201, engine="mock", cwd=str(served.work)))["id"]
    await run_turn(client, session, "hello")
    page = await until_stored(client, session, '"stopReason":"end_turn"')
    frames = page["frames"]
    assert [frame["number"] for frame in frames] == list(range(1, len(frames) + 1))
    assert (page["first"], page["last"], page["cursor"], page["more"]) == (1, len(frames), len(frames), False)
    types = [(frame["direction"], frame["type"]) for frame in frames]
    assert types[0] == ("out", "initialize")
    assert ("out", "session/prompt") in types
    assert ("in", "session/update agent_message_chunk") in types
    assert [frame["seq"] for frame in frames] == sorted(frame["seq"] for frame in frames)
    prompt = next(frame for frame in frames if frame["type"] == "session/prompt")
    assert prompt["size"] == len(prompt["raw"].encode())
    assert prompt["cut"] is False


@pytest.fixture
async def stored() -> MemoryStore:
    store = MemoryStore()
    lines = b"".join(b'{"type":"stream_event","n":%d}\n' % number for number in range(1, 10))
    await store.claim(ID)
    await store.append_frames(ID, [RawLines("in", 5.0, 3, lines), RawLines("err", 6.0, 3, b"a warning\n")])
    await store.append_frames(ID, [RawLines("in", 7.0, 4, b'{"type":"assis\n', 9_000)])
    await store.documents("sessions").put(ID, b'{"engine":"mock","cwd":"/"}')
    return store


async def seed(store: MemoryStore) -> None:
    """Give the session a log: one without an event is unknown."""
    await store.append(ID, 1, 0, [envelope(1, SessionOpened(engine="mock", cwd="/"), session=ID)])


async def test_pages_go_either_way_and_take_one_direction_alone(tmp_path: Path, stored: MemoryStore) -> None:
    await seed(stored)
    async with serve(tmp_path, store=stored) as served, served.client() as client:
        first = await frames_of(client, ID, limit=4)
        assert [frame["number"] for frame in first["frames"]] == [1, 2, 3, 4]
        assert (first["cursor"], first["more"]) == (4, True)
        rest = await frames_of(client, ID, after=first["cursor"])
        assert ([frame["number"] for frame in rest["frames"]], rest["more"]) == (list(range(5, 12)), False)
        newest = await frames_of(client, ID, order="newest", limit=2)
        assert ([frame["number"] for frame in newest["frames"]], newest["more"]) == ([11, 10], True)
        older = await frames_of(client, ID, order="newest", limit=2, before=newest["cursor"])
        assert [frame["number"] for frame in older["frames"]] == [9, 8]
        (error,) = (await frames_of(client, ID, direction="err"))["frames"]
        assert (error["type"], error["raw"], error["time"], error["seq"]) == ("stderr", "a warning", 6.0, 3)
        both = await client.get(f"/api/sessions/{ID}/frames?direction=err&direction=gap&direction=out")
        assert [frame["number"] for frame in both.json()["frames"]] == [10]
        short = (await frames_of(client, ID, chars=5, limit=1))["frames"][0]
        assert (short["raw"], short["size"], short["type"], short["cut"]) == ('{"typ', 29, "stream_event", False)
        cut = (await frames_of(client, ID, after=10))["frames"][0]
        assert (cut["size"], cut["cut"], cut["type"], cut["raw"]) == (9_000, True, "?", '{"type":"assis')
    await stored.close()


async def test_lines_that_are_not_utf_8_are_returned_with_what_can_be_read(tmp_path: Path, stored: MemoryStore) -> None:
    await seed(stored)
    lines = b'{"type":"\xff"}\n{"type":"user","message":{"content":[{"type":"caf\xe9"}]}}\n\xff\n'
    await stored.append_frames(ID, [RawLines("in", 8.0, 4, lines)])
    async with serve(tmp_path, store=stored) as served, served.client() as client:
        frames = (await frames_of(client, ID, after=11))["frames"]
        assert [(frame["type"], frame["raw"]) for frame in frames] == [
            ("?", '{"type":"\ufffd"}'),
            ("user", '{"type":"user","message":{"content":[{"type":"caf\ufffd"}]}}'),
            ("?", "\ufffd"),
        ]
    await stored.close()


async def test_a_large_page_does_not_hold_up_the_loop(tmp_path: Path, stored: MemoryStore) -> None:
    await seed(stored)
    line = b'{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta"}},"n":"%s"}\n'
    await stored.append_frames(ID, [RawLines("in", 8.0, 4, line % (b"x" * 100) * 5_000)])
    frames = (await stored.read_frames(ID, FrameQuery(after=11, limit=5_000))).frames
    before = time.thread_time()
    msgspec.json.encode([FrameLine.of(frame, None) for frame in frames])
    cost = time.thread_time() - before
    longest = cost
    async with serve(tmp_path, store=stored) as served, served.client() as client:
        for _ in range(5):
            reading = asyncio.ensure_future(client.get(f"/api/sessions/{ID}/frames?after=11&limit=5000"))
            held = 0.0
            while not reading.done():
                begun = time.thread_time()
                await asyncio.sleep(0)
                held = max(held, time.thread_time() - begun)
            longest = min(longest, held)
        page = reading.result().json()
    assert longest < cost / 2
    assert [frame["number"] for frame in page["frames"]] == list(range(12, 5_012))
    assert (page["first"], page["last"], page["cursor"], page["more"]) == (1, 5_011, 5_011, False)
    assert {frame["type"] for frame in page["frames"]} == {"stream_event content_block_delta text_delta"}
    await stored.close()


async def test_a_line_is_shortened_by_characters(tmp_path: Path, stored: MemoryStore) -> None:
    await seed(stored)
    texts = ["\U0001f600" * 20, "é" * 20, "a\u20acb" * 20]
    await stored.append_frames(ID, [RawLines("err", 8.0, 4, "".join(f"{text}\n" for text in texts).encode())])
    async with serve(tmp_path, store=stored) as served, served.client() as client:
        for chars in (0, 1, 7, 30):
            frames = (await frames_of(client, ID, after=11, chars=chars))["frames"]
            assert [frame["raw"] for frame in frames] == [text[:chars] for text in texts]
    await stored.close()


async def test_reading_claims_nothing_and_writes_nothing(tmp_path: Path, stored: MemoryStore) -> None:
    await seed(stored)
    async with serve(tmp_path, store=stored) as served, served.client() as client:
        before = (stored._logs[ID].epoch, len(stored._logs[ID].events), stored._logs[ID].last_frame)
        await frames_of(client, ID)
        live = await served.api.hub.get(ID)
        assert live.cold
        assert (stored._logs[ID].epoch, len(stored._logs[ID].events), stored._logs[ID].last_frame) == before
    await stored.close()


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("after=-1", "after: '-1' cannot be used; expected a whole number >= 0"),
        ("before=0", "before: '0' cannot be used; expected a whole number >= 1"),
        ("before=x", "before: 'x' cannot be used; expected a whole number"),
        ("limit=0", "limit: '0' cannot be used; expected a whole number >= 1"),
        ("limit=100000", "limit: '100000' cannot be used; expected a whole number <= 5000"),
        ("direction=in&direction=up", "direction: ['in', 'up'] cannot be used; expected one of in, out, err, gap"),
        ("order=random", "order: 'random' cannot be used; expected one of oldest, newest"),
        ("chars=-1", "chars: '-1' cannot be used; expected a whole number >= 0"),
        ("after=x", "after: 'x' cannot be used; expected a whole number"),
        (f"after={2**63}", f"after: '{2**63}' cannot be used; expected a whole number <= {2**63 - 1}"),
        (f"before={2**80}", f"before: '{2**80}' cannot be used; expected a whole number <= {2**63 - 1}"),
    ],
)
async def test_a_bad_value_is_refused_by_name(tmp_path: Path, stored: MemoryStore, query: str, detail: str) -> None:
    await seed(stored)
    async with serve(tmp_path, store=stored) as served, served.client() as client:
        answer = await client.get(f"/api/sessions/{ID}/frames?{query}")
        assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
        assert answer.json()["detail"].endswith(detail)
    await stored.close()


async def test_raw_lines_need_the_scope_drive_and_a_known_session(client: httpx.AsyncClient, served: Served) -> None:
    session = (await post(client, "/api/sessions", 201, engine="mock", cwd=str(served.work)))["id"]
    answer = await client.get("/api/sessions/01NOBODY/frames")
    assert answer.status_code == 404
    for scopes, status in (((), 401), (("read",), 403), (("answer",), 403), (("drive",), 200)):
        token = (await post(client, "/api/tokens", 201, name="t", scopes=list(scopes)))["token"] if scopes else "none"
        async with served.client(token) as other:
            assert (await other.get(f"/api/sessions/{session}/frames")).status_code == status


async def test_nothing_is_recorded_where_the_operator_does_not_want_it(tmp_path: Path) -> None:
    settings = Settings(retention=RetentionSettings(frames=False))
    async with serve(tmp_path, settings) as served, served.client() as client:
        session = (await post(client, "/api/sessions", 201, engine="mock", cwd=str(served.work)))["id"]
        await run_turn(client, session, "hello")
        await served.api.services.recorder.close()
        page = await frames_of(client, session)
        assert (page["frames"], page["last"]) == ([], 0)
