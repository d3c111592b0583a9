"""Writing the whole file anew, so that it is as small as what it holds. Nobody else may have it open meanwhile."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from footplate.store.sqlite.faults import translate_fault
from footplate.store.sqlite.file import FILE_NAME, Guard


class Vacuumed(msgspec.Struct, frozen=True, kw_only=True):
    """How large the file was, and is."""

    before: int
    after: int


def vacuum(folder: Path) -> Vacuumed:
    """Write the file anew. It needs as much free space as the file has; without that it stays as it was.

    Raises `LockHeld` while another process has the store, `StoreError`.
    """
    path = folder / FILE_NAME
    try:
        before = path.stat().st_size
        guard = Guard(folder)
    except OSError as error:
        raise translate_fault(error, path) from error
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            before = max(before, path.stat().st_size)
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return Vacuumed(before=before, after=path.stat().st_size)
    except (sqlite3.Error, OSError) as error:
        raise translate_fault(error, path) from error
    finally:
        guard.release()
