"""When a commit is made safe from a power cut, and who waits for that."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import aclosing
from pathlib import Path

from footplate.store.conformance.scene import SESSION, begin, notices, take, within
from footplate.store.sqlite import SqliteStore
from footplate.store.sqlite.file import StoreFile

PERIOD_S = 0.05
NEVER = 3_600.0


class GatedFile(StoreFile):
    """A file whose disk syncs only while its gate is open, and counts."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.gate = threading.Event()
        self.gate.set()
        self.syncs = 0
        self.synced = threading.Event()

    def sync(self) -> None:
        assert self.gate.wait(10)
        super().sync()
        self.syncs += 1
        self.synced.set()


async def test_readers_do_not_wait_for_the_disk_and_durable_writers_do(tmp_path: Path) -> None:
    file = GatedFile(tmp_path)
    async with SqliteStore(file, time.time, NEVER) as store, aclosing(store.tail(SESSION)) as tail:
        await begin(store)
        file.gate.clear()
        durable = asyncio.create_task(store.append(SESSION, 1, 0, notices(1, 1), durable=True))
        assert [row.seq for row in await take(tail, 1)] == [1]
        assert await within(store.append(SESSION, 1, 1, notices(2, 1))) == 2
        assert [row.seq for row in await take(tail, 1)] == [2]
        assert not durable.done()
        file.gate.set()
        assert await within(durable) == 1


async def test_durable_writers_share_a_sync(tmp_path: Path) -> None:
    file = GatedFile(tmp_path)
    async with SqliteStore(file, time.time, NEVER) as store:
        await begin(store)
        before = file.syncs
        file.gate.clear()
        calls = [asyncio.create_task(store.append(SESSION, 1, n, notices(n + 1, 1), durable=True)) for n in range(40)]
        while await store.last_seq(SESSION) < 40:
            continue
        file.gate.set()
        assert await within(asyncio.gather(*calls)) == list(range(1, 41))
        assert file.syncs - before <= 2


async def test_what_nobody_waits_for_is_synced_soon_and_then_there_is_rest(tmp_path: Path) -> None:
    file = GatedFile(tmp_path)
    async with SqliteStore(file, time.time, PERIOD_S) as store:
        await begin(store)
        await store.sync()
        file.synced.clear()
        before = file.syncs
        for place in range(5):
            await store.append(SESSION, 1, place, notices(place + 1, 1))
        assert await asyncio.to_thread(file.synced.wait, 10)
        assert 1 <= file.syncs - before <= 5
        await store.sync()
        done = file.syncs
        file.synced.clear()
        assert not await asyncio.to_thread(file.synced.wait, 3 * PERIOD_S)
        assert file.syncs == done
