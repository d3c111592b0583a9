"""Over all sessions: what was used."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import Routes
from footplate.runtime.worktrees import all_rows
from footplate.store.projection import SessionRow

routes = Routes("overview")


async def reached_rows(call: Call) -> AsyncIterator[SessionRow]:
    """Every session that the caller reaches, the latest active first."""
    async for row in all_rows(call.api.store):
        if call.grant.reaches(row.session, row.cwd):
            yield row


class EngineUse(msgspec.Struct, frozen=True, kw_only=True):
    """What sessions of one engine have used."""

    engine: str
    sessions: int
    turns: int
    cost_usd: float


class UseReport(msgspec.Struct, frozen=True, kw_only=True):
    """What all sessions have used, engine by engine."""

    engines: tuple[EngineUse, ...]
    cost_usd: float


@routes.get("/api/usage", scope="read", summary="Turns and cost over all sessions, engine by engine", answer=UseReport)
async def usage(call: Call) -> UseReport:
    found: dict[str, EngineUse] = {}
    async for row in reached_rows(call):
        known = found.get(row.engine) or EngineUse(engine=row.engine, sessions=0, turns=0, cost_usd=0.0)
        found[row.engine] = EngineUse(
            engine=row.engine,
            sessions=known.sessions + 1,
            turns=known.turns + row.turns,
            cost_usd=known.cost_usd + (row.cost_usd or 0.0),
        )
    return UseReport(engines=tuple(found.values()), cost_usd=sum(each.cost_usd for each in found.values()))
