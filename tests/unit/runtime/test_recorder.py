"""The recorder: raw lines reach the store in order, nothing waits for it, and what is missing is said."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from footplate.errors import StoreFailed, StoreFull
from footplate.events.ids import SessionId
from footplate.events.reduce import SessionReducer
from footplate.runtime import recorder as recorders
from footplate.runtime.line_tap import Sink
from footplate.runtime.log import SessionLog
from footplate.runtime.recorder import Recorder
from footplate.runtime.surroundings import Surroundings
from footplate.store.base import Store
from footplate.store.memory import MemoryStore
from footplate.store.sqlite import SqliteStore
from footplate.store.values import Frame, FrameQuery, RawLines
from tests.unit.runtime.gates import Gate

S1, S2 = SessionId("s1"), SessionId("s2")


class FrameStore(MemoryStore):
    """A memory store whose appends of raw lines a test holds up or lets fail."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()

    async def append_frames(self, session: SessionId, chunks: Sequence[RawLines]) -> int:
        await self.gate.walk()
        return await super().append_frames(session, chunks)


@pytest.fixture
async def store() -> AsyncIterator[FrameStore]:
    async with FrameStore() as made:
        for session in (S1, S2):
            await made.claim(session)
        yield made


@pytest.fixture
async def recorder(store: FrameStore, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Recorder]:
    monkeypatch.setattr(recorders, "FLUSH_S", 0.01)
    monkeypatch.setattr(recorders, "RETRY_S", 0.01)
    monkeypatch.setattr(recorders, "CLOSE_S", 0.3)
    made = Recorder(store, Surroundings())
    yield made
    store.gate.open()
    await made.close()


def sink_of(recorder: Recorder, store: Store, session: SessionId) -> Sink:
    sink = recorder.sink(SessionLog(store, session, SessionReducer(), Surroundings()))
    assert sink is not None
    return sink


async def read(store: MemoryStore, session: SessionId) -> tuple[Frame, ...]:
    return (await store.read_frames(session, FrameQuery(limit=100_000))).frames


async def until(condition: object) -> None:
    async with asyncio.timeout(10):
        while not condition():  # type: ignore[operator]  # noqa: ASYNC110 - the recorder has no event
            await asyncio.sleep(0.005)


async def test_lines_are_stored_in_order_under_their_session(recorder: Recorder, store: FrameStore) -> None:
    one, two = sink_of(recorder, store, S1), sink_of(recorder, store, S2)
    for number in range(50):
        one.record("in", b"one %d\n" % number)
        two.record("err" if number % 2 else "out", b"two %d\n" % number)
    await recorder.close()
    assert [frame.raw for frame in await read(store, S1)] == [b"one %d" % number for number in range(50)]
    assert [(frame.direction, frame.raw) for frame in (await read(store, S2))[:2]] == [
        ("out", b"two 0"),
        ("err", b"two 1"),
    ]


async def test_lines_are_stored_soon_without_anybody_asking(recorder: Recorder, store: FrameStore) -> None:
    sink_of(recorder, store, S1).record("in", b"hello\n")
    await until(lambda: store._logs[S1].frames)
    await until(lambda: not recorder._working)
    sink_of(recorder, store, S1).record("in", b"again\n")
    await until(lambda: len(store._logs[S1].frames) == 2)


async def test_the_end_of_an_agent_does_not_wait_for_a_batch(
    recorder: Recorder, store: FrameStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorders, "FLUSH_S", 3600.0)
    sink = sink_of(recorder, store, S1)
    sink.record("in", b"last words\n")
    sink.finish()
    await until(lambda: store._logs[S1].frames)


async def test_a_recorder_that_falls_behind_drops_the_oldest_and_says_so(
    recorder: Recorder, store: FrameStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorders, "MEMORY_BYTES", 100_000)
    store.gate.shut()
    sink = sink_of(recorder, store, S1)
    sink.record("in", b"first\n")
    await store.gate.reached.wait()
    for number in range(1_000):
        sink.record("in", b"%6d " % number + b"x" * 992 + b"\n")
    assert recorder._size <= 100_000
    store.gate.open()
    await recorder.close()
    frames = await read(store, S1)
    assert frames[0].raw == b"first"
    gap = json.loads(frames[1].raw)
    assert (frames[1].direction, gap["bytes"]) == ("gap", gap["lines"] * 1_000)
    assert [int(frame.raw[:6]) for frame in frames[2:]] == list(range(gap["lines"], 1_000))
    assert len(frames) > 50


