"""The database file: its folder, its guard against a second process, its connections."""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from footplate.errors import LockHeld, StoreCorrupt, StoreFailed
from footplate.store.migrations.runner import migrate, sync_path
from footplate.store.sqlite.faults import fault_of_system, translate_fault

log = logging.getLogger(__name__)

FILE_NAME = "store.db"
LOCK_NAME = "store.lock"
BUSY_MS = 5_000
CHECKPOINT_PAGES = 4_000
"""How long the write-ahead log grows before it is folded into the file (16 MB)."""


class Guard:
    """One process per data folder: a lock that the kernel frees when its holder dies."""

    def __init__(self, folder: Path) -> None:
        self._fd = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._fd, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._fd)
            raise LockHeld(f"the data folder {folder}", f"another Footplate (pid {holder})") from None
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let another process have the folder."""
        os.close(self._fd)


class StoreFile:
    """An opened database file: guarded, migrated, in write-ahead mode. `writer` is its one writing connection.

    That one waits for nothing, neither for a lock of a stranger nor for a disk, but `at_leisure`.
    """

    def __init__(self, folder: Path, *, max_bytes: int | None = None) -> None:
        self.path = folder / FILE_NAME
        self.damage: StoreCorrupt | None = None
        """What a reader has found last: of a large file `Store.probe` looks at a part only."""

        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._guard = Guard(folder)
        except OSError as error:
            raise translate_fault(error, self.path) from error
        try:
            self.writer = self._open_writer(max_bytes)
        except (sqlite3.Error, OSError) as error:
            self._guard.release()
            raise translate_fault(error, self.path) from error
        except BaseException:
            self._guard.release()
            raise

    def _open_writer(self, max_bytes: int | None) -> sqlite3.Connection:
        # Closed after every connection: the locks that a process has on a file go with any descriptor of it.
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        connection = _connect(self.path)
        try:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            self._use_wal(connection)
            connection.execute("PRAGMA synchronous = FULL")
            migrate(connection, self.path)
            self.has_search = make_search_index(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            _set_manner(connection, busy_ms=0, fold_pages=0)
            connection.execute(f"PRAGMA journal_size_limit = {CHECKPOINT_PAGES * 4096 * 4}")
            if max_bytes is not None:
                (page,) = connection.execute("PRAGMA page_size").fetchone()
                connection.execute(f"PRAGMA max_page_count = {max(1, max_bytes // page)}").fetchone()
            _write_something(connection)
            self.wal = os.open(f"{self.path}-wal", os.O_RDWR | os.O_CLOEXEC)
            sync_path(self.path.parent)
        except BaseException:
            connection.close()
            os.close(self._file)
            raise
        return connection

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StoreFailed(str(self.path), f"its file system allows no write-ahead log (mode {mode!r})")

    def open_reader(self) -> sqlite3.Connection:
        """A connection that only reads."""
        connection = _connect(self.path)
        connection.execute("PRAGMA query_only = 1")
        return connection

    @contextmanager
    def at_leisure(self) -> Iterator[None]:
        """For a thread that may wait: for the lock of a stranger, and for the log to be folded into the file.

        The first write after that begins the log anew and syncs it, so it is made here as well.
        """
        before = self._folded_at()
        _set_manner(self.writer, busy_ms=BUSY_MS, fold_pages=CHECKPOINT_PAGES)
        try:
            yield
            if self._folded_at() != before:
                _write_something(self.writer)
        finally:
            _set_manner(self.writer, busy_ms=0, fold_pages=0)

    def _folded_at(self) -> int:
        """When the file itself was written: nothing but folding does that."""
        return os.fstat(self._file).st_mtime_ns

    def try_to_write(self) -> None:
        """Write something that changes nothing, in the thread that writes."""
        _write_something(self.writer)

    def check_place(self) -> None:
        """Raise `StoreFailed` when our file is not the one that has its name: what is written to it would be lost."""
        for path, fd in ((self.path, self._file), (self.path.with_name(f"{self.path.name}-wal"), self.wal)):
            try:
                found = path.stat()
            except OSError as error:
                raise fault_of_system(error, path) from error
            ours = os.fstat(fd)
            if (found.st_dev, found.st_ino) != (ours.st_dev, ours.st_ino):
                raise StoreFailed(str(path), "the file was replaced while it was in use")

    def sync(self) -> None:
        """Make every commit so far safe from a power cut."""
        sync_descriptor(self.wal)

    def close(self) -> None:
        """Let go of everything; the readers must be closed already."""
        os.close(self.wal)
        self.writer.close()
        os.close(self._file)
        self._guard.release()


def make_search_index(connection: sqlite3.Connection) -> bool:
    """Create the full-text index if it is missing; False when this SQLite has no FTS5 with trigrams."""
    try:
        # Without positions it is half the size, and LIKE is fast all the same.
        connection.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS search USING fts5(text, tokenize = 'trigram', detail = none)"
        )
        connection.execute("SELECT rowid FROM search LIMIT 1").fetchall()
    except sqlite3.OperationalError as problem:
        if "no such module" not in str(problem) and "no such tokenizer" not in str(problem):
            raise
        log.warning("this SQLite (%s) has no full-text index: searches are slower", sqlite3.sqlite_version)
        return False
    return True


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def _set_manner(connection: sqlite3.Connection, *, busy_ms: int, fold_pages: int) -> None:
    connection.execute(f"PRAGMA busy_timeout = {busy_ms}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {fold_pages}")


def _write_something(connection: sqlite3.Connection) -> None:
    """Write something now: a disk that cannot be written is told at the start, and the write-ahead log exists."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute("INSERT INTO logs (session, epoch) VALUES (NULL, 0)")
        connection.execute("DELETE FROM logs WHERE num = last_insert_rowid()")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


if sys.platform == "darwin":  # there fsync alone stops at the disk's own cache

    def sync_descriptor(fd: int) -> None:
        """Make what was written to the file safe from a power cut."""
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
else:

    def sync_descriptor(fd: int) -> None:
        """Make what was written to the file safe from a power cut."""
        os.fdatasync(fd)
