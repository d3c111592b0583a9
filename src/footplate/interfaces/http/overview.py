"""Over all sessions: what was used."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from msgspec import Meta

from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import Routes
from footplate.runtime.usage import Use, add_up, total
from footplate.runtime.worktrees import all_rows
from footplate.store.projection import SessionRow

routes = Routes("overview")
DAY_S = 86_400.0


async def reached_rows(call: Call) -> AsyncIterator[SessionRow]:
    """Every session that the caller reaches, the latest active first."""
    async for row in all_rows(call.api.store):
        if call.grant.reaches(row.session, row.cwd):
            yield row


class UsageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """How far back, in days; 0 is everything."""

    days: Annotated[float, Meta(ge=0, le=100_000)] = 30.0


class EngineUse(msgspec.Struct, frozen=True, kw_only=True):
    """What sessions of one engine have used; sessions without a turn count as sessions."""

    engine: str
    sessions: int
    turns: int
    cost_usd: float


class UseReport(msgspec.Struct, frozen=True, kw_only=True):
    """What sessions have used since then, told in four ways; days are those of the server."""

    since: float
    total: Use
    days: tuple[Use, ...]
    models: tuple[Use, ...]
    sessions: tuple[Use, ...]
    engines: tuple[EngineUse, ...]
    cost_usd: float


@routes.get(
    "/api/usage",
    scope="read",
    summary="Turns, tokens and cost over all sessions: by day, model, session and engine",
    answer=UseReport,
)
async def usage(call: Call, query: UsageQuery) -> UseReport:
    since = time.time() - query.days * DAY_S if query.days else 0.0
    rows = [row async for row in reached_rows(call) if row.updated_at >= since]
    spent = await call.api.usage.spent(rows, since=since)
    whole = total(spent)
    by_engine = {use.name: use for use in add_up(spent, "engine")}
    nothing = Use(name="")
    engines = tuple(
        EngineUse(
            engine=name,
            sessions=sum(1 for row in rows if row.engine == name),
            turns=by_engine.get(name, nothing).turns,
            cost_usd=by_engine.get(name, nothing).cost_usd or 0.0,
        )
        for name in dict.fromkeys(row.engine for row in rows)
    )
    return UseReport(
        since=since,
        total=whole,
        days=add_up(spent, "day"),
        models=add_up(spent, "model"),
        sessions=add_up(spent, "session"),
        engines=engines,
        cost_usd=whole.cost_usd or 0.0,
    )
