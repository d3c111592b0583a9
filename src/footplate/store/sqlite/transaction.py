"""One group of orders on its way into the file: rows are gathered and written together."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

import msgspec

from footplate.events.model import SCHEMA_VERSION, Envelope
from footplate.store.bells import AUDIT_BELL, journal_bell
from footplate.store.chain import AuditHead, link
from footplate.store.projection import LISTED, RequestRow, SessionRow, fold, search_text
from footplate.store.sqlite.heads import Head, Heads
from footplate.store.sqlite.rows import Value, insert_rows, insert_values
from footplate.store.values import Encoded

# An insert that fails undoes the whole group, and so SQLite need not be ready to undo it alone.
ENTRIES = "INSERT OR ROLLBACK INTO entries (journal, number, time, total, body)"
EVENTS = "INSERT OR ROLLBACK INTO events (log, seq, epoch, version, body)"
RECORDS = "INSERT OR ROLLBACK INTO audit (number, time, hash, body)"
ENDS = "REPLACE INTO log_ends (log, epoch, seq, time)"
SESSIONS = """INSERT INTO session_rows
 (log, session, state, engine, engine_session, cwd, open_requests, unfinished, updated_at, text, row)"""
# Not `updated_at`, with which the lists are ordered: it follows in the background (`settle_step`).
_CHANGE = """ ON CONFLICT (log) DO UPDATE SET state = excluded.state, engine = excluded.engine,
 engine_session = excluded.engine_session, cwd = excluded.cwd, open_requests = excluded.open_requests,
 unfinished = excluded.unfinished, text = excluded.text, row = excluded.row"""
_MOVE = "UPDATE session_rows SET state = ?, open_requests = ?, unfinished = ?, row = ? WHERE log = ?"
UNSETTLED = "INSERT OR IGNORE INTO unsettled (log)"
REQUESTS = """INSERT INTO request_rows (log, request, session, kind, state, detached, opened_at, row)"""
_RENEW = """ ON CONFLICT (log, request) DO UPDATE SET kind = excluded.kind, state = excluded.state,
 detached = excluded.detached, opened_at = excluded.opened_at, row = excluded.row"""

JOURNALS_KEPT = 1_024

_encode = msgspec.json.Encoder().encode


class Transaction:
    """What an order works on, wherever the writer carries it out. It refuses before it changes anything."""

    def __init__(self, connection: sqlite3.Connection, clock: Callable[[], float]) -> None:
        self.connection = connection
        self.clock = clock
        self.heads = Heads(connection)
        self.journals: dict[str, JournalHead] = {}
        self._audit: AuditHead | None = None
        self._records: list[Value] = []
        self.frames_size: int | None = None
        """The bytes of all blocks of raw lines; None until retention needs it."""
        self.rung: set[str] = set()
        self.swept_journal = 0
        self._entries: list[Value] = []
        self._events: list[Value] = []
        self._ends: dict[int, Envelope] = {}
        self._sessions: dict[int, Head] = {}
        self._unsettled: list[Value] = []
        self._requests: dict[tuple[int, str], RequestRow] = {}

    def begin(self) -> None:
        """Take the file's write lock."""
        self.heads.trim()
        if len(self.journals) > JOURNALS_KEPT:
            self.journals.clear()
        self.connection.execute("BEGIN IMMEDIATE")

    def add_events(self, head: Head, entries: Sequence[Encoded]) -> None:
        """Put events on a head, and fold them into its index if they change more than its place and time."""
        num, folds = head.num, not head.listed
        for entry in entries:
            envelope = entry.envelope
            self._events += (num, envelope.seq, envelope.epoch, SCHEMA_VERSION, entry.body)
            if type(envelope.event) in LISTED:
                folds = True
        head.last_seq = envelope.seq
        self._ends[num] = envelope
        self.rung.add(head.bell)
        if head.settled:
            head.settled = False
            self._unsettled.append(num)
        if folds:
            self._fold(head, entries)

    def _fold(self, head: Head, entries: Sequence[Encoded]) -> None:
        change = fold(head.index, [entry.envelope for entry in entries])
        head.index, head.listed = change.index, True
        self._sessions[head.num] = head
        for request in change.requests:
            self._requests[head.num, request.id] = request

    def add_entries(self, head: JournalHead, bodies: Sequence[bytes]) -> None:
        """Put entries on the end of a journal."""
        now = self.clock()
        for body in bodies:
            head.last += 1
            head.total += len(body)
            self._entries += (head.num, head.last, now, head.total, body)
        self.rung.add(head.bell)

    def audit_head(self) -> AuditHead:
        """The newest record of the audit log, of this group too."""
        if self._audit is None:
            self._audit = find_audit_head(self.connection)
        return self._audit

    def add_records(self, records: Sequence[bytes]) -> AuditHead:
        """Put records on the end of the audit log; the newest."""
        head, now = self.audit_head(), self.clock()
        for record in records:
            row = link(head, record)
            head = row.head
            self._records += (row.number, now, row.hash, row.body)
        self._audit = head
        self.rung.add(AUDIT_BELL)
        return head

    def flush(self) -> None:
        """Write what was gathered; an order that looks at events, rows or entries itself calls this first."""
        if self._records:
            insert_values(self.connection, RECORDS, 4, self._records)
            self._records.clear()
        if self._entries:
            insert_values(self.connection, ENTRIES, 5, self._entries)
            self._entries.clear()
        if self._events:
            self._flush_events()

    def _flush_events(self) -> None:
        insert_values(self.connection, EVENTS, 5, self._events)
        ends: list[Value] = []
        for num, last in self._ends.items():
            ends += (num, last.epoch, last.seq, last.time)
        write_ends(self.connection, ends)
        insert_values(self.connection, UNSETTLED, 1, self._unsettled)
        if self._sessions:
            self._flush_sessions()
        if self._requests:
            write_requests(self.connection, [(num, request) for (num, _), request in self._requests.items()])
        self._forget()

    def _flush_sessions(self) -> None:
        """Most changes leave alone what is searched for and indexed, and are written at a third of the cost."""
        whole: list[tuple[int, SessionRow]] = []
        moved: list[tuple[Value, ...]] = []
        for num, head in self._sessions.items():
            row = head.index.session
            if head.stored is None or _identity(head.stored) != _identity(row):
                whole.append((num, row))
            else:
                moved.append((row.state, row.open_requests, int(row.unfinished), _encode(row), num))
            head.stored = row
        write_sessions(self.connection, whole)
        if moved:
            self.connection.executemany(_MOVE, moved)

    def _forget(self) -> None:
        self._records.clear()
        self._entries.clear()
        self._events.clear()
        self._ends.clear()
        self._sessions.clear()
        self._unsettled.clear()
        self._requests.clear()

    def commit(self) -> None:
        """Write what was gathered, and let readers see it."""
        self.flush()
        self.connection.execute("COMMIT")

    def roll_back(self) -> None:
        """Undo all of it. What is in memory is read from the file again."""
        self._forget()
        self.rung.clear()
        self.heads.clear()
        self.journals.clear()
        self._audit = None
        self.frames_size = None
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def take_rung(self) -> set[str]:
        """The bells to ring for this group."""
        rung, self.rung = self.rung, set()
        return rung


