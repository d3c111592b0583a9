"""Documents in SQL."""

from __future__ import annotations

import sqlite3

from footplate.errors import InvalidValue, WrongVersion
from footplate.store.base import LIST_LIMIT
from footplate.store.entries import check_limit
from footplate.store.paging import make_page
from footplate.store.sqlite.readers import Readers
from footplate.store.sqlite.rows import LAST_CHARACTER
from footplate.store.sqlite.transaction import Transaction
from footplate.store.sqlite.writer import Writer
from footplate.store.values import Document, Page


class SqliteDocuments:
    """The documents of one namespace."""

    def __init__(self, namespace: str, writer: Writer, readers: Readers) -> None:
        self._namespace = namespace
        self._writer = writer
        self._readers = readers

    async def get(self, key: str) -> Document | None:
        """The document, if there is one."""
        return await self._readers.read(_get, self._namespace, key)

    async def put(self, key: str, body: bytes, *, expect: int | None = None, durable: bool = True) -> int:
        """Write it; its new version."""
        if not key:
            raise InvalidValue("key", key, "a name")
        return await self._writer.write(_put, self._namespace, key, body, expect, durable=durable)

    async def delete(self, key: str, *, expect: int | None = None, durable: bool = True) -> bool:
        """Remove it; False when it was not there."""
        return await self._writer.write(_delete, self._namespace, key, expect, durable=durable)

    async def list(self, prefix: str = "", *, after: str | None = None, limit: int = LIST_LIMIT) -> Page[Document]:
        """The documents whose keys begin so, in order of keys."""
        check_limit(limit)
        rows = await self._readers.read(_list, self._namespace, prefix, after, limit + 1)
        return make_page(rows, limit, lambda document: document.key)


def _get(connection: sqlite3.Connection, namespace: str, key: str) -> Document | None:
    found = connection.execute(
        "SELECT version, body, time FROM documents WHERE namespace = ? AND key = ?", (namespace, key)
    ).fetchone()
    return Document(key=key, version=found[0], body=found[1], time=found[2]) if found else None


def _put(tx: Transaction, namespace: str, key: str, body: bytes, expect: int | None) -> int:
    _check(tx, namespace, key, expect)
    made = tx.connection.execute(
        "REPLACE INTO documents (namespace, key, time, body) VALUES (?, ?, ?, ?)", (namespace, key, tx.clock(), body)
    )
    return made.lastrowid or 0


def _delete(tx: Transaction, namespace: str, key: str, expect: int | None) -> bool:
    _check(tx, namespace, key, expect)
    gone = tx.connection.execute("DELETE FROM documents WHERE namespace = ? AND key = ?", (namespace, key))
    return gone.rowcount > 0


def _check(tx: Transaction, namespace: str, key: str, expect: int | None) -> None:
    if expect is None:
        return
    found = tx.connection.execute(
        "SELECT version FROM documents WHERE namespace = ? AND key = ?", (namespace, key)
    ).fetchone()
    actual = int(found[0]) if found else 0
    if actual != expect:
        raise WrongVersion(f"{namespace}/{key}", expect, actual)


def _list(connection: sqlite3.Connection, namespace: str, prefix: str, after: str | None, limit: int) -> list[Document]:
    rows = connection.execute(
        """SELECT key, version, body, time FROM documents
        WHERE namespace = ? AND key >= ? AND key < ? AND key > ? ORDER BY key LIMIT ?""",
        (namespace, prefix, prefix + LAST_CHARACTER, after or "", limit),
    )
    return [Document(key=key, version=version, body=body, time=time) for key, version, body, time in rows]
