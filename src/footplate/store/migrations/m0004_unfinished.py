"""Schema 4: the session row says whether a service that starts must open the session, and an index finds those.

The waiting prompts, and until when a session is parked, are not in older rows: they are read from the logs once.
"""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec

# Every event that has to do with a prompt names it in a field that begins so; few others match.
_PROMPTS = "SELECT body FROM events WHERE log = ? AND instr(body, CAST('\"prompt' AS BLOB)) ORDER BY seq"
_PARKED = "SELECT body FROM events WHERE log = ? AND instr(body, CAST('\"Parked\"' AS BLOB)) ORDER BY seq DESC LIMIT 1"
_ANSWERED = "SELECT count(*) FROM request_rows WHERE log = ? AND state = 'answered'"
_CHUNK = 500


def fill(connection: sqlite3.Connection) -> None:
    """Bring the rows of all sessions that are not closed up to date."""
    after = 0
    while rows := connection.execute(
        "SELECT log, row FROM session_rows WHERE log > ? AND state <> 'closed' ORDER BY log LIMIT ?", (after, _CHUNK)
    ).fetchall():
        for log, body in rows:
            row: dict[str, Any] = msgspec.json.decode(body)
            _fill_row(connection, log, row)
            connection.execute(
                "UPDATE session_rows SET unfinished = ?, row = ? WHERE log = ?",
                (int("unfinished" in row), msgspec.json.encode(row), log),
            )
        after = rows[-1][0]


def _fill_row(connection: sqlite3.Connection, log: int, row: dict[str, Any]) -> None:
    waiting = _find_waiting(connection, log)
    if waiting:
        row["waiting_prompts"] = waiting
    if row.get("state") == "parked" and "until" not in row:
        parked = connection.execute(_PARKED, (log,)).fetchone()
        until = _event(parked[0]).get("until") if parked else None
        if until is not None:
            row["until"] = until
    (answered,) = connection.execute(_ANSWERED, (log,)).fetchone()
    in_turn = row.get("turn") is not None and not row.get("open_requests")
    if waiting or answered or in_turn or row.get("attached") or row.get("until") is not None:
        row["unfinished"] = True


def _find_waiting(connection: sqlite3.Connection, log: int) -> list[str]:
    waiting: dict[str, None] = {}
    for (body,) in connection.execute(_PROMPTS, (log,)):
        event = _event(body)
        match event.get("type"):
            case "PromptQueued":
                waiting.setdefault(event["prompt"])
            case "PromptWithdrawn" | "PromptSteered" | "UserMessage":
                waiting.pop(event.get("prompt", ""), None)
            case "TurnStarted" | "TurnEnded":
                for prompt in event.get("prompts", ()):
                    waiting.pop(prompt, None)
            case _:
                pass
    return list(waiting)


def _event(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(body)["event"]
    return found


STATEMENTS = (
    "ALTER TABLE session_rows ADD COLUMN unfinished INTEGER NOT NULL DEFAULT 0",
    fill,
    "CREATE INDEX sessions_unfinished ON session_rows (session) WHERE unfinished = 1",
)
