"""Schema 5: lists of sessions in order of their last activity, by index; the text that a search looks in.

`session_rows.updated_at` is indexed and therefore not written with every append: a log that has later events stands in
`unsettled` until the column is brought up to date in the background. `search_due` names the logs whose text is not in
the full-text index yet, or no longer; the triggers keep it, so that no writer can forget to.
"""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec

_CHUNK = 500


def fill_columns(connection: sqlite3.Connection) -> None:
    """The engine's own id, and what `projection.search_text` gives, of each row."""
    after = 0
    while rows := connection.execute(
        "SELECT log, row FROM session_rows WHERE log > ? ORDER BY log LIMIT ?", (after, _CHUNK)
    ).fetchall():
        values = []
        for log, body in rows:
            row: dict[str, Any] = msgspec.json.decode(body)
            parts = (row.get("title", ""), row.get("cwd", ""), row["session"])
            values.append(("\x1f".join(parts).casefold(), row.get("engine_session_id"), log))
        connection.executemany("UPDATE session_rows SET text = ?, engine_session = ? WHERE log = ?", values)
        after = rows[-1][0]


STATEMENTS = (
    "ALTER TABLE session_rows ADD COLUMN archived INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE session_rows ADD COLUMN text TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE session_rows ADD COLUMN engine_session TEXT",
    fill_columns,
    """UPDATE session_rows SET
        updated_at = coalesce((SELECT time FROM log_ends WHERE log_ends.log = session_rows.log), updated_at),
        archived = EXISTS (SELECT 1 FROM documents WHERE namespace = 'archived' AND key = session)""",
    "DROP INDEX sessions_closed",
    "CREATE TABLE unsettled (log INTEGER PRIMARY KEY)",
    "CREATE TABLE search_due (log INTEGER PRIMARY KEY)",
    "INSERT INTO search_due (log) SELECT log FROM session_rows",
    # Each of them begins with what is compared for equality and ends with the order of the list.
    "CREATE INDEX sessions_by_time ON session_rows (archived, updated_at, session)",
    "CREATE INDEX sessions_by_state ON session_rows (archived, state, updated_at, session)",
    "CREATE INDEX sessions_by_engine ON session_rows (archived, engine, updated_at, session)",
    "CREATE INDEX sessions_by_cwd ON session_rows (archived, cwd, updated_at, session)",
    """CREATE INDEX sessions_by_engine_session ON session_rows (archived, engine_session, updated_at, session)
    WHERE engine_session IS NOT NULL""",
    "CREATE INDEX sessions_asking ON session_rows (archived, updated_at, session) WHERE open_requests > 0",
    "CREATE INDEX requests_by_id ON request_rows (request)",
    # In a trigger OR IGNORE gives way to the conflict clause of the statement that fired it.
    """CREATE TRIGGER session_listed AFTER INSERT ON session_rows BEGIN
        INSERT INTO search_due (log) SELECT new.log WHERE new.log NOT IN search_due;
        UPDATE session_rows SET archived = 1 WHERE log = new.log
            AND EXISTS (SELECT 1 FROM documents WHERE namespace = 'archived' AND key = new.session);
    END""",
    """CREATE TRIGGER session_renamed AFTER UPDATE OF text ON session_rows WHEN old.text <> new.text BEGIN
        INSERT INTO search_due (log) SELECT new.log WHERE new.log NOT IN search_due;
    END""",
    """CREATE TRIGGER session_unlisted AFTER DELETE ON session_rows BEGIN
        INSERT INTO search_due (log) SELECT old.log WHERE old.log NOT IN search_due;
        DELETE FROM unsettled WHERE log = old.log;
    END""",
    """CREATE TRIGGER session_archived AFTER INSERT ON documents WHEN new.namespace = 'archived' BEGIN
        UPDATE session_rows SET archived = 1 WHERE log = (SELECT num FROM logs WHERE session = new.key);
    END""",
    """CREATE TRIGGER session_unarchived AFTER DELETE ON documents WHEN old.namespace = 'archived' BEGIN
        UPDATE session_rows SET archived = 0 WHERE log = (SELECT num FROM logs WHERE session = old.key);
    END""",
)
