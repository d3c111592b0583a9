"""The catalog: every agent that can be had, what it lacks on this machine; installed, updated, removed and examined.

An install and an examination take their time. The call waits for the end of it, or (`"wait": false`) answers at once;
either way the work goes on when the caller hangs up, and how far it is stands in the entry of the agent.
"""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from msgspec import Meta

from footplate.errors import EngineNotFound
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import Routes
from footplate.runtime.agents import AgentState
from footplate.runtime.errands import Progress
from footplate.runtime.examination import Examination

routes = Routes("catalog")


class CatalogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One agent as it stands.

    `install` is the last install of it by this server, under way or over (null: there was none); `installing` are its
    words while it is under way. `doctor` is the last examination of it by this server.
    """

    agent: AgentState
    installing: tuple[str, ...] = ()
    install: Progress | None = None
    doctor: Examination | None = None


class CatalogList(msgspec.Struct, frozen=True, kw_only=True):
    """Every agent, and what is wrong with the registries."""

    agents: tuple[CatalogEntry, ...]
    problems: tuple[str, ...]


async def _entry(call: Call, name: str) -> CatalogEntry:
    """One agent. How far its install is comes first: one that is done shows in what is looked at afterwards."""
    known = call.api.roster.installs.get(name)
    install = msgspec.structs.replace(known, lines=[*known.lines]) if known is not None else None
    state = await call.api.roster.look(name)
    return CatalogEntry(
        agent=state,
        installing=tuple(install.lines) if install is not None and install.state == "running" else (),
        install=install,
        doctor=call.api.examiner.known.get(name),
    )


@routes.get("/api/agents", scope="read", summary="Every agent that can be had, and what it lacks", answer=CatalogList)
async def list_catalog(call: Call) -> CatalogList:
    names = await call.api.roster.names()
    entries = await asyncio.gather(*(_entry(call, name) for name in names))
    return CatalogList(agents=tuple(entries), problems=call.api.roster.problems)


@routes.get(
    "/api/agents/{agent}",
    scope="read",
    summary="One agent of the catalog, and how far its install or examination is",
    answer=CatalogEntry,
)
async def get_entry(call: Call) -> CatalogEntry:
    return await _entry(call, call.params["agent"])


class Fetch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which version: one by its number, `latest`, or (default) the one that is known to work.

    `wait`: answer when it is installed; else at once.
    """

    version: Annotated[str, Meta(max_length=64)] = ""
    wait: bool = True


@routes.post(
    "/api/agents/{agent}/install",
    scope="admin",
    summary="Install an agent into the data folder, or bring our install to another version",
    answer=CatalogEntry,
    problems=(409, 500, 502),
)
async def install_agent(call: Call, body: Fetch) -> CatalogEntry:
    state = await call.api.roster.look(call.params["agent"])
    await call.record("agent.install", target=state.id, version=body.version)
    await _carry_out(call.api.begin_install(state.id, body.version), wait=body.wait)
    return await _entry(call, state.id)


@routes.delete(
    "/api/agents/{agent}", scope="admin", summary="Remove an agent that Footplate has installed", problems=(409,)
)
async def remove_agent(call: Call) -> None:
    await call.record("agent.remove", target=call.params["agent"])
    await call.api.roster.remove(call.params["agent"])
    call.api.take_in_installs()


class Examine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`wait`: answer when the examination is over; else at once."""

    wait: bool = True


@routes.post(
    "/api/agents/{agent}/doctor",
    scope="admin",
    summary="Drill an installed agent on a scripted model: a permission, a question, an interrupt, a resume",
    answer=CatalogEntry,
    problems=(404, 409, 502),
)
async def examine_agent(call: Call, body: Examine) -> CatalogEntry:
    api, state = call.api, await call.api.roster.look(call.params["agent"])
    if not state.installed:
        raise EngineNotFound(state.id, state.id, f"run `footplate agents install {state.id}`")

    await call.record("agent.check", target=state.id)

    async def work() -> None:
        await api.examiner.examine(state.id, api.services.keeper)

    await _carry_out(api.errands.begin(("examine", state.id), work), wait=body.wait)
    return await _entry(call, state.id)


async def _carry_out(task: asyncio.Task[None], *, wait: bool) -> None:
    """Wait for the end, or only until it has begun; what is refused at once is raised. Who hangs up stops nothing."""
    await asyncio.wait((task,), timeout=0)
    if wait or task.done():
        await asyncio.shield(task)
