"""Sessions from elsewhere: those that Claude Code has on this machine, to look at and to go on with."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from msgspec import Meta

from footplate.engines.claude.history import History, HistoryPage
from footplate.engines.claude.resume import RESUME
from footplate.errors import PermissionDenied
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import Routes
from footplate.interfaces.http.sessions import describe
from footplate.interfaces.http.shapes import SessionInfo
from footplate.runtime.adoption import adopt_past

routes = Routes("history")


class HistoryQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Of which folder, all without one."""

    cwd: str | None = None
    after: str | None = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 50


@routes.get(
    "/api/history", scope="read", summary="Sessions that were started elsewhere, the latest first", answer=HistoryPage
)
async def list_history(call: Call, query: HistoryQuery) -> HistoryPage:
    history = History.of(call.api.services.environ, call.api.settings.engines)
    page = await asyncio.to_thread(lambda: history.list(cwd=query.cwd, limit=query.limit, after=query.after))
    if not call.grant.limited:
        return page
    seen = tuple(entry for entry in page.entries if entry.cwd and call.grant.reaches_folder(entry.cwd))
    return HistoryPage(entries=seen, after=page.after)


class Adopt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The engine's id of the session, the beginning of it, or its resume line."""

    session: Annotated[str, Meta(min_length=1, max_length=500)]


@routes.post(
    "/api/history/adopt",
    scope="drive",
    summary="Make a session from elsewhere one of ours, with its past; one that is ours already is answered as it is",
    status=201,
    answer=SessionInfo,
    problems=(404, 409),
)
async def adopt(call: Call, body: Adopt) -> SessionInfo:
    history = History.of(call.api.services.environ, call.api.settings.engines)
    token = RESUME.extract(body.session)
    entry = await asyncio.to_thread(history.find, token.value if token is not None else body.session)
    if not call.grant.reaches_folder(entry.cwd):
        raise PermissionDenied(f"the token {call.grant.name!r} does not reach {entry.cwd}")
    session = await adopt_past(call.api.store, history, entry, call.api.services.locks)
    return await describe(call, session)
