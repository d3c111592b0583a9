"""Over all sessions: the folders that are worked in, and what was used."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import Routes
from footplate.store.projection import SessionRow
from footplate.store.values import SessionFilter

routes = Routes("overview")
PAGE = 500


async def _rows(call: Call) -> AsyncIterator[SessionRow]:
    after: str | None = None
    while True:
        page = await call.api.store.projections.sessions(SessionFilter(), after=after, limit=PAGE)
        for row in page.items:
            if call.grant.reaches(row.session, row.cwd):
                yield row
        after = page.after
        if after is None:
            return


class ProjectInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that sessions work in."""

    cwd: str
    sessions: int
    open_requests: int
    cost_usd: float
    updated_at: float


class ProjectList(msgspec.Struct, frozen=True, kw_only=True):
    """The folders, the latest active first."""

    projects: tuple[ProjectInfo, ...]


@routes.get("/api/projects", scope="read", summary="The folders that sessions work in", answer=ProjectList)
async def projects(call: Call) -> ProjectList:
    found: dict[str, ProjectInfo] = {}
    async for row in _rows(call):
        known = found.get(row.cwd) or ProjectInfo(
            cwd=row.cwd, sessions=0, open_requests=0, cost_usd=0.0, updated_at=0.0
        )
        found[row.cwd] = ProjectInfo(
            cwd=row.cwd,
            sessions=known.sessions + 1,
            open_requests=known.open_requests + row.open_requests,
            cost_usd=known.cost_usd + (row.cost_usd or 0.0),
            updated_at=max(known.updated_at, row.updated_at),
        )
    latest = sorted(found.values(), key=lambda each: each.updated_at, reverse=True)
    return ProjectList(projects=tuple(latest))


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
    async for row in _rows(call):
        known = found.get(row.engine) or EngineUse(engine=row.engine, sessions=0, turns=0, cost_usd=0.0)
        found[row.engine] = EngineUse(
            engine=row.engine,
            sessions=known.sessions + 1,
            turns=known.turns + row.turns,
            cost_usd=known.cost_usd + (row.cost_usd or 0.0),
        )
    return UseReport(engines=tuple(found.values()), cost_usd=sum(each.cost_usd for each in found.values()))
