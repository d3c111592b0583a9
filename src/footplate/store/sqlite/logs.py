"""Session logs in SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from footplate.errors import WrongEpoch
from footplate.events.ids import SessionId
from footplate.events.model import SCHEMA_VERSION
from footplate.store.base import READ_LIMIT
from footplate.store.entries import check_cursor, check_place
from footplate.store.projection import Index, SessionRow
from footplate.store.sqlite.heads import Head, find_last_seq
from footplate.store.sqlite.rows import marks
from footplate.store.sqlite.transaction import Transaction, delete_rows
from footplate.store.upcast import upcast
from footplate.store.values import SESSION_DOCUMENTS, Encoded, Lease, Stored

READ_BYTES = 8 * 1024 * 1024
"""A read stops after so many bytes, whatever its limit."""


# -------------------------------------------------------------------------------------------------- writing


def claim(tx: Transaction, session: SessionId) -> Lease:
    """Raise the session's epoch; the log begins here when there is none."""
    head = tx.heads.get(session)
    if head is None:
        made = tx.connection.execute("INSERT INTO logs (session, epoch) VALUES (?, 1)", (session,))
        head = tx.heads.put(session, Head(made.lastrowid or 0, 1, 0, Index(SessionRow(session=session))))
    else:
        head.epoch += 1
        tx.connection.execute("UPDATE logs SET epoch = ? WHERE num = ?", (head.epoch, head.num))
    return Lease(session, head.epoch, head.last_seq)


def append(
    tx: Transaction,
    session: SessionId,
    epoch: int,
    expected_seq: int,
    entries: Sequence[Encoded],
    audit: Sequence[bytes] = (),
) -> int:
    """Put events on the log's end and fold them into its index."""
    head = tx.heads.get(session)
    if head is None:
        raise WrongEpoch(session, epoch, 0)
    check_place(session, epoch=epoch, expected=expected_seq, head_epoch=head.epoch, head_seq=head.last_seq)
    tx.add_events(head, entries)
    if audit:
        tx.add_records(audit)
    return head.last_seq


def hide(tx: Transaction, session: SessionId, audit: Sequence[bytes] = ()) -> int | None:
    """Take a session out of sight; its log's number, or None when there is none. Its rows are purged in steps."""
    head = tx.heads.get(session)
    if head is None:
        return None
    if audit:
        tx.add_records(audit)
    tx.flush()
    tx.heads.drop(session)
    tx.connection.execute("UPDATE logs SET session = NULL WHERE num = ?", (head.num,))
    delete_rows(tx.connection, head.num)
    names = marks(len(SESSION_DOCUMENTS))
    tx.connection.execute(
        f"DELETE FROM documents WHERE namespace IN ({names}) AND key = ?", (*SESSION_DOCUMENTS, session)
    )
    tx.rung.add(head.bell)
    return head.num


# -------------------------------------------------------------------------------------------------- reading


def last_seq(connection: sqlite3.Connection, session: SessionId) -> int:
    """The number of the last event; 0 when there is none."""
    num, _ = find_log(connection, session)
    return find_last_seq(connection, num)


def find_log(connection: sqlite3.Connection, session: SessionId) -> tuple[int, int]:
    """The number and epoch of a session's log; zeros when there is none."""
    found = connection.execute("SELECT num, epoch FROM logs WHERE session = ?", (session,)).fetchone()
    return (int(found[0]), int(found[1])) if found else (0, 0)


def read(connection: sqlite3.Connection, session: SessionId, after: int, limit: int, epoch: int | None) -> list[Stored]:
    """The events after a number, if the reader's cursor is one of this log's."""
    num, current = find_log(connection, session)
    if epoch is not None:
        found = connection.execute("SELECT epoch FROM events WHERE log = ? AND seq = ?", (num, after)).fetchone()
        at = int(found[0]) if found else None
        check_cursor(session, after, seen=epoch, found=at, last_seq=find_last_seq(connection, num), epoch=current)
    rows = read_log(connection, num, session, after, limit)
    if not rows:
        last = find_last_seq(connection, num)
        check_cursor(session, after, seen=None, found=None, last_seq=last, epoch=current)
    return rows


def read_log(connection: sqlite3.Connection, num: int, session: SessionId, after: int, limit: int) -> list[Stored]:
    """The events of a log after a number, brought up to date."""
    cursor = connection.execute(
        "SELECT seq, version, body FROM events WHERE log = ? AND seq > ? ORDER BY seq LIMIT ?", (num, after, limit)
    )
    rows: list[Stored] = []
    size = 0
    for seq, version, body in cursor:
        if version != SCHEMA_VERSION:
            body, version = upcast(body, version)  # noqa: PLW2901
        rows.append(Stored(session, seq, version, body))
        size += len(body)
        if size >= READ_BYTES:
            break
    cursor.close()
    return rows


def is_full(rows: list[Stored]) -> bool:
    """Whether a read of the usual length may have stopped before the end."""
    return len(rows) >= READ_LIMIT or sum(len(row.body) for row in rows) >= READ_BYTES