class JournalHead:
    """The end of one journal: its row number, last entry, and the running sum of sizes."""

    __slots__ = ("bell", "last", "num", "total")

    def __init__(self, name: str, num: int, last: int, total: int) -> None:
        self.bell = journal_bell(name)
        self.num = num
        self.last = last
        self.total = total


def find_audit_head(connection: sqlite3.Connection) -> AuditHead:
    """The newest record of the audit log."""
    found = connection.execute("SELECT number, CAST(hash AS BLOB) FROM audit ORDER BY number DESC LIMIT 1").fetchone()
    return AuditHead(number=found[0], hash=found[1].decode(errors="replace")) if found else AuditHead()


def _identity(row: SessionRow) -> tuple[str | None, ...]:
    """What of a row seldom changes."""
    return row.title, row.cwd, row.engine, row.engine_session_id


def write_sessions(connection: sqlite3.Connection, rows: Sequence[tuple[int, SessionRow]]) -> None:
    """Write rows of sessions, each in the place of the one before."""
    insert_rows(
        connection,
        SESSIONS,
        [
            (
                num,
                row.session,
                row.state,
                row.engine,
                row.engine_session_id,
                row.cwd,
                row.open_requests,
                int(row.unfinished),
                row.updated_at,
                search_text(row),
                _encode(row),
            )
            for num, row in rows
        ],
        tail=_CHANGE,
    )


def write_ends(connection: sqlite3.Connection, values: list[Value]) -> None:
    """Write where logs end: for each its number, and the epoch, number and time of its last event."""
    insert_values(connection, ENDS, 4, values)


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


def delete_rows(connection: sqlite3.Connection, num: int) -> None:
    """Take a log out of the index."""
    connection.execute("DELETE FROM session_rows WHERE log = ?", (num,))
    connection.execute("DELETE FROM request_rows WHERE log = ?", (num,))
    connection.execute("DELETE FROM log_ends WHERE log = ?", (num,))