async def test_a_store_that_refuses_for_a_while_loses_nothing(
    recorder: Recorder, store: FrameStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.gate.problem = StoreFull("here", "no space")
    sink = sink_of(recorder, store, S1)
    sink.record("in", b"one\n")
    await until(lambda: store.gate.calls > 2)
    sink.record("in", b"two\n")
    store.gate.problem = None
    await until(lambda: len(store._logs[S1].frames) == 2)
    assert [frame.raw for frame in await read(store, S1)] == [b"one", b"two"]
    assert len([record for record in caplog.records if "raw lines cannot be stored" in record.message]) == 1


async def test_lines_that_cannot_be_stored_are_said_to_be_missing_and_those_of_others_are_stored(
    recorder: Recorder, store: FrameStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.gate.problem = LookupError("not what a store says")
    one, two = sink_of(recorder, store, S1), sink_of(recorder, store, S2)
    for number in range(5):
        one.record("in", b"one %d\n" % number)
        two.record("in", b"two %d\n" % number)
    await until(lambda: store.gate.calls > 6)
    store.gate.problem = None
    await until(lambda: not recorder._working)
    one.record("in", b"one more\n")
    await recorder.close()
    gap, *rest = await read(store, S1)
    assert (gap.direction, json.loads(gap.raw)) == ("gap", {"lines": 5, "bytes": 30})
    assert [frame.raw for frame in rest] == [b"one more"]
    assert [(frame.direction, json.loads(frame.raw)["lines"]) for frame in await read(store, S2)] == [("gap", 5)]
    assert len([record for record in caplog.records if "raw lines cannot be stored" in record.message]) == 1


async def test_a_failing_search_for_secrets_costs_its_own_session_the_lines_and_no_other(
    recorder: Recorder, store: FrameStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hide(chunk: RawLines) -> RawLines:
        if b"poison" in chunk.lines:
            raise ValueError("cannot be searched")
        return chunk

    monkeypatch.setattr(recorders, "hide_secrets", hide)
    one, two = sink_of(recorder, store, S1), sink_of(recorder, store, S2)
    for number in range(5):
        one.record("in", b"poison\n" if number == 3 else b"good\n")
        two.record("in", b"two %d\n" % number)
    await recorder.close()
    (gap,) = await read(store, S1)
    assert (gap.direction, json.loads(gap.raw)["lines"]) == ("gap", 5)
    assert [frame.raw for frame in await read(store, S2)] == [b"two %d" % number for number in range(5)]


async def test_lines_that_are_not_utf_8_are_stored_as_they_came(recorder: Recorder, store: FrameStore) -> None:
    lines = [b'{"id":1,"result":{"message":"see http://x/ caf\xe9"}}', b'{"type":"\xff"}', b"\xff\xfe"]
    sink_of(recorder, store, S1).record("in", b"\n".join(lines) + b"\n")
    sink_of(recorder, store, S2).record("in", b"two\n")
    await recorder.close()
    assert [frame.raw for frame in await read(store, S1)] == lines
    assert [frame.raw for frame in await read(store, S2)] == [b"two"]


async def test_a_store_that_failed_for_good_is_left_alone(recorder: Recorder, store: FrameStore) -> None:
    store.gate.problem = StoreFailed("here", "broken")
    sink = sink_of(recorder, store, S1)
    sink.record("in", b"one\n")
    await until(lambda: recorder._off)
    sink.record("in", b"two\n")
    assert not recorder._pending
    await recorder.close()
    assert store.gate.calls == 1


async def test_the_lines_of_a_deleted_session_go_with_it(
    recorder: Recorder, store: FrameStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    one, two = sink_of(recorder, store, S1), sink_of(recorder, store, S2)
    one.record("in", b"gone\n")
    two.record("in", b"stays\n")
    await store.delete_session(S1)
    await recorder.close()
    assert [frame.raw for frame in await read(store, S2)] == [b"stays"]
    assert caplog.records == []


async def test_the_end_of_the_service_does_not_wait_for_a_store_that_hangs(
    recorder: Recorder, store: FrameStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.gate.shut()
    sink_of(recorder, store, S1).record("in", b"one\n")
    async with asyncio.timeout(5):
        await recorder.close()
    assert "raw lines" in caplog.text


async def test_secrets_are_hidden_before_a_line_is_stored(recorder: Recorder, store: FrameStore) -> None:
    sink_of(recorder, store, S1).record("out", b'{"mcpServers":{"a":{"headers":{"Authorization":"Bearer S"}}}}\n')
    await recorder.close()
    (frame,) = await read(store, S1)
    assert frame.raw == b'{"mcpServers":{"a":{"headers":{"Authorization":"***"}}}}'


@pytest.mark.parametrize("line", [b"\n", b"x\n", b"token\n", b"an error of foo.py:12\n"])
async def test_a_flood_of_short_lines_does_not_hold_up_the_loop(
    tmp_path: Path, line: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorders, "CLOSE_S", 60.0)
    count = 240 * 1024 // len(line)
    async with await SqliteStore.open(tmp_path) as store:
        await store.claim(S1)
        recorder = Recorder(store, Surroundings())
        sink = sink_of(recorder, store, S1)
        sink.record("err", b'{"result":1}\n' + line * count)
        sink.record("in", b'{"result":1}\n' + line * count)
        closing = asyncio.ensure_future(recorder.close())
        longest = 0.0
        while not closing.done():
            begun = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - begun)
        page = await store.read_frames(S1, FrameQuery(limit=2, after=count))
    assert longest < 0.1
    assert page.last == 2 * (count + 1)
    assert [(frame.direction, frame.raw) for frame in page.frames] == [("err", line[:-1]), ("in", b'{"result":1}')]


async def test_much_volume_is_reported_to_retention(
    recorder: Recorder, store: FrameStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorders, "HURRY_BYTES", 1_000)
    reports: list[int] = []
    recorder.on_volume = lambda: reports.append(1)
    sink = sink_of(recorder, store, S1)
    for _ in range(5):
        sink.record("in", b"x" * 300 + b"\n")
    await until(lambda: reports)
    assert reports == [1]


async def test_a_recorder_that_is_off_gives_no_sink(store: FrameStore) -> None:
    recorder = Recorder(store, Surroundings(), enabled=lambda: False)
    assert recorder.sink(SessionLog(store, S1, SessionReducer(), Surroundings())) is None
