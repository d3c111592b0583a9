"""The store in SQLite, beyond what every store must do: its file, its threads, its copies."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplate.errors import CursorLost, InvalidValue, LockHeld, StoreClosed, StoreError, StoreFailed
from footplate.events import model as m
from footplate.events.ids import SessionId
from footplate.store.base import Store
from footplate.store.conformance.scene import OTHER, SESSION, ManualClock, begin, envelope, notices, story, within
from footplate.store.memory import MemoryStore
from footplate.store.projection import RequestRow, SessionRow
from footplate.store.sqlite import SqliteStore, heads, journal, transaction
from footplate.store.sqlite.vacuum import vacuum
from footplate.store.values import FrameQuery, Lease, Message, RawLines, Retained, RetentionPolicy
from tests.unit.store.events import EVENTS, number

NEVER = 3_600.0


async def test_everything_is_there_after_opening_again(tmp_path: Path) -> None:
    clock = ManualClock()
    async with await SqliteStore.open(tmp_path, clock=clock) as store:
        await store.claim(SESSION)
        await store.append(SESSION, 1, 0, story())
        await store.append_frames(SESSION, [RawLines("in", 1.0, 1, b"raw\n")])
        await store.journal("c").append([b"sent"])
        version = await store.documents("n").put("k", b"v")
        put = await store.queue("q").put(b"work", key="once")
        before = await store.read(SESSION), await store.projections.sessions(), await store.projections.requests()
    async with await SqliteStore.open(tmp_path, clock=clock) as store:
        assert (
            await store.read(SESSION),
            await store.projections.sessions(),
            await store.projections.requests(),
        ) == before
        assert await store.claim(SESSION) == Lease(SESSION, 2, 9)
        assert [frame.raw for frame in (await store.read_frames(SESSION, FrameQuery())).frames] == [b"raw"]
        assert await store.journal("c").append([b"more"]) == 2
        assert await store.documents("n").put("k", b"v2", expect=version) > version
        assert await store.queue("q").claim() == [Message(id=put.id, body=b"work", attempts=1, key="once")]


async def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    async with await SqliteStore.open(folder):
        modes = {entry.name: oct(entry.stat().st_mode & 0o777) for entry in folder.iterdir()}
        assert modes == dict.fromkeys(("store.db", "store.db-shm", "store.db-wal", "store.lock"), "0o600")
        assert oct(folder.stat().st_mode & 0o777) == "0o700"


async def test_a_folder_has_one_store_at_a_time(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path):
        with pytest.raises(LockHeld, match=r"the data folder .* is held by another Footplate \(pid \d+\)"):
            await SqliteStore.open(tmp_path)
    await (await SqliteStore.open(tmp_path)).close()


async def test_closing_finishes_what_was_asked(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path, sync_period_s=NEVER)
    await begin(store)
    calls = [
        asyncio.create_task(store.append(SESSION, 1, place, notices(place + 1, 1), durable=place % 2 == 0))
        for place in range(50)
    ]
    await asyncio.sleep(0)
    closing = asyncio.create_task(store.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.gather(closing, return_exceptions=True)
    await store.close()
    assert await asyncio.gather(*calls) == list(range(1, 51))
    with pytest.raises(StoreClosed):
        await store.sync()


async def test_an_order_that_cannot_be_done_does_not_hurt_its_group(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path) as store:
        await begin(store)
        results = await asyncio.gather(
            store.append(SESSION, 1, 0, notices(1, 1)),
            store.documents("n").put("a lone \ud800", b""),
            store.append(SESSION, 1, 1, notices(2, 1), durable=True),
            store.read(SESSION, 2**70),
            return_exceptions=True,
        )
        assert [result if isinstance(result, int) else type(result) for result in results] == [
            1,
            InvalidValue,
            2,
            InvalidValue,
        ]
        assert (await store.last_seq(SESSION), store.failed) == (2, None)


async def test_more_sessions_than_are_kept_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "KEPT", 2)
    async with await SqliteStore.open(tmp_path) as store:
        names = [SessionId(f"s{place}") for place in range(5)]
        for name in names:
            await begin(store, session=name)
        for place in range(0, 6, 2):
            first = [store.append(name, 1, place, story(name)[place : place + 1]) for name in names]
            second = [store.append(name, 1, place + 1, story(name)[place + 1 : place + 2]) for name in names]
            assert await asyncio.gather(*first, *second) == [place + 1] * 5 + [place + 2] * 5
        before = await store.projections.sessions()
        assert await store.rebuild_projections() == 5
        assert await store.projections.sessions() == before


# ------------------------------------------------------------------------------------------------ the index


Rows = tuple[tuple[SessionRow, ...], tuple[RequestRow, ...]]


async def rows_of(store: Store) -> Rows:
    return (await store.projections.sessions()).items, (await store.projections.requests()).items


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.lists(EVENTS, min_size=1, max_size=5)), max_size=12), st.booleans())
def test_the_index_is_what_folding_anew_gives(appends: list[tuple[int, list[m.Event]]], together: bool) -> None:
    async def play(store: Store) -> tuple[Rows, Rows]:
        names = [SessionId(f"s{place}") for place in range(3)]
        logs: dict[SessionId, list[m.Event]] = {name: [] for name in names}
        for name in names:
            await store.claim(name)
        calls = []
        for place, events in appends:
            log = logs[names[place]]
            log += events
            start = len(log) - len(events)
            calls.append(store.append(names[place], 1, start, number(names[place], log)[start:]))
        if together:
            await asyncio.gather(*calls)
        else:
            for call in calls:
                await call
        grown = await rows_of(store)
        await store.rebuild_projections()
        return grown, await rows_of(store)

    async def run() -> tuple[tuple[Rows, Rows], tuple[Rows, Rows]]:
        with tempfile.TemporaryDirectory() as folder:
            async with await SqliteStore.open(folder) as store, MemoryStore() as memory:
                return await play(store), await play(memory)

    (grown, rebuilt), (in_memory, _) = asyncio.run(run())
    assert grown == rebuilt == in_memory


async def test_the_index_is_folded_anew_beside_running_appends(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path) as store:
        await begin(store)

        async def write() -> None:
            for place in range(0, 400, 2):
                await store.append(SESSION, 1, place, notices(place + 1, 2))

        writing = asyncio.create_task(write())
        while not writing.done():
            await store.rebuild_projections()
        await writing
        row = await store.projections.session(SESSION)
        assert row == SessionRow(session=SESSION, epoch=1, last_seq=400, updated_at=1_400.0)


# ------------------------------------------------------------------------------------------- copies, upkeep


async def test_a_backup_beside_running_appends_is_a_whole_store(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    async with await SqliteStore.open(tmp_path / "data") as store:
        await begin(store, 200)
        place = 200
        making = asyncio.create_task(store.backup(copy / "store.db"))
        while not making.done():
            place = await store.append(SESSION, 1, place, notices(place + 1, 3))
        assert await making == (copy / "store.db").stat().st_size
        with pytest.raises(InvalidValue, match="a backup replaces nothing"):
            await store.backup(copy / "store.db")
        with pytest.raises(StoreFailed, match="nowhere"):
            await store.backup(tmp_path / "nowhere" / "store.db")
        assert store.failed is None
        assert [entry.name for entry in copy.iterdir()] == ["store.db"]
    async with await SqliteStore.open(copy) as store:
        last = await store.last_seq(SESSION)
        assert 200 <= last <= place
        assert [row.seq for row in await store.read(SESSION, 0, 10_000)] == list(range(1, last + 1))
        assert await store.check() == ()


async def fill_with_noise(store: SqliteStore, lines: int) -> None:
    """Raw lines of 3 KB that cannot be compressed."""
    dice = random.Random(7)
    for _ in range(0, lines, 50):
        noise = b"".join(dice.randbytes(3_000).replace(b"\n", b"") + b"\n" for _ in range(50))
        await store.append_frames(SESSION, [RawLines("in", 1.0, 1, noise)])


async def test_deleting_gives_space_back_in_small_steps(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path) as store:
        await begin(store)
        await begin(store, 5, session=OTHER)
        await fill_with_noise(store, 2_000)
        await store.delete_session(SESSION)
        full = await store.backup(tmp_path / "full")
        steps = 0
        while (done := await store.retain(RetentionPolicy(), 200)).more:
            assert 0 < done.pages <= 200
            steps += 1
        assert 5 <= steps <= full / 4096 / 200
        assert await store.backup(tmp_path / "slim") < full / 3
        assert (await store.check(), await store.last_seq(OTHER)) == ((), 5)


async def test_a_vacuum_makes_the_file_as_small_as_what_it_holds(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path) as store:
        await begin(store, 5, session=OTHER)
        await begin(store)
        await fill_with_noise(store, 200)
        await store.delete_session(SESSION)
        while (await store.retain(RetentionPolicy())).more:
            pass
        with pytest.raises(LockHeld, match="another Footplate"):
            vacuum(tmp_path)
    done = vacuum(tmp_path)
    assert done.after < done.before / 2
    assert done.after == (tmp_path / "store.db").stat().st_size
    async with await SqliteStore.open(tmp_path) as store:
        assert (await store.check(), await store.last_seq(OTHER)) == ((), 5)
    with pytest.raises(StoreError, match="nowhere"):
        vacuum(tmp_path / "nowhere")


async def test_an_import_cut_short_leaves_nothing(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path) as store:
        await begin(store, 1_200)
        lines = [line async for line in store.export(SESSION)]
        await store.delete_session(SESSION)
        reached = asyncio.Event()

        async def slowly() -> AsyncIterator[bytes]:
            for line in lines[:900]:
                yield line
            reached.set()
            await asyncio.Event().wait()

        importing = asyncio.create_task(store.import_(slowly()))
        await within(reached.wait())
        importing.cancel()
        await asyncio.gather(importing, return_exceptions=True)
        assert await store.last_seq(SESSION) == 0
        done = await store.retain(RetentionPolicy(), 10_000)
        assert done.events == 500
        assert await store.import_(lines) == SESSION


# ----------------------------------------------------------------------------------------- large rows go in steps

LARGE = 40 * 4096
"""The size of a row of which a step with a budget of 100 removes three."""


async def retained(store: SqliteStore, policy: RetentionPolicy) -> list[Retained]:
    """The steps until nothing is left to remove, of those that removed rows."""
    steps = [await store.retain(policy, 100)]
    while steps[-1].more:
        steps.append(await store.retain(policy, 100))
    return [step for step in steps if step.events or step.journal]


async def test_large_events_of_a_closed_session_are_removed_a_few_at_a_time(tmp_path: Path) -> None:
    clock = ManualClock(1_000.0)
    large = [envelope(seq, m.Notice(level="info", text="x" * LARGE)) for seq in range(1, 11)]
    async with await SqliteStore.open(tmp_path, clock=clock) as store:
        await begin(store)
        await store.append(SESSION, 1, 0, [*large, envelope(11, m.SessionClosed())])
        clock.now += 1_000
        steps = await retained(store, RetentionPolicy(closed_sessions_age_s=100))
        assert await store.last_seq(SESSION) == 0
    assert [step.events for step in steps] == [3, 3, 3, 2]


async def test_large_entries_of_a_journal_are_removed_a_few_at_a_time_and_no_page_shows_them(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path) as store:
        await store.journal("c").append([b"x" * LARGE] * 10)
        policy = RetentionPolicy(journal_bytes=LARGE)
        first = await store.retain(policy, 100)
        page = await store.journal("c").read()
        steps = [first, *await retained(store, policy)]
    assert [step.journal for step in steps] == [3, 3, 3]
    assert page.lost == (1, 3)
    assert [entry.number for entry in page.entries] == [4, 5, 6, 7, 8, 9, 10]


async def test_a_deleted_journal_with_large_entries_is_purged_a_few_at_a_time(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path) as store:
        await store.journal("c").append([b"x" * LARGE] * 10)
        await store._writer.write(journal._hide, "c", durable=True)
        steps = await retained(store, RetentionPolicy())
    assert [step.journal for step in steps] == [3, 3, 3, 1]


async def test_large_audit_records_are_removed_a_few_at_a_time(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path) as store:
        await store.audit.append([b'{"text":"%s"}' % (b"x" * LARGE)] * 10)
        assert [await store.audit.cut(9, 100) for _ in range(4)] == [3, 3, 3, 0]
        assert (await store.audit.head()).number == 10


# ------------------------------------------------------------------------------------------------ journals


async def test_a_page_of_a_journal_is_found_by_its_index(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path) as store:

        def explain(connection: sqlite3.Connection) -> list[str]:
            return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {journal._PAGE}", ("c", 5, 10))]

        plan = await store._readers.read(explain)
        assert "SEARCH entries USING INDEX entries_by_number (journal=? AND number>?)" in plan
        assert not [line for line in plan if "TEMP B-TREE" in line or line.startswith("SCAN entries")]


async def test_a_deleted_journal_is_purged_when_the_store_died_meanwhile(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path) as store:
        await store.journal("c").append([b"x"] * 1_200)
        await store._writer.write(journal._hide, "c", durable=True)
    async with await SqliteStore.open(tmp_path) as store:
        assert await store.journal("c").append([b"new"]) == 1
        steps = [await store.retain(RetentionPolicy(), 500) for _ in range(4)]
        assert [step.journal for step in steps] == [500, 500, 200, 0]
        assert (await store.journal("c").read()).last == 1


async def test_more_journals_than_are_kept_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction, "JOURNALS_KEPT", 2)
    async with await SqliteStore.open(tmp_path) as store:
        for round_ in range(3):
            calls = [store.journal(f"c{place}").append([b"a", b"b"]) for _ in range(2) for place in range(5)]
            assert await asyncio.gather(*calls) == [4 * round_ + 2] * 5 + [4 * round_ + 4] * 5


# ---------------------------------------------------------------------------------------------- durability


def copy_folder(source: Path, target: Path) -> None:
    """By another process: to close a file that SQLite has open here would drop its locks."""
    subprocess.run(["cp", "-r", source, target], check=True)


async def test_a_power_cut_takes_nothing_that_was_durable_and_leaves_no_hole(tmp_path: Path) -> None:
    """The write-ahead log is cut anywhere behind what was synced, as a disk may leave it."""
    dice = random.Random(7)
    source = tmp_path / "source"
    wal = source / "store.db-wal"
    async with await SqliteStore.open(source, sync_period_s=NEVER) as store:
        await begin(store)
        for place in range(20):
            await store.append(SESSION, 1, place, notices(place + 1, 1), durable=place == 19)
        synced = wal.stat().st_size
        for place in range(20, 60):
            await store.append(SESSION, 1, place, notices(place + 1, 1))
        end = wal.stat().st_size
        copy_folder(source, tmp_path / "cut")
    assert synced < end
    found = set()
    for round_ in range(12):
        folder = tmp_path / f"round {round_}"
        copy_folder(tmp_path / "cut", folder)
        (folder / "store.db-shm").unlink()
        kept = dice.randint(synced, end)
        with (folder / "store.db-wal").open("r+b") as file:
            file.truncate(kept)
            file.seek(end + dice.choice((0, 4096)))
            file.write(b"\0" * 100 if round_ % 2 else dice.randbytes(100))
        async with await SqliteStore.open(folder) as store:
            last = await store.last_seq(SESSION)
            found.add(last)
            assert 20 <= last <= 60
            assert [row.seq for row in await store.read(SESSION)] == list(range(1, last + 1))
            row = await store.projections.session(SESSION)
            assert row is not None
            assert row.last_seq == last
            if last < 60:
                lease = await store.claim(SESSION)
                with pytest.raises(CursorLost):
                    await store.read(SESSION, 60)
                await store.append(SESSION, 2, last, notices(last + 1, 50, epoch=lease.epoch))
                with pytest.raises(CursorLost):
                    await store.read(SESSION, 60, epoch=1)
    assert len(found) > 3
