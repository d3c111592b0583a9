"""The catalog: every agent that can be had, what it lacks on this machine; installed, updated and removed."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import Routes
from footplate.runtime.agents import AgentState

routes = Routes("catalog")


class CatalogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One agent as it stands, and how far an install of it is that is under way."""

    agent: AgentState
    installing: tuple[str, ...] = ()


class CatalogList(msgspec.Struct, frozen=True, kw_only=True):
    """Every agent, and what is wrong with the registries."""

    agents: tuple[CatalogEntry, ...]
    problems: tuple[str, ...]


def _entry(call: Call, state: AgentState) -> CatalogEntry:
    return CatalogEntry(agent=state, installing=tuple(call.api.roster.installing.get(state.id, ())))


@routes.get("/api/agents", scope="read", summary="Every agent that can be had, and what it lacks", answer=CatalogList)
async def list_catalog(call: Call) -> CatalogList:
    states = await call.api.roster.list()
    return CatalogList(agents=tuple(_entry(call, state) for state in states), problems=call.api.roster.problems)


@routes.get("/api/agents/{agent}", scope="read", summary="One agent of the catalog", answer=CatalogEntry)
async def get_entry(call: Call) -> CatalogEntry:
    return _entry(call, await call.api.roster.look(call.params["agent"]))


class Fetch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which version: one by its number, `latest`, or (default) the one that is known to work."""

    version: Annotated[str, Meta(max_length=64)] = ""


@routes.post(
    "/api/agents/{agent}/install",
    scope="admin",
    summary="Install an agent into the data folder, or bring our install to another version",
    answer=CatalogEntry,
    problems=(409, 500, 502),
)
async def install_agent(call: Call, body: Fetch) -> CatalogEntry:
    await call.api.roster.install(call.params["agent"], call.api.services.keeper, version=body.version)
    call.api.take_in_installs()
    return _entry(call, await call.api.roster.look(call.params["agent"]))


@routes.delete(
    "/api/agents/{agent}", scope="admin", summary="Remove an agent that Footplate has installed", problems=(409,)
)
async def remove_agent(call: Call) -> None:
    await call.api.roster.remove(call.params["agent"])
    call.api.take_in_installs()
