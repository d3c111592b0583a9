"""Schema 6: the audit log as a chain. What an earlier version kept of answers, as documents, is its beginning."""

from __future__ import annotations

import sqlite3

from footplate.store.chain import AuditHead, link


def chain_documents(connection: sqlite3.Connection) -> None:
    """Documents of the namespace `audit`, in their order, as records."""
    head = AuditHead()
    rows = connection.execute("SELECT time, body FROM documents WHERE namespace = 'audit' ORDER BY key").fetchall()
    for time, body in rows:
        row = link(head, b'{"act":"answer",' + bytes(body)[1:])
        head = row.head
        connection.execute("INSERT INTO audit VALUES (?, ?, ?, ?)", (row.number, time, row.hash, row.body))


STATEMENTS = (
    "CREATE TABLE audit (number INTEGER PRIMARY KEY, time REAL NOT NULL, hash TEXT NOT NULL, body BLOB NOT NULL)",
    "CREATE INDEX audit_by_time ON audit (time)",
    chain_documents,
    "DELETE FROM documents WHERE namespace = 'audit'",
)
