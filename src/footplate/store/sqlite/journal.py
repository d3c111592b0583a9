"""Journals in SQL."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Sequence

from footplate.errors import CursorLost
from footplate.store.base import BUDGET, READ_LIMIT
from footplate.store.bells import Bells, journal_bell
from footplate.store.entries import check_range
from footplate.store.follow import follow_pages
from footplate.store.sqlite.logs import READ_BYTES
from footplate.store.sqlite.readers import Readers
from footplate.store.sqlite.retention import purge
from footplate.store.sqlite.rows import LAST_CHARACTER
from footplate.store.sqlite.transaction import JournalHead, Transaction
from footplate.store.sqlite.writer import Writer
from footplate.store.values import JournalEntry, JournalPage, JournalRow

# One statement, so that the cut and the entries are as of one moment: a row about the journal, then the entries.
_PAGE = """SELECT cut, (SELECT max(number) FROM entries WHERE journal = num), NULL FROM journals WHERE name = ?1
UNION ALL SELECT * FROM (
    SELECT number, entries.time, body FROM journals JOIN entries ON journal = num
    WHERE name = ?1 AND number > ?2 ORDER BY number LIMIT ?3
)"""
_LAST = "(SELECT {} FROM entries WHERE journal = num ORDER BY number DESC LIMIT 1)"


class Tails:
    """What all that follow journals share: who asks for a page before a thread takes it up gets the same one."""

    def __init__(self, readers: Readers, bells: Bells) -> None:
        self.bells = bells
        self._readers = readers
        self._asked: dict[tuple[str, int, int], asyncio.Future[JournalPage]] = {}

    async def read(self, name: str, after: int, limit: int) -> JournalPage:
        """The page, as it is now or later."""
        page = (name, after, limit)
        asked = self._asked.get(page)
        if asked is None or asked.done():
            asked = self._asked[page] = self._readers.order(self._take_up, page)
        return await asyncio.shield(asked)

    def _take_up(self, connection: sqlite3.Connection, page: tuple[str, int, int]) -> JournalPage:
        """In the thread. Who asks from here on may know of an entry that this read does not see."""
        self._asked.pop(page, None)
        return _read(connection, *page)


class SqliteJournal:
    """One journal, by its name."""

    def __init__(self, name: str, writer: Writer, readers: Readers, tails: Tails) -> None:
        self._name = name
        self._writer = writer
        self._readers = readers
        self._tails = tails

    async def append(self, bodies: Sequence[bytes], *, durable: bool = False) -> int:
        """Write them down in order; the number of the last."""
        return await self._writer.write(_append, self._name, bodies, durable=durable, size=sum(map(len, bodies)))

    async def read(self, after: int = 0, limit: int = READ_LIMIT) -> JournalPage:
        """The entries after a number, and which of those asked for are lost."""
        check_range(after, limit)
        return await self._readers.read(_read, self._name, after, limit)

    async def tail(self, after: int = 0, limit: int = READ_LIMIT) -> AsyncGenerator[JournalPage, None]:
        """The entries after a number, and then new ones as they come."""
        check_range(after, limit)
        bells, key = self._tails.bells, journal_bell(self._name)
        async for page in follow_pages(bells, key, after, lambda at: self._tails.read(self._name, at, limit)):
            yield page

    async def delete(self) -> None:
        """Forget the journal."""
        await self._writer.write(_hide, self._name)
        while not await self._writer.write(purge, BUDGET):
            continue


def _append(tx: Transaction, name: str, bodies: Sequence[bytes]) -> int:
    head = tx.journals.get(name) or _load(tx, name)
    tx.add_entries(head, bodies)
    return head.last


def _load(tx: Transaction, name: str) -> JournalHead:
    """The head of a journal that has none in memory (nothing of it waits to be written), or of a new one."""
    found = tx.connection.execute("SELECT num, cut FROM journals WHERE name = ?", (name,)).fetchone()
    if found is None:
        made = tx.connection.execute("INSERT INTO journals (name) VALUES (?)", (name,))
        head = JournalHead(name, made.lastrowid or 0, 0, 0)
    else:
        num, cut = found
        end = tx.connection.execute(
            "SELECT number, total FROM entries WHERE journal = ? ORDER BY number DESC LIMIT 1", (num,)
        ).fetchone()
        head = JournalHead(name, num, *(end or (cut, 0)))
    tx.journals[name] = head
    return head


def _read(connection: sqlite3.Connection, name: str, after: int, limit: int) -> JournalPage:
    cursor = connection.execute(_PAGE, (name, after, limit))
    cut, found, _ = cursor.fetchone() or (0, 0, None)
    last: int = found or cut
    if after > last:
        cursor.close()
        raise CursorLost(f"journal {name}", after, last, 0)
    entries: list[JournalEntry] = []
    size = 0
    for number, time, body in cursor:
        entries.append(JournalEntry(number, time, body))
        size += len(body)
        if size >= READ_BYTES:
            break
    cursor.close()
    return JournalPage(entries=tuple(entries), last=last, lost=(after + 1, cut) if cut > after else None)


def _hide(tx: Transaction, name: str) -> None:
    """Take a journal out of sight. Its entries are purged in steps."""
    tx.flush()
    tx.journals.pop(name, None)
    tx.connection.execute("INSERT INTO journals_gone (num) SELECT num FROM journals WHERE name = ?", (name,))
    tx.connection.execute("DELETE FROM journals WHERE name = ?", (name,))
    tx.rung.add(journal_bell(name))


def list_journals(connection: sqlite3.Connection, prefix: str, after: str, limit: int) -> list[JournalRow]:
    """The journals whose names begin so, after that name."""
    rows = connection.execute(
        f"""SELECT name, coalesce({_LAST.format("number")}, cut), {_LAST.format("time")} FROM journals
        WHERE name >= ? AND name < ? AND name > ? ORDER BY name LIMIT ?""",
        (prefix, prefix + LAST_CHARACTER, after, limit),
    )
    return [JournalRow(name=name, last=last, time=time) for name, last, time in rows]
