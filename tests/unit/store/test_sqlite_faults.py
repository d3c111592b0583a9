"""When the disk or the file fails: a clear error, no more writes, and nothing lost that was acknowledged."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from footplate.errors import StoreCorrupt, StoreError, StoreFailed, StoreFull, StoreReadOnly
from footplate.store.conformance.scene import OTHER, SESSION, begin, notices
from footplate.store.sqlite import SqliteStore
from footplate.store.sqlite.faults import translate_fault
from footplate.store.sqlite.file import StoreFile
from footplate.store.values import Lease

BIG = 400_000


async def fill(store: SqliteStore, lease: Lease | None = None) -> tuple[int, StoreError]:
    """Append until the store fails; what was acknowledged, and the error."""
    acknowledged = await store.last_seq(SESSION)
    lease = lease or await store.claim(SESSION)
    while True:
        try:
            events = notices(acknowledged + 1, 200, epoch=lease.epoch)
            acknowledged = await store.append(SESSION, lease.epoch, acknowledged, events)
        except StoreError as error:
            return acknowledged, error


async def assert_stopped(store: SqliteStore, kind: type[StoreFailed], acknowledged: int) -> None:
    """No more writes of any sort, each with the same clear error; what was acknowledged can be read."""
    assert type(store.failed) is kind
    for call in (
        store.append(SESSION, 1, acknowledged, notices(acknowledged + 1, 1)),
        store.claim(OTHER),
        store.documents("n").put("k", b""),
        store.sync(),
    ):
        with pytest.raises(kind):
            await call
    assert await store.last_seq(SESSION) == acknowledged


async def test_a_full_store_refuses_and_keeps_what_it_has_until_there_is_space(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path, max_bytes=BIG) as store:
        acknowledged, error = await fill(store)
        assert str(error) == (
            f"the store {tmp_path / 'store.db'} failed: database or disk is full; "
            "free some space (or raise the store's limit); the store is written again as soon as it can be"
        )
        assert acknowledged > 0
        assert isinstance(why_failed(store), StoreFull)
        assert await store.last_seq(SESSION) == acknowledged
        with pytest.raises(StoreFull):
            await store.append(SESSION, 1, acknowledged, notices(acknowledged + 1, 500))
        raise_limit(store)
        assert await store.append(SESSION, 1, acknowledged, notices(acknowledged + 1, 500), durable=True)
        assert why_failed(store) is None
        assert await store.check() == ()
    async with await SqliteStore.open(tmp_path) as store:
        everything = await store.read(SESSION, 0, 100_000)
        assert [row.seq for row in everything] == list(range(1, acknowledged + 501))


def why_failed(store: SqliteStore) -> StoreFailed | None:
    return store.failed


def raise_limit(store: SqliteStore) -> None:
    store._file.writer.execute("PRAGMA max_page_count = 100000").fetchone()


async def test_everyone_in_the_group_that_failed_is_told(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path, max_bytes=BIG) as store:
        calls = [store.documents("n").put(f"k{place}", b"x" * BIG) for place in range(10)]
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(result) for result in results] == [StoreFull] * 10
        assert len({id(result) for result in results}) == 10


@pytest.fixture
def small_disk() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="footplate-disk-"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True, check=False, text=True
    )
    try:
        if mounted.returncode:
            pytest.skip(f"NOT TESTED: a disk that is really full needs the right to mount ({mounted.stderr.strip()})")
        yield folder
    finally:
        if not mounted.returncode:
            subprocess.run(["umount", folder], check=True)
        folder.rmdir()


def fill_up(filler: Path) -> None:
    """Leave no space on the disk."""
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass


async def test_a_disk_that_is_really_full_and_has_space_again(small_disk: Path) -> None:
    async with await SqliteStore.open(small_disk) as store:
        lease = await begin(store, 10)
        fill_up(small_disk / "filler")
        acknowledged, error = await fill(store, lease)
        assert type(error) is StoreFull
        for call in (
            store.append(SESSION, 1, acknowledged, notices(acknowledged + 1, 1)),
            store.claim(OTHER),
            store.documents("n").put("k", b""),
            store.sync(),
        ):
            with pytest.raises(StoreFull):
                await call
        assert isinstance(why_failed(store), StoreFull)
        assert await store.last_seq(SESSION) == acknowledged
        (small_disk / "filler").unlink()
        events = notices(acknowledged + 1, 100)
        assert await store.append(SESSION, 1, acknowledged, events, durable=True) == acknowledged + 100
        assert why_failed(store) is None
        assert await store.check() == ()
    async with await SqliteStore.open(small_disk) as store:
        assert await store.last_seq(SESSION) == acknowledged + 100


async def test_space_is_noticed_when_nobody_writes(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("footplate.store.sqlite.upkeep.DELAY_S", 0.0)
    async with await SqliteStore.open(small_disk) as store:
        fill_up(small_disk / "filler")
        with pytest.raises(StoreFull):
            await begin(store, 10)
        (small_disk / "filler").unlink()
        async with asyncio.timeout(10):
            while store.failed is not None:
                await store.last_seq(SESSION)


def run_child(code: str, folder: Path) -> str:
    """What a Python of its own prints."""
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=False, timeout=30)
    assert not done.returncode, done.stderr
    return done.stdout.strip()


WRITES_PAST_A_LIMIT = """
import asyncio, resource, sys
from footplate.store.sqlite import SqliteStore
from footplate.errors import FootplateError
from tests.unit.store.test_sqlite_faults import fill

