"""The index over sessions and requests in SQL: listing it, and folding it anew."""

from __future__ import annotations

import sqlite3
from itertools import starmap

import msgspec
from msgspec.structs import replace

from footplate.events.ids import RequestId, SessionId
from footplate.store.base import LIST_LIMIT
from footplate.store.entries import check_limit
from footplate.store.paging import make_page, read_mark, write_mark
from footplate.store.projection import Folding, RequestRow, SessionRow
from footplate.store.sqlite.logs import read_log
from footplate.store.sqlite.readers import Readers
from footplate.store.sqlite.rows import Value, marks
from footplate.store.sqlite.transaction import Transaction, delete_rows, write_ends, write_requests, write_sessions
from footplate.store.values import Page, RequestFilter, SessionFilter

CHUNK = 500

_SESSIONS = """SELECT row, ends.epoch, ends.seq, ends.time FROM session_rows
JOIN log_ends AS ends USING (log)"""

_session_decoder = msgspec.json.Decoder(SessionRow)
_request_decoder = msgspec.json.Decoder(RequestRow)


class _Where:
    """Conditions and their values, put together as they come."""

    def __init__(self) -> None:
        self._conditions = ["1"]
        self.values: list[Value] = []

    def add(self, condition: str, *values: Value) -> None:
        self._conditions.append(condition)
        self.values.extend(values)

    @property
    def text(self) -> str:
        return " AND ".join(self._conditions)


class SqliteProjections:
    """The index as its tables have it."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    async def session(self, session: SessionId) -> SessionRow | None:
        """The row of a session, if it has any event."""
        return await self._readers.read(_session, session)

    async def sessions(
        self, only: SessionFilter | None = None, *, after: str | None = None, limit: int = LIST_LIMIT
    ) -> Page[SessionRow]:
        """The sessions, the latest active first."""
        check_limit(limit)
        where = _sessions_where(only or SessionFilter(), after)
        rows = await self._readers.read(_sessions, where, limit + 1)
        return make_page(rows, limit, lambda row: write_mark((row.updated_at, row.session, "")))

    async def unfinished(self, *, after: str | None = None, limit: int = LIST_LIMIT) -> Page[SessionRow]:
        """Sessions that a service which starts must open."""
        check_limit(limit)
        rows = await self._readers.read(_unfinished, after or "", limit + 1)
        return make_page(rows, limit, lambda row: row.session)

    async def request(self, session: SessionId, request: RequestId) -> RequestRow | None:
        """The row of a request, whatever became of it."""
        found = await self.requests(RequestFilter(session=session, request=request), limit=1)
        return found.items[0] if found.items else None

    async def requests(
        self, only: RequestFilter | None = None, *, after: str | None = None, limit: int = LIST_LIMIT
    ) -> Page[RequestRow]:
        """The requests, the oldest first."""
        check_limit(limit)
        where = _requests_where(only or RequestFilter(), after)
        rows = await self._readers.read(_requests, where, limit + 1)
        return make_page(rows, limit, lambda row: write_mark((row.opened_at, row.session, row.id)))


def _session(connection: sqlite3.Connection, session: SessionId) -> SessionRow | None:
    where = "WHERE log = (SELECT num FROM logs WHERE session = ?)"
    found = connection.execute(f"{_SESSIONS} {where}", (session,)).fetchone()
    return _to_session(*found) if found else None


def _to_session(row: bytes, epoch: int, seq: int, time: float) -> SessionRow:
    return replace(_session_decoder.decode(row), epoch=epoch, last_seq=seq, updated_at=time)


def _sessions_where(only: SessionFilter, after: str | None) -> _Where:
    where = _Where()
    if only.states:
        where.add(f"state IN ({marks(len(only.states))})", *only.states)
    if only.engine:
        where.add("engine = ?", only.engine)
    if only.cwd:
        where.add("cwd = ?", only.cwd)
    if only.asking:
        where.add("open_requests > 0")
    if after is not None:
        time, session, _ = read_mark(after)
        where.add("(ends.time, session) < (?, ?)", time, session)
    return where


def _sessions(connection: sqlite3.Connection, where: _Where, limit: int) -> list[SessionRow]:
    rows = connection.execute(
        f"{_SESSIONS} WHERE {where.text} ORDER BY ends.time DESC, session DESC LIMIT ?", (*where.values, limit)
    )
    return list(starmap(_to_session, rows))


def _unfinished(connection: sqlite3.Connection, after: str, limit: int) -> list[SessionRow]:
    rows = connection.execute(
        f"{_SESSIONS} WHERE unfinished = 1 AND session > ? ORDER BY session LIMIT ?", (after, limit)
    )
    return list(starmap(_to_session, rows))


def _requests_where(only: RequestFilter, after: str | None) -> _Where:
    where = _Where()
    if only.session is not None:
        where.add("log = (SELECT num FROM logs WHERE session = ?)", only.session)
    if only.request is not None:
        where.add("request = ?", only.request)
    if only.states:
        where.add(f"state IN ({marks(len(only.states))})", *only.states)
        if set(only.states) <= {"open", "answered"}:
            where.add("state IN ('open', 'answered')")  # says to SQLite that its index of these will do
    if only.kinds:
        where.add(f"kind IN ({marks(len(only.kinds))})", *only.kinds)
    if only.detached is not None:
        where.add("detached = ?", int(only.detached))
    if after is not None:
        where.add("(opened_at, session, request) > (?, ?, ?)", *read_mark(after))
    return where


def _requests(connection: sqlite3.Connection, where: _Where, limit: int) -> list[RequestRow]:
    rows = connection.execute(
        f"SELECT row FROM request_rows WHERE {where.text} ORDER BY opened_at, session, request LIMIT ?",
        (*where.values, limit),
    )
    return [_request_decoder.decode(row) for (row,) in rows]


# ----------------------------------------------------------------------------------------------- rebuilding


def list_logs(connection: sqlite3.Connection) -> list[tuple[int, SessionId]]:
    """Every log that is a session's."""
    rows = connection.execute("SELECT num, session FROM logs WHERE session IS NOT NULL ORDER BY num")
    return [(int(num), SessionId(session)) for num, session in rows]


def fold_log(connection: sqlite3.Connection, num: int, folding: Folding) -> Folding:
    """Fold the events of a log that the folding has not seen yet."""
    session = folding.index.session.session
    while rows := read_log(connection, num, session, folding.last_seq, CHUNK):
        folding.add(row.envelope() for row in rows)
    return folding


def replace_rows(tx: Transaction, num: int, folding: Folding) -> bool:
    """Put a log's rows, folded up to some event, in the place of what is there; False when the log is gone."""
    session = folding.index.session.session
    head = tx.heads.get(session)
    if head is None or head.num != num:
        return False
    tx.flush()
    fold_log(tx.connection, num, folding)
    delete_rows(tx.connection, num)
    write_folding(tx, num, folding)
    head.index, head.listed = folding.index, bool(folding.last_seq)
    return True


def write_folding(tx: Transaction, num: int, folding: Folding) -> None:
    """Write the rows of a log that has none."""
    if folding.last_seq:
        row = folding.index.session
        write_sessions(tx.connection, [(num, row)])
        write_ends(tx.connection, [num, row.epoch, row.last_seq, row.updated_at])
        write_requests(tx.connection, [(num, request) for request in folding.requests])
