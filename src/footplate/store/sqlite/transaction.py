"""One group of orders on its way into the file: rows are gathered and written together."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence

import msgspec

from footplate.store.bells import session_bell
from footplate.store.projection import RequestRow, SessionRow
from footplate.store.sqlite.heads import Head, Heads
from footplate.store.sqlite.rows import Row, insert_rows

EVENTS = "INSERT INTO events (log, seq, epoch, version, body)"
SESSIONS = "REPLACE INTO session_rows (log, session, state, engine, cwd, open_requests, updated_at, row)"
REQUESTS = """INSERT INTO request_rows (log, request, session, kind, state, detached, opened_at, row)"""
_RENEW = """ ON CONFLICT (log, request) DO UPDATE SET kind = excluded.kind, state = excluded.state,
 detached = excluded.detached, opened_at = excluded.opened_at, row = excluded.row"""

_encode = msgspec.json.Encoder().encode


class Transaction:
    """What an order works on, in the writer's thread. It refuses before it changes anything."""

    def __init__(self, connection: sqlite3.Connection, clock: Callable[[], float]) -> None:
        self.connection = connection
        self.clock = clock
        self.heads = Heads(connection)
        self.journals: dict[str, JournalHead] = {}
        self.frames_total: int | None = None
        self.rung: set[str] = set()
        self.swept_journal = 0
        self._events: list[Row] = []
        self._heads: dict[int, Head] = {}
        self._requests: dict[tuple[int, str], RequestRow] = {}

    def begin(self) -> None:
        """Take the file's write lock."""
        self.connection.execute("BEGIN IMMEDIATE")

    def add_events(self, head: Head, rows: Iterable[Row], requests: Sequence[RequestRow]) -> None:
        """Events that were put on a head, and the rows of requests that they changed."""
        self._events.extend(rows)
        self._heads[head.num] = head
        for request in requests:
            self._requests[head.num, request.id] = request
        self.rung.add(session_bell(head.index.session.session))

    def flush(self) -> None:
        """Write what was gathered; an order that looks at events or rows itself calls this first."""
        if self._events:
            insert_rows(self.connection, EVENTS, self._events)
            self._events.clear()
        if self._heads:
            write_sessions(self.connection, [(num, head.index.session) for num, head in self._heads.items()])
            self._heads.clear()
        if self._requests:
            write_requests(self.connection, [(num, request) for (num, _), request in self._requests.items()])
            self._requests.clear()

    def commit(self) -> None:
        """Write what was gathered, and let readers see it."""
        self.flush()
        self.connection.execute("COMMIT")

    def roll_back(self) -> None:
        """Undo all of it. What is in memory is read from the file again."""
        self._events.clear()
        self._heads.clear()
        self._requests.clear()
        self.rung.clear()
        self.heads.clear()
        self.journals.clear()
        self.frames_total = None
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def take_rung(self) -> frozenset[str]:
        """The bells to ring for this group."""
        rung = frozenset(self.rung)
        self.rung.clear()
        return rung


class JournalHead:
    """The end of one journal: its row number, last entry, and the running sum of sizes."""

    __slots__ = ("last", "num", "total")

    def __init__(self, num: int, last: int, total: int) -> None:
        self.num = num
        self.last = last
        self.total = total


def write_sessions(connection: sqlite3.Connection, rows: Sequence[tuple[int, SessionRow]]) -> None:
    """Write rows of sessions, each in the place of the one before."""
    insert_rows(
        connection,
        SESSIONS,
        [
            (num, row.session, row.state, row.engine, row.cwd, row.open_requests, row.updated_at, _encode(row))
            for num, row in rows
        ],
    )


def write_requests(connection: sqlite3.Connection, rows: Sequence[tuple[int, RequestRow]]) -> None:
    """Write rows of requests; one that was there keeps its place."""
    insert_rows(
        connection,
        REQUESTS,
        [
            (num, row.id, row.session, row.kind, row.state, int(row.detached), row.opened_at, _encode(row))
            for num, row in rows
        ],
        tail=_RENEW,
    )
