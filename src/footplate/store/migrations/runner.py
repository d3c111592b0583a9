"""Bring a database file to the schema that this version knows, one numbered step at a time."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from footplate.errors import StoreCorrupt, StoreTooNew
from footplate.store.migrations import (
    m0001_first,
    m0002_log_ends,
    m0003_journals_gone,
    m0004_unfinished,
    m0005_lists,
    m0006_audit,
    m0007_frame_blocks,
)

APPLICATION_ID = 0x466F_6F74
"""Says in the file's header that it is ours ("Foot")."""

Migration = Sequence[str | Callable[[sqlite3.Connection], None]]
MIGRATIONS: tuple[Migration, ...] = (
    m0001_first.STATEMENTS,
    m0002_log_ends.STATEMENTS,
    m0003_journals_gone.STATEMENTS,
    m0004_unfinished.STATEMENTS,
    m0005_lists.STATEMENTS,
    m0006_audit.STATEMENTS,
    m0007_frame_blocks.STATEMENTS,
)
"""Number n (from 1) makes schema n of schema n - 1. Only ever add to the end."""


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> int:
    """Run the steps that the file lacks, after a backup if it holds anything; the schema it has then."""
    found = _version(connection, path)
    if found > len(migrations):
        raise StoreTooNew(str(path), found, len(migrations))
    if 0 < found < len(migrations):
        _back_up(connection, path.with_name(f"{path.name}.schema-{found}.backup"))
    for number in range(found + 1, len(migrations) + 1):
        _step(connection, number, migrations[number - 1])
    return len(migrations)


def _version(connection: sqlite3.Connection, path: Path) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and owner != APPLICATION_ID:
        raise StoreCorrupt(str(path), "it is a database, but of another program")
    return int(version)


def _step(connection: sqlite3.Connection, number: int, migration: Migration) -> None:
    """One step; when it fails the file stays at the schema before."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in migration:
            if isinstance(statement, str):
                connection.execute(statement)
            else:
                statement(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    except sqlite3.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _back_up(connection: sqlite3.Connection, path: Path) -> None:
    """A copy of the file as it is; an older one of the same schema is replaced."""
    copy_database(connection, path)


def copy_database(connection: sqlite3.Connection, path: Path) -> int:
    """A consistent copy under that name, complete or not at all; its size."""
    partial = path.with_name(f"{path.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        target = sqlite3.connect(partial, isolation_level=None)
        try:
            connection.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")
        finally:
            target.close()
        partial.chmod(0o600)
        sync_path(partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    sync_path(path.parent)
    return path.stat().st_size


def sync_path(path: Path) -> None:
    """Make a file, or the names in a folder, safe from a power cut."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
