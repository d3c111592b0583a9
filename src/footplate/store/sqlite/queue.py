"""Queues in SQL."""

from __future__ import annotations

import sqlite3

from footplate.store.bells import Bells, queue_bell
from footplate.store.entries import check_limit
from footplate.store.follow import wait_for_messages
from footplate.store.sqlite.readers import Readers
from footplate.store.sqlite.rows import marks
from footplate.store.sqlite.transaction import Transaction
from footplate.store.sqlite.writer import Writer
from footplate.store.values import Message, Put

_FIRST_OF_LANE = """(lane = '' OR NOT EXISTS (
    SELECT 1 FROM messages AS earlier
    WHERE earlier.namespace = messages.namespace AND earlier.lane = messages.lane AND earlier.lane <> ''
    AND earlier.done IS NULL AND earlier.id < messages.id
))"""


class SqliteQueue:
    """The queue of one namespace."""

    def __init__(self, namespace: str, writer: Writer, readers: Readers, bells: Bells) -> None:
        self._namespace = namespace
        self._writer = writer
        self._readers = readers
        self._bells = bells

    async def put(
        self, body: bytes, *, key: str | None = None, lane: str = "", delay_s: float = 0.0, durable: bool = True
    ) -> Put:
        """Add a message, unless its key is known."""
        return await self._writer.write(_put, self._namespace, body, key, lane, delay_s, durable=durable)

    async def claim(self, limit: int = 1, *, visibility_s: float = 30.0) -> list[Message]:
        """Hand out what is due, oldest first."""
        check_limit(limit)
        return await self._writer.write(_claim, self._namespace, limit, visibility_s)

    async def take(self, limit: int = 1, *, visibility_s: float = 30.0) -> list[Message]:
        """As `claim`, and wait until there is at least one."""
        return await wait_for_messages(
            self._bells,
            queue_bell(self._namespace),
            lambda: self.claim(limit, visibility_s=visibility_s),
            lambda: self._writer.write(_next_due_s, self._namespace),
        )

    async def ack(self, message: Message, *, durable: bool = True) -> bool:
        """It is done."""
        return await self._writer.write(_ack, self._namespace, message, durable=durable)

    async def nack(self, message: Message, *, delay_s: float = 0.0) -> bool:
        """It is not done: hand it out again after the delay."""
        return await self._writer.write(_nack, self._namespace, message, delay_s)

    async def size(self) -> int:
        """How many are not done."""
        return await self._readers.read(_size, self._namespace)


def _put(tx: Transaction, namespace: str, body: bytes, key: str | None, lane: str, delay_s: float) -> Put:
    if key is not None:
        found = tx.connection.execute(
            "SELECT id FROM messages WHERE namespace = ? AND key = ?", (namespace, key)
        ).fetchone()
        if found is not None:
            return Put(int(found[0]), added=False)
    made = tx.connection.execute(
        "INSERT INTO messages (namespace, key, lane, due, attempts, body) VALUES (?, ?, ?, ?, 0, ?)",
        (namespace, key, lane, tx.clock() + delay_s, body),
    )
    tx.rung.add(queue_bell(namespace))
    return Put(made.lastrowid or 0, added=True)


def _claim(tx: Transaction, namespace: str, limit: int, visibility_s: float) -> list[Message]:
    now = tx.clock()
    rows = tx.connection.execute(
        f"""SELECT id, body, attempts + 1, key, lane FROM messages
        WHERE namespace = ? AND done IS NULL AND due <= ? AND {_FIRST_OF_LANE} ORDER BY id LIMIT ?""",
        (namespace, now, limit),
    ).fetchall()
    if rows:
        tx.connection.execute(
            f"UPDATE messages SET attempts = attempts + 1, due = ? WHERE id IN ({marks(len(rows))})",
            (now + visibility_s, *(row[0] for row in rows)),
        )
    return [
        Message(id=id_, body=body, attempts=attempts, key=key, lane=lane) for id_, body, attempts, key, lane in rows
    ]


def _next_due_s(tx: Transaction, namespace: str) -> float | None:
    """How long until the next message may be handed out; None: not before something happens."""
    (due,) = tx.connection.execute(
        f"SELECT min(due) FROM messages WHERE namespace = ? AND done IS NULL AND {_FIRST_OF_LANE}", (namespace,)
    ).fetchone()
    return None if due is None else max(0.0, due - tx.clock())


def _ack(tx: Transaction, namespace: str, message: Message) -> bool:
    """A message with a key leaves the key behind, for a while; one without leaves nothing."""
    mine = (message.id, namespace, message.attempts)
    where = "WHERE id = ? AND namespace = ? AND attempts = ? AND done IS NULL"
    if message.key is None:
        changed = tx.connection.execute(f"DELETE FROM messages {where}", mine)
    else:
        changed = tx.connection.execute(f"UPDATE messages SET done = ?, body = x'' {where}", (tx.clock(), *mine))
    if message.lane:
        tx.rung.add(queue_bell(namespace))
    return changed.rowcount > 0


def _nack(tx: Transaction, namespace: str, message: Message, delay_s: float) -> bool:
    changed = tx.connection.execute(
        "UPDATE messages SET due = ? WHERE id = ? AND namespace = ? AND attempts = ? AND done IS NULL",
        (tx.clock() + delay_s, message.id, namespace, message.attempts),
    )
    tx.rung.add(queue_bell(namespace))
    return changed.rowcount > 0


def _size(connection: sqlite3.Connection, namespace: str) -> int:
    (count,) = connection.execute(
        "SELECT count(*) FROM messages WHERE namespace = ? AND done IS NULL", (namespace,)
    ).fetchone()
    return int(count)
