"""The index over sessions and requests, listed from memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from footplate.events.ids import RequestId, SessionId
from footplate.events.model import SessionState
from footplate.store.base import LIST_LIMIT
from footplate.store.entries import check_limit
from footplate.store.paging import Mark, make_page, read_mark, write_mark
from footplate.store.projection import Folding, RequestRow, SessionRow, mark_of, search_text
from footplate.store.values import Page, RequestFilter, SessionFilter


class MemoryProjections:
    """The index over what `foldings` gives: one for each session that there is."""

    def __init__(self, foldings: Callable[[], Iterable[Folding]], is_archived: Callable[[SessionId], bool]) -> None:
        self._foldings = foldings
        self._is_archived = is_archived

    def _rows(self) -> Iterator[SessionRow]:
        for folding in self._foldings():
            if folding.last_seq:
                row = folding.index.session
                yield replace(row, archived=True) if self._is_archived(row.session) else row

    async def session(self, session: SessionId) -> SessionRow | None:
        """The row of a session, if it has any event."""
        return next((row for row in self._rows() if row.session == session), None)

    async def sessions(
        self, only: SessionFilter | None = None, *, after: str | None = None, limit: int = LIST_LIMIT
    ) -> Page[SessionRow]:
        """The sessions, the latest active first."""
        check_limit(limit)
        wanted = only or SessionFilter()
        found = sorted((row for row in self._rows() if _is_session(row, wanted)), key=_session_mark, reverse=True)
        if after is not None:
            end = read_mark(after)
            found = [row for row in found if _session_mark(row) < end]
        return make_page(found, limit, mark_of)

    async def count_states(self) -> dict[SessionState, int]:
        """How many sessions there are in each state."""
        return dict(Counter(row.state for row in self._rows()))

    async def unfinished(self, *, after: str | None = None, limit: int = LIST_LIMIT) -> Page[SessionRow]:
        """Sessions that a service which starts must open."""
        check_limit(limit)
        rows = sorted(self._rows(), key=lambda row: row.session)
        found = [row for row in rows if row.unfinished and row.session > (after or "")]
        return make_page(found, limit, lambda row: row.session)

    async def request(self, session: SessionId, request: RequestId) -> RequestRow | None:
        """The row of a request, whatever became of it."""
        found = await self.requests(RequestFilter(session=session, request=request), limit=1)
        return found.items[0] if found.items else None

    async def requests(
        self, only: RequestFilter | None = None, *, after: str | None = None, limit: int = LIST_LIMIT
    ) -> Page[RequestRow]:
        """The requests, the oldest first."""
        check_limit(limit)
        wanted = only or RequestFilter()
        rows = (row for folding in self._foldings() for row in folding.requests)
        found = sorted((row for row in rows if _is_request(row, wanted)), key=_request_mark)
        if after is not None:
            end = read_mark(after)
            found = [row for row in found if _request_mark(row) > end]
        return make_page(found, limit, lambda row: write_mark(_request_mark(row)))


def _session_mark(row: SessionRow) -> Mark:
    return row.updated_at, row.session, ""


def _request_mark(row: RequestRow) -> Mark:
    return row.opened_at, row.session, row.id


def _is_session(row: SessionRow, only: SessionFilter) -> bool:
    return (
        (not only.states or row.state in only.states)
        and only.engine in ("", row.engine)
        and only.engine_session in (None, row.engine_session_id)
        and only.cwd in ("", row.cwd)
        and (not only.asking or row.open_requests > 0)
        and only.archived in (None, row.archived)
        and (not only.text or only.text.casefold() in search_text(row))
    )


def _is_request(row: RequestRow, only: RequestFilter) -> bool:
    return (
        only.session in (None, row.session)
        and only.request in (None, row.id)
        and (not only.states or row.state in only.states)
        and (not only.kinds or row.kind in only.kinds)
        and only.detached in (None, row.detached)
    )
