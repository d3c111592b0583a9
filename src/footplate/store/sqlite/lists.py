"""Lists of sessions in SQL, the latest active first: a page costs what the page holds, whatever the store holds.

A list is merged from a few queries (arms), each of which walks one index in the order of the list and stops after a
page. Logs in `unsettled` have a later time than the indexes have; they are few, and an arm of their own sorts them.
"""

from __future__ import annotations

import sqlite3
from itertools import product
from typing import Final

import msgspec
from msgspec.structs import replace

from footplate.store.paging import read_mark
from footplate.store.projection import SessionRow
from footplate.store.sqlite.rows import Value, marks
from footplate.store.values import SessionFilter

TRIGRAM: Final = 3
"""A shorter text is in no trigram: sessions are then looked through in order of the list."""
CANDIDATES: Final = 900
"""With more of them, looking through the list finds a page sooner than sorting them would."""

COLUMNS = "ends.time, session, row, ends.epoch, ends.seq, archived"
ROWS = "session_rows CROSS JOIN log_ends AS ends USING (log)"
_LATEST = "ORDER BY ends.time DESC, session DESC LIMIT ?"

_Found = tuple[float, str, bytes, int, int, int]

_decoder = msgspec.json.Decoder(SessionRow)


class Where:
    """Conditions and their values, put together as they come."""

    def __init__(self) -> None:
        self._conditions = ["1"]
        self.values: list[Value] = []

    def add(self, condition: str, *values: Value) -> None:
        """Require this too."""
        self._conditions.append(condition)
        self.values.extend(values)

    @property
    def text(self) -> str:
        """All of them as SQL."""
        return " AND ".join(self._conditions)


def to_session(time: float, _session: str, row: bytes, epoch: int, seq: int, archived: int) -> SessionRow:
    """The row of a session from `COLUMNS`."""
    return replace(_decoder.decode(row), epoch=epoch, last_seq=seq, updated_at=time, archived=bool(archived))


def list_sessions(
    connection: sqlite3.Connection, only: SessionFilter, after: str | None, limit: int, *, has_index: bool
) -> list[SessionRow]:
    """The sessions after a mark."""
    connection.execute("BEGIN")  # all arms must see one state, or a session that moves between them is missed
    try:
        candidates = _find_candidates(connection, only.text.casefold()) if only.text and has_index else None
        if candidates is not None:
            found = _read_some(connection, candidates, only, after, limit)
        else:
            found = _read_unsettled(connection, only, after, limit)
            for archived, state in product(_archived(only), only.states or ("",)):
                found += _walk(connection, only, after, limit, archived=archived, state=state)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    found.sort(key=lambda row: row[:2], reverse=True)
    return [to_session(*row) for row in found[:limit]]


def _find_candidates(connection: sqlite3.Connection, text: str) -> list[int] | None:
    """The logs that may contain the text (which is folded), among them all that do; None when they are too many."""
    if len(text) < TRIGRAM:
        return None
    due = connection.execute("SELECT log FROM search_due LIMIT ?", (CANDIDATES + 1,)).fetchall()
    if len(due) > CANDIDATES:
        return None
    # Wildcards in the text only find more: the caller compares each candidate with the text itself.
    found = connection.execute(
        "SELECT rowid FROM search WHERE text LIKE ? LIMIT ?", (f"%{text}%", CANDIDATES + 1)
    ).fetchall()
    candidates = {int(log) for (log,) in (*due, *found)}
    return list(candidates) if len(candidates) <= CANDIDATES else None


def _archived(only: SessionFilter) -> tuple[int, ...]:
    return (0, 1) if only.archived is None else (int(only.archived),)


def _walk(
    connection: sqlite3.Connection, only: SessionFilter, after: str | None, limit: int, *, archived: int, state: str
) -> list[_Found]:
    """Those whose time is in the indexes, in the order of the one that fits best."""
    where = Where()
    where.add("archived = ?", archived)
    if state:
        where.add("state = ?", state)
    _add_common(where, only)
    if after is not None:
        where.add("(updated_at, session) < (?, ?)", *read_mark(after)[:2])
    return connection.execute(
        f"""SELECT {COLUMNS} FROM session_rows INDEXED BY {_choose_index(only)} CROSS JOIN log_ends AS ends USING (log)
        WHERE {where.text} AND log NOT IN unsettled ORDER BY updated_at DESC, session DESC LIMIT ?""",
        (*where.values, limit),
    ).fetchall()


def _choose_index(only: SessionFilter) -> str:
    if only.asking:
        return "sessions_asking"
    if only.engine_session is not None:
        return "sessions_by_engine_session"
    if only.cwd:
        return "sessions_by_cwd"
    if only.states:
        return "sessions_by_state"
    return "sessions_by_engine" if only.engine else "sessions_by_time"


def _read_unsettled(connection: sqlite3.Connection, only: SessionFilter, after: str | None, limit: int) -> list[_Found]:
    where = _make_where(only, after)
    return connection.execute(
        f"""SELECT {COLUMNS} FROM unsettled CROSS JOIN session_rows USING (log) CROSS JOIN log_ends AS ends USING (log)
        WHERE {where.text} {_LATEST}""",
        (*where.values, limit),
    ).fetchall()


def _read_some(
    connection: sqlite3.Connection, logs: list[int], only: SessionFilter, after: str | None, limit: int
) -> list[_Found]:
    where = _make_where(only, after)
    where.add(f"log IN ({marks(len(logs))})", *logs)
    return connection.execute(
        f"SELECT {COLUMNS} FROM {ROWS} WHERE {where.text} {_LATEST}", (*where.values, limit)
    ).fetchall()


def _make_where(only: SessionFilter, after: str | None) -> Where:
    where = Where()
    if only.archived is not None:
        where.add("archived = ?", int(only.archived))
    if only.states:
        where.add(f"state IN ({marks(len(only.states))})", *only.states)
    _add_common(where, only)
    if after is not None:
        where.add("(ends.time, session) < (?, ?)", *read_mark(after)[:2])
    return where


def _add_common(where: Where, only: SessionFilter) -> None:
    if only.engine:
        where.add("engine = ?", only.engine)
    if only.engine_session is not None:
        where.add("engine_session = ?", only.engine_session)
    if only.cwd:
        where.add("cwd = ?", only.cwd)
    if only.asking:
        where.add("open_requests > 0")
    if only.text:
        where.add("instr(text, ?) > 0", only.text.casefold())
