"""The index over sessions and requests in SQL: listing it, and folding it anew."""

from __future__ import annotations

import sqlite3
from functools import partial
from itertools import starmap

import msgspec

from footplate.events.ids import RequestId, SessionId
from footplate.events.model import SessionState
from footplate.store.base import LIST_LIMIT
from footplate.store.entries import check_limit
from footplate.store.paging import make_page, read_mark, write_mark
from footplate.store.projection import Folding, RequestRow, SessionRow, mark_of
from footplate.store.sqlite.lists import COLUMNS, ROWS, Where, list_sessions, to_session
from footplate.store.sqlite.logs import read_log
from footplate.store.sqlite.readers import Readers
from footplate.store.sqlite.rows import marks
from footplate.store.sqlite.transaction import Transaction, delete_rows, write_ends, write_requests, write_sessions
from footplate.store.values import Page, RequestFilter, SessionFilter

CHUNK = 500

_SESSIONS = f"SELECT {COLUMNS} FROM {ROWS}"

_request_decoder = msgspec.json.Decoder(RequestRow)


class SqliteProjections:
    """The index as its tables have it."""

    def __init__(self, readers: Readers, searchers: Readers, *, has_index: bool) -> None:
        self._readers = readers
        self._searchers = searchers
        self._has_index = has_index

    async def session(self, session: SessionId) -> SessionRow | None:
        """The row of a session, if it has any event."""
        return await self._readers.read(_session, session)

    async def sessions(
        self, only: SessionFilter | None = None, *, after: str | None = None, limit: int = LIST_LIMIT
    ) -> Page[SessionRow]:
        """The sessions, the latest active first."""
        check_limit(limit)
        wanted = only or SessionFilter()
        list_them = partial(list_sessions, has_index=self._has_index)
        # A search may take long, and must not keep others from reading.
        readers = self._searchers if wanted.text else self._readers
        rows = await readers.read(list_them, wanted, after, limit + 1)
        return make_page(rows, limit, mark_of)

    async def count_states(self) -> dict[SessionState, int]:
        """How many sessions there are in each state."""
        return await self._readers.read(_count_states)

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
    return to_session(*found) if found else None


def _count_states(connection: sqlite3.Connection) -> dict[SessionState, int]:
    return dict(connection.execute("SELECT state, count(*) FROM session_rows GROUP BY state").fetchall())


def _unfinished(connection: sqlite3.Connection, after: str, limit: int) -> list[SessionRow]:
    rows = connection.execute(
        f"{_SESSIONS} WHERE unfinished = 1 AND session > ? ORDER BY session LIMIT ?", (after, limit)
    )
    return list(starmap(to_session, rows))


def _requests_where(only: RequestFilter, after: str | None) -> Where:
    where = Where()
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


def _requests(connection: sqlite3.Connection, where: Where, limit: int) -> list[RequestRow]:
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
    head.stored = folding.index.session if head.listed else None
    head.settled = True
    return True


def write_folding(tx: Transaction, num: int, folding: Folding) -> None:
    """Write the rows of a log that has none."""
    if folding.last_seq:
        row = folding.index.session
        write_sessions(tx.connection, [(num, row)])
        write_ends(tx.connection, [num, row.epoch, row.last_seq, row.updated_at])
        write_requests(tx.connection, [(num, request) for request in folding.requests])
