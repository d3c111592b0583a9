"""Schema 2: where a log ends lies beside the session's row, which changes far less often."""

from __future__ import annotations

STATEMENTS = (
    # Of the last event. Belongs to the index: the same three in `session_rows.row` are as of its last change.
    """CREATE TABLE log_ends (
        log INTEGER PRIMARY KEY,
        epoch INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        time REAL NOT NULL
    )""",
    """INSERT INTO log_ends (log, epoch, seq, time)
    SELECT rows.log, events.epoch, events.seq, rows.updated_at FROM session_rows AS rows
    JOIN events ON events.log = rows.log AND events.seq = (SELECT max(seq) FROM events WHERE log = rows.log)""",
)
