"""Schema 7: raw lines in compressed blocks, numbered densely in each session.

`logs.frames` is the number of the last line that was ever stored, so that numbers go on after retention has removed
lines. A block is found by the session and the number of its first line; its index also holds the sizes, whose sum is
needed once when the store is opened.
"""

from __future__ import annotations

import sqlite3
import zlib

import msgspec

_CHUNK = 500
_INSERT = "INSERT INTO frame_blocks (log, first, last, time, directions, size, body) VALUES (?, ?, ?, ?, ?, ?, ?)"


def move_rows(connection: sqlite3.Connection) -> None:
    """Put the rows of the older table into blocks, in the order in which they were read: by event."""
    for (log,) in connection.execute("SELECT DISTINCT log FROM frames").fetchall():
        rows = connection.execute("SELECT seq, time, direction, raw FROM frames WHERE log = ? ORDER BY seq, id", (log,))
        number = 0
        while chunk := rows.fetchmany(_CHUNK):
            # A line cannot hold a newline; the older table did not check that.
            lines = [(kind, time, seq, raw.replace(b"\n", b" ") + b"\n", 0) for seq, time, kind, raw in chunk]
            body = zlib.compress(msgspec.msgpack.encode(lines), 1)
            directions = sum({"in": 1, "out": 2}[kind] for kind in {line[0] for line in lines})
            row = (log, number + 1, number + len(chunk), lines[-1][1], directions, len(body), body)
            connection.execute(_INSERT, row)
            number += len(chunk)
        connection.execute("UPDATE logs SET frames = ? WHERE num = ?", (number, log))


STATEMENTS = (
    """CREATE TABLE frame_blocks (
        id INTEGER PRIMARY KEY,
        log INTEGER NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        time REAL NOT NULL,
        directions INTEGER NOT NULL,
        size INTEGER NOT NULL,
        body BLOB NOT NULL
    )""",
    "CREATE INDEX frame_blocks_by_number ON frame_blocks (log, first, size)",
    "ALTER TABLE logs ADD COLUMN frames INTEGER NOT NULL DEFAULT 0",
    move_rows,
    "DROP TABLE frames",
)
