"""The store on one machine: SQLite with a write-ahead log, one writer, group commit."""

from footplate.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
