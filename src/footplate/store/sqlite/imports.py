"""Taking in a whole session: its log grows out of sight and appears when it is complete."""

from __future__ import annotations

from collections.abc import Sequence

from footplate.errors import InvalidValue
from footplate.store.bells import session_bell
from footplate.store.projection import Folding
from footplate.store.sqlite.index import write_folding
from footplate.store.sqlite.rows import insert_rows
from footplate.store.sqlite.transaction import EVENTS, Transaction
from footplate.store.values import Stored

UNFINISHED = -1


def begin(tx: Transaction) -> int:
    """A log that nobody sees; its number."""
    made = tx.connection.execute("INSERT INTO logs (session, epoch) VALUES (NULL, ?)", (UNFINISHED,))
    return made.lastrowid or 0


def add(tx: Transaction, num: int, rows: Sequence[tuple[Stored, int]]) -> None:
    """Events for it, each with its epoch."""
    values = [(num, stored.seq, epoch, stored.version, stored.body) for stored, epoch in rows]
    insert_rows(tx.connection, EVENTS, values)


def finish(tx: Transaction, num: int, folding: Folding, epoch: int) -> None:
    """Show it as the log of its session, unless there is one already."""
    session = folding.index.session.session
    if tx.heads.get(session) is not None:
        raise InvalidValue("session", session, "a session that is not in the store; delete the one that is there first")
    tx.connection.execute("UPDATE logs SET session = ?, epoch = ? WHERE num = ?", (session, epoch, num))
    write_folding(tx, num, folding)
    tx.rung.add(session_bell(session))


def abandon(tx: Transaction) -> None:
    """Leave every unfinished import to be purged. For the start, when none can be under way."""
    tx.connection.execute("UPDATE logs SET epoch = 0 WHERE session IS NULL AND epoch = ?", (UNFINISHED,))


def abandon_one(tx: Transaction, num: int) -> None:
    """Leave this import to be purged."""
    tx.connection.execute("UPDATE logs SET epoch = 0 WHERE num = ?", (num,))
