"""Many rows in few statements: a statement costs a turn of the interpreter's lock, a row costs next to nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cache

Value = str | bytes | int | float | None
Row = tuple[Value, ...]

CHUNKS = (64, 16, 4, 1)
LAST_CHARACTER = "\U0010ffff"
"""What begins with a prefix comes before the prefix with this."""


@cache
def _statement(head: str, tail: str, columns: int, rows: int) -> str:
    row = f"({', '.join('?' * columns)})"
    return f"{head} VALUES {', '.join([row] * rows)}{tail}"


def insert_values(connection: sqlite3.Connection, head: str, columns: int, values: list[Value], tail: str = "") -> None:
    """Run `head VALUES (...), (...) tail` for rows of so many values each, which come one after another.

    In chunks of a few sizes, so that statements are reused.
    """
    start = 0
    for size in CHUNKS:
        width = size * columns
        while len(values) - start >= width:
            connection.execute(_statement(head, tail, columns, size), values[start : start + width])
            start += width


def insert_rows(connection: sqlite3.Connection, head: str, rows: Sequence[Row], *, tail: str = "") -> None:
    """As `insert_values`, for rows that are tuples."""
    if rows:
        insert_values(connection, head, len(rows[0]), [value for row in rows for value in row], tail)


def marks(count: int) -> str:
    """So many question marks, for `IN (...)`."""
    return ", ".join("?" * count)
