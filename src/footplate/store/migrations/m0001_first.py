"""Schema 1: logs and their events, frames, journals, documents, queues, and the index over sessions and requests."""

from __future__ import annotations

STATEMENTS = (
    # A log without a session is being removed, or is an import that is not finished.
    """CREATE TABLE logs (
        num INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT UNIQUE,
        epoch INTEGER NOT NULL
    )""",
    """CREATE TABLE events (
        id INTEGER PRIMARY KEY,
        log INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        version INTEGER NOT NULL,
        body BLOB NOT NULL
    )""",
    "CREATE UNIQUE INDEX events_by_seq ON events (log, seq)",
    # `total` is the running sum of sizes: what lies between two rows is the difference of theirs.
    """CREATE TABLE frames (
        id INTEGER PRIMARY KEY,
        log INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        time REAL NOT NULL,
        direction TEXT NOT NULL,
        total INTEGER NOT NULL,
        raw BLOB NOT NULL
    )""",
    "CREATE INDEX frames_by_seq ON frames (log, seq)",
    # `cut` is the last number that retention removed.
    """CREATE TABLE journals (
        num INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        cut INTEGER NOT NULL DEFAULT 0
    )""",
    """CREATE TABLE entries (
        id INTEGER PRIMARY KEY,
        journal INTEGER NOT NULL,
        number INTEGER NOT NULL,
        time REAL NOT NULL,
        total INTEGER NOT NULL,
        body BLOB NOT NULL
    )""",
    "CREATE UNIQUE INDEX entries_by_number ON entries (journal, number)",
    # A change is a new row: its version is never used twice.
    """CREATE TABLE documents (
        version INTEGER PRIMARY KEY AUTOINCREMENT,
        namespace TEXT NOT NULL,
        key TEXT NOT NULL,
        time REAL NOT NULL,
        body BLOB NOT NULL,
        UNIQUE (namespace, key)
    )""",
    """CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        namespace TEXT NOT NULL,
        key TEXT,
        lane TEXT NOT NULL,
        due REAL NOT NULL,
        attempts INTEGER NOT NULL,
        done REAL,
        body BLOB NOT NULL
    )""",
    "CREATE UNIQUE INDEX messages_by_key ON messages (namespace, key) WHERE key IS NOT NULL",
    "CREATE INDEX messages_waiting ON messages (namespace, id) WHERE done IS NULL",
    "CREATE INDEX messages_in_lane ON messages (namespace, lane, id) WHERE done IS NULL AND lane <> ''",
    "CREATE INDEX messages_done ON messages (done) WHERE done IS NOT NULL",
    # The index can be dropped and folded again from the events.
    """CREATE TABLE session_rows (
        log INTEGER PRIMARY KEY,
        session TEXT NOT NULL,
        state TEXT NOT NULL,
        engine TEXT NOT NULL,
        cwd TEXT NOT NULL,
        open_requests INTEGER NOT NULL,
        updated_at REAL NOT NULL,
        row BLOB NOT NULL
    )""",
    "CREATE INDEX sessions_closed ON session_rows (updated_at) WHERE state = 'closed'",
    """CREATE TABLE request_rows (
        log INTEGER NOT NULL,
        request TEXT NOT NULL,
        session TEXT NOT NULL,
        kind TEXT NOT NULL,
        state TEXT NOT NULL,
        detached INTEGER NOT NULL,
        opened_at REAL NOT NULL,
        row BLOB NOT NULL,
        PRIMARY KEY (log, request)
    )""",
    "CREATE INDEX requests_pending ON request_rows (opened_at) WHERE state IN ('open', 'answered')",
)
