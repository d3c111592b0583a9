"""Journals in SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from footplate.errors import CursorLost
from footplate.store.base import READ_LIMIT
from footplate.store.entries import check_range
from footplate.store.sqlite.logs import READ_BYTES
from footplate.store.sqlite.readers import Readers
from footplate.store.sqlite.rows import insert_rows
from footplate.store.sqlite.transaction import JournalHead, Transaction
from footplate.store.sqlite.writer import Writer
from footplate.store.values import JournalEntry, JournalPage

HEADS_KEPT = 1_024
_ENTRIES = "INSERT INTO entries (journal, number, time, total, body)"


class SqliteJournal:
    """One journal, by its name."""

    def __init__(self, name: str, writer: Writer, readers: Readers) -> None:
        self._name = name
        self._writer = writer
        self._readers = readers

    async def append(self, bodies: Sequence[bytes], *, durable: bool = False) -> int:
        """Write them down in order; the number of the last."""
        return await self._writer.write(_append, self._name, bodies, durable=durable)

    async def read(self, after: int = 0, limit: int = READ_LIMIT) -> JournalPage:
        """The entries after a number, and which of those asked for are lost."""
        check_range(after, limit)
        return await self._readers.read(_read, self._name, after, limit)

    async def delete(self) -> None:
        """Forget the journal."""
        await self._writer.write(_delete, self._name)


def _append(tx: Transaction, name: str, bodies: Sequence[bytes]) -> int:
    head = _head(tx, name)
    now = tx.clock()
    rows = []
    for body in bodies:
        head.last += 1
        head.total += len(body)
        rows.append((head.num, head.last, now, head.total, body))
    insert_rows(tx.connection, _ENTRIES, rows)
    return head.last


def _head(tx: Transaction, name: str) -> JournalHead:
    head = tx.journals.get(name)
    if head is not None:
        return head
    if len(tx.journals) >= HEADS_KEPT:
        tx.journals.clear()
    found = tx.connection.execute("SELECT num, cut FROM journals WHERE name = ?", (name,)).fetchone()
    if found is None:
        made = tx.connection.execute("INSERT INTO journals (name) VALUES (?)", (name,))
        head = JournalHead(made.lastrowid or 0, 0, 0)
    else:
        num, cut = found
        end = tx.connection.execute(
            "SELECT number, total FROM entries WHERE journal = ? ORDER BY number DESC LIMIT 1", (num,)
        ).fetchone()
        head = JournalHead(num, *(end or (cut, 0)))
    tx.journals[name] = head
    return head


def _read(connection: sqlite3.Connection, name: str, after: int, limit: int) -> JournalPage:
    connection.execute("BEGIN")  # the cut and the entries as of one moment
    try:
        return _read_at_once(connection, name, after, limit)
    finally:
        connection.execute("COMMIT")


def _read_at_once(connection: sqlite3.Connection, name: str, after: int, limit: int) -> JournalPage:
    num, cut = connection.execute("SELECT num, cut FROM journals WHERE name = ?", (name,)).fetchone() or (0, 0)
    (found,) = connection.execute("SELECT max(number) FROM entries WHERE journal = ?", (num,)).fetchone()
    last: int = found or cut
    if after > last:
        raise CursorLost(f"journal {name}", after, last, 0)
    cursor = connection.execute(
        "SELECT number, time, body FROM entries WHERE journal = ? AND number > ? ORDER BY number LIMIT ?",
        (num, after, limit),
    )
    entries: list[JournalEntry] = []
    size = 0
    for number, time, body in cursor:
        entries.append(JournalEntry(number, time, body))
        size += len(body)
        if size >= READ_BYTES:
            break
    cursor.close()
    return JournalPage(entries=tuple(entries), last=last, lost=(after + 1, cut) if cut > after else None)


def _delete(tx: Transaction, name: str) -> None:
    head = _head(tx, name)
    tx.connection.execute("DELETE FROM entries WHERE journal = ?", (head.num,))
    tx.connection.execute("DELETE FROM journals WHERE num = ?", (head.num,))
    del tx.journals[name]
