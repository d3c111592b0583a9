"""The audit log in SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from footplate.store.base import BUDGET, READ_LIMIT
from footplate.store.bells import AUDIT_BELL, Bells
from footplate.store.chain import AuditHead, AuditRow
from footplate.store.entries import check_limit, check_range
from footplate.store.sqlite.readers import Readers
from footplate.store.sqlite.retention import choose_rows
from footplate.store.sqlite.transaction import Transaction, find_audit_head
from footplate.store.sqlite.writer import Writer

READ_BYTES: Final = 1024 * 1024
"""A read ends with the record that reaches this size."""


class SqliteAudit:
    """The audit log of one store."""

    def __init__(self, writer: Writer, readers: Readers, bells: Bells) -> None:
        self._writer = writer
        self._readers = readers
        self._bells = bells

    async def append(self, records: Sequence[bytes]) -> AuditHead:
        """Add records in order; the newest."""
        return await self._writer.write(Transaction.add_records, records, durable=True)

    async def head(self) -> AuditHead:
        """The newest record."""
        return await self._readers.read(find_audit_head)

    async def wait(self, after: int) -> AuditHead:
        """Wait until there is a record after that number; the newest then."""
        while True:
            with self._bells.listen(AUDIT_BELL) as bell:
                head = await self.head()
                if head.number > after:
                    await self._writer.write(lambda _: None, durable=True)
                    return head
                await bell

    async def read(self, after: int = 0, limit: int = READ_LIMIT) -> list[AuditRow]:
        """The records after a number."""
        check_range(after, limit)
        return await self._readers.read(_read, after, limit)

    async def find_last(self, before: float) -> AuditRow | None:
        """The last record that was written before that time."""
        return await self._readers.read(_find_last, before)

    async def cut(self, through: int, budget: int = BUDGET) -> int:
        """Remove the oldest records, up to that number and at most `budget`; how many."""
        check_limit(budget)
        return await self._writer.write(_cut, through, budget)


def _read(connection: sqlite3.Connection, after: int, limit: int) -> list[AuditRow]:
    # As bytes, whatever somebody has made of them: a value of another type must be reported, not end the reading.
    cursor = connection.execute(
        "SELECT number, CAST(hash AS BLOB), CAST(body AS BLOB) FROM audit WHERE number > ? ORDER BY number LIMIT ?",
        (after, limit),
    )
    rows: list[AuditRow] = []
    size = 0
    for number, digest, body in cursor:
        rows.append(AuditRow(number=number, hash=digest.decode(errors="replace"), body=body))
        size += len(body)
        if size >= READ_BYTES:
            break
    cursor.close()
    return rows


def _find_last(connection: sqlite3.Connection, before: float) -> AuditRow | None:
    """Times never fall by much along the chain: the first record that is not older ends the search."""
    found = connection.execute(
        """SELECT number, CAST(hash AS BLOB), CAST(body AS BLOB) FROM audit
        WHERE number < coalesce((SELECT min(number) FROM audit WHERE time >= ?), 9223372036854775807)
        ORDER BY number DESC LIMIT 1""",
        (before,),
    ).fetchone()
    return AuditRow(number=found[0], hash=found[1].decode(errors="replace"), body=found[2]) if found else None


def _cut(tx: Transaction, through: int, budget: int) -> int:
    tx.flush()
    through = min(through, tx.audit_head().number - 1)
    rows = tx.connection.execute("SELECT number, length(body) FROM audit WHERE number <= ? ORDER BY number", (through,))
    chosen, _ = choose_rows(rows, budget)
    if chosen:
        tx.connection.execute("DELETE FROM audit WHERE number <= ?", (chosen[-1],))
    return len(chosen)
