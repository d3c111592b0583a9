"""Many rows in few statements: a statement costs a turn of the interpreter's lock, a row costs next to nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cache

Value = str | bytes | int | float | None
Row = tuple[Value, ...]

CHUNKS = (64, 16, 4, 1)


@cache
def _statement(head: str, tail: str, columns: int, rows: int) -> str:
    row = f"({', '.join('?' * columns)})"
    return f"{head} VALUES {', '.join([row] * rows)}{tail}"


def insert_rows(connection: sqlite3.Connection, head: str, rows: Sequence[Row], *, tail: str = "") -> None:
    """Run `head VALUES (...), (...) tail` for all the rows, in chunks of a few sizes so that statements are reused."""
    start = 0
    for size in CHUNKS:
        while len(rows) - start >= size:
            chunk = rows[start : start + size]
            values = [value for row in chunk for value in row]
            connection.execute(_statement(head, tail, len(chunk[0]), size), values)
            start += size


def marks(count: int) -> str:
    """So many question marks, for `IN (...)`."""
    return ", ".join("?" * count)
