"""Where a write is carried out: a small one on the loop, at once; what could wait for a disk or a lock in a thread."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from footplate.errors import WrongEpoch, WrongSequence
from footplate.store.conformance.scene import DEADLINE_S, OTHER, SESSION, begin, notices, within
from footplate.store.sqlite import SqliteStore, file, writer

NEVER = 3_600.0
TRIES = 200
ROUNDS = 80


async def append(store: SqliteStore, place: int, count: int = 1) -> bool:
    """Append after that place; whether it was done before the loop could do anything else."""
    passed: list[int] = []
    asyncio.get_running_loop().call_soon(passed.append, place)
    async with asyncio.timeout(DEADLINE_S):
        assert await store.append(SESSION, 1, place, notices(place + 1, count)) == place + count
    return not passed


async def append_until_at_once(store: SqliteStore) -> int:
    """Append until the store has come to rest and does it at once; the place that was reached."""
    for place in range(TRIES):
        await asyncio.sleep(2 * writer.QUIET_S)
        if await append(store, place):
            return place + 1
    raise AssertionError("no append was done at once")


async def test_a_small_append_to_a_store_at_rest_is_done_at_once(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path, sync_period_s=NEVER) as store:
        await begin(store)
        place = await append_until_at_once(store)
        with closing(sqlite3.connect(tmp_path / "store.db")) as stranger:
            assert stranger.execute("SELECT max(seq) FROM events").fetchone() == (place,)


async def test_a_large_append_and_a_crowd_leave_the_loop_free(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path, sync_period_s=NEVER) as store:
        await begin(store)
        place = await append_until_at_once(store)
        await asyncio.sleep(2 * writer.QUIET_S)
        assert not await append(store, place, writer.SMALL // 50)
        crowd = [store.journal(f"j{number}").append([b"x"]) for number in range(writer.FEW + 2)]
        assert await within(asyncio.gather(*crowd)) == [1] * len(crowd)


async def test_the_lock_of_a_stranger_is_waited_for_in_the_thread(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path, sync_period_s=NEVER) as store:
        await begin(store)
        place = await append_until_at_once(store)
        with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as stranger:
            stranger.execute("BEGIN IMMEDIATE")
            await asyncio.sleep(2 * writer.QUIET_S)
            waiting = asyncio.create_task(store.append(SESSION, 1, place, notices(place + 1, 1)))
            await asyncio.sleep(0.02)  # the loop goes on; it would hang for seconds here
            assert not waiting.done()
            stranger.execute("ROLLBACK")
        assert await within(waiting) == place + 1


async def test_the_log_is_folded_into_the_file_by_the_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "CHECKPOINT_PAGES", 40)
    monkeypatch.setattr(writer, "UNFOLDED", 10 * writer.OVERHEAD)
    monkeypatch.setattr(writer, "QUIET_S", 0.0)
    base = tmp_path / "store.db"
    async with await SqliteStore.open(tmp_path, sync_period_s=NEVER) as store:
        await begin(store)
        at_once = folded = 0
        for place in range(ROUNDS):
            before = base.stat().st_mtime_ns
            spot = await append(store, place)
            await asyncio.sleep(0)
            at_once += spot
            if base.stat().st_mtime_ns != before:
                folded += 1
                assert not spot
        assert at_once > ROUNDS / 4
        assert folded
        assert (tmp_path / "store.db-wal").stat().st_size < 400 * 4096


async def test_a_refusal_at_once_is_a_refusal(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path, sync_period_s=NEVER) as store:
        await begin(store)
        place = await append_until_at_once(store)
        await asyncio.sleep(2 * writer.QUIET_S)
        with pytest.raises(WrongSequence):
            await store.append(SESSION, 1, place + 5, notices(place + 6, 1))
        await asyncio.sleep(2 * writer.QUIET_S)
        with pytest.raises(WrongEpoch):
            await store.append(OTHER, 1, 0, notices(1, 1, session=OTHER))
        await append(store, place)
