"""Looking for damage: in the file, and in what it holds."""

from __future__ import annotations

import sqlite3
import time
from typing import Final

from footplate.errors import StoreCorrupt

QUICK_S: Final = 1.0
STEPS: Final = 20_000

_HOLES = """SELECT session, count(*), min(seq), max(seq) FROM events JOIN logs ON num = log WHERE session IS NOT NULL
GROUP BY log HAVING min(seq) <> 1 OR max(seq) <> count(*)"""
_UNLISTED = """SELECT session FROM logs WHERE session IS NOT NULL AND EXISTS (SELECT 1 FROM events WHERE log = num)
AND NOT EXISTS (
    SELECT 1 FROM session_rows JOIN log_ends AS ends USING (log)
    WHERE log = num AND ends.seq = (SELECT max(seq) FROM events WHERE log = num)
)"""


def find_damage(connection: sqlite3.Connection) -> tuple[str, ...]:
    """What is wrong, one line each. Of a damaged file only the damage is told: nothing else in it can be trusted."""
    damage = _find_in_file(connection)
    if damage:
        return damage
    holes = tuple(
        f"session {session}: {count} events numbered {low} to {high}"
        for session, count, low, high in connection.execute(_HOLES)
    )
    unlisted = tuple(f"session {session}: not in the index" for (session,) in connection.execute(_UNLISTED))
    return holes + unlisted


def find_damage_quickly(connection: sqlite3.Connection, within_s: float = QUICK_S) -> None:
    """Raise `StoreCorrupt` for damage that is found within some time; a large file is looked at in part."""
    until = time.monotonic() + within_s
    connection.set_progress_handler(lambda: time.monotonic() > until, STEPS)
    try:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        return
    if found != ("ok",):
        (_, _, path) = connection.execute("PRAGMA database_list").fetchone()
        raise StoreCorrupt(path, found[0])


def _find_in_file(connection: sqlite3.Connection) -> tuple[str, ...]:
    try:
        rows = connection.execute("PRAGMA integrity_check").fetchall()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise
        return (str(error),)
    return tuple(str(row[0]) for row in rows if row[0] != "ok")