async def main():
    store = await SqliteStore.open(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (800_000, 800_000))
    acknowledged, error = await fill(store)
    print(acknowledged, type(error).__name__, type(store.failed).__name__)
    await store.close()

asyncio.run(main())
"""


async def test_a_write_that_the_system_refuses(tmp_path: Path) -> None:
    acknowledged, error, failed = run_child(WRITES_PAST_A_LIMIT, tmp_path).split()
    assert (int(acknowledged) > 0, error, failed) == (True, "StoreFailed", "StoreFailed")
    async with await SqliteStore.open(tmp_path) as store:
        assert await store.last_seq(SESSION) == int(acknowledged)
        assert await store.check() == ()


OPENS_AS_NOBODY = """
import asyncio, os, sys
from footplate.store.sqlite import SqliteStore
from footplate.errors import FootplateError
if os.geteuid() == 0:
    os.setgroups([]); os.setegid(65534); os.seteuid(65534)

async def main():
    try:
        await (await SqliteStore.open(sys.argv[1])).close()
        print("opened")
    except FootplateError as error:
        print(type(error).__name__, error)

asyncio.run(main())
"""


@pytest.mark.parametrize("locked", ["folder", "file"])
def test_a_store_that_cannot_be_written_is_told_when_it_is_opened(locked: str) -> None:
    folder = Path(tempfile.mkdtemp(prefix="footplate-read-only-"))
    try:
        if locked == "file":
            StoreFile(folder).close()
            (folder / "store.db").chmod(0o444)
            (folder / "store.lock").chmod(0o666)
            folder.chmod(0o777)
        else:
            folder.chmod(0o555)
        assert run_child(OPENS_AS_NOBODY, folder) == (
            f"StoreReadOnly the store {folder / 'store.db'} failed: Permission denied; "
            "make the data folder and the files in it writable, then start Footplate again"
        )
    finally:
        folder.chmod(0o700)
        shutil.rmtree(folder)


async def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"Dear diary, " * 1_000)
    with pytest.raises(StoreCorrupt, match="file is not a database; keep a copy of the file, put the latest backup"):
        await SqliteStore.open(tmp_path)
    (tmp_path / "store.db").unlink()
    await (await SqliteStore.open(tmp_path)).close()


async def test_a_file_that_is_damaged_all_over_is_not_opened(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path) as store:
        await begin(store, 2_000)
    pages = (tmp_path / "store.db").stat().st_size // 4096
    damage(tmp_path / "store.db", range(3, pages + 1))
    with pytest.raises(StoreCorrupt, match="database disk image is malformed; keep a copy of the file"):
        await SqliteStore.open(tmp_path)


async def test_a_damaged_page_is_told_to_readers_and_stops_the_writer(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path) as store:
        await begin(store, 2_000)
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events'").fetchone()
    damage(tmp_path / "store.db", [root])
    async with await SqliteStore.open(tmp_path) as store:
        assert await store.check() != ()
        with pytest.raises(StoreCorrupt, match="database disk image is malformed; keep a copy of the file"):
            await store.read(SESSION)
        assert store.failed is None
        with pytest.raises(StoreCorrupt):
            await store.append(SESSION, 1, 2_000, notices(2_001, 1))
        await assert_stopped(store, StoreCorrupt, 2_000)


def damage(path: Path, pages: Iterable[int]) -> None:
    with path.open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * 4096)
            file.write(b"\xff" * 2048)


async def test_a_hole_in_a_log_is_found(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path) as store:
        await begin(store, 10)
        await store._writer.write(lambda tx: tx.connection.execute("DELETE FROM events WHERE seq = 4"))
        await store._writer.write(lambda tx: tx.connection.execute("DELETE FROM session_rows"))
        assert await store.check() == (
            f"session {SESSION}: 9 events numbered 1 to 10",
            f"session {SESSION}: not in the index",
        )


class UnsyncedFile(StoreFile):
    """A file whose disk takes writes and fails to sync them from some moment on."""

    failing = False
    reason = errno.EIO

    def sync(self) -> None:
        if self.failing:
            raise OSError(self.reason, os.strerror(self.reason))
        super().sync()


@pytest.mark.parametrize("reason", [errno.EIO, errno.ENOSPC])
async def test_a_sync_that_fails_acknowledges_nothing_and_stops_the_store(tmp_path: Path, reason: int) -> None:
    file = UnsyncedFile(tmp_path)
    file.reason = reason
    async with SqliteStore(file, time.time, 3_600.0) as store:
        await begin(store, 1)
        await store.sync()
        file.failing = True
        assert await store.append(SESSION, 1, 1, notices(2, 1)) == 2
        with pytest.raises(StoreFailed, match=f"failed: {os.strerror(reason)}; look at the disk"):
            await store.append(SESSION, 1, 2, notices(3, 1), durable=True)
        file.failing = False
        with pytest.raises(StoreFailed):
            await store.sync()
        assert type(store.failed) is StoreFailed
        assert await store.last_seq(SESSION) == 3


async def test_a_store_whose_folder_is_removed_is_not_well(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    async with await SqliteStore.open(folder) as store:
        await store.probe()
        shutil.rmtree(folder)
        with pytest.raises(StoreFailed, match=r"store\.db failed: No such file or directory"):
            await store.probe()
        StoreFile(folder).close()
        with pytest.raises(StoreFailed, match=r"store\.db failed: the file was replaced while it was in use"):
            await store.probe()


async def test_a_store_with_a_damaged_page_is_not_well(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path) as store:
        await begin(store, 2_000)
    pages = (tmp_path / "store.db").stat().st_size // 4096
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events'").fetchone()
    damage(tmp_path / "store.db", [root])
    assert pages > root
    async with await SqliteStore.open(tmp_path) as store:
        with pytest.raises(StoreCorrupt):
            await store.probe()


async def test_damage_that_a_reader_has_met_is_not_well_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("footplate.store.sqlite.store.find_damage_quickly", lambda _: None)  # a file too large for it
    async with await SqliteStore.open(tmp_path) as store:
        await begin(store, 2_000)
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events'").fetchone()
    damage(tmp_path / "store.db", [root])
    async with await SqliteStore.open(tmp_path) as store:
        await store.probe()
        with pytest.raises(StoreCorrupt):
            await store.read(SESSION)
        with pytest.raises(StoreCorrupt):
            await store.probe()


def test_an_error_of_the_system_is_told_by_what_it_means(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    kinds = {code: type(translate_fault(OSError(code, "x"), path)) for code in (errno.ENOSPC, errno.EROFS, errno.EIO)}
    assert kinds == {errno.ENOSPC: StoreFull, errno.EROFS: StoreReadOnly, errno.EIO: StoreFailed}
    defect = ValueError("a defect")
    assert translate_fault(defect, path) is defect
