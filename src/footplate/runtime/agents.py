"""Every agent: which are known, which are here, what is missing and what to do about it; installed and removed."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec

from footplate.config.settings import Settings
from footplate.engines.base import Described, Engine, Installed
from footplate.engines.catalog import engine_names, make_engine
from footplate.engines.distribution import (
    Npm,
    Offer,
    describe_way,
    install_advice,
    machine_platform,
    pick_way,
    pin_version,
)
from footplate.engines.known_agents import OFFERS
from footplate.engines.receipts import Receipt, find_receipt, installs_folder, own_program, receipts, remove_install
from footplate.errors import Conflict, FootplateError, InstallFailed, UnknownEngine
from footplate.host.spawner import Spawner
from footplate.runtime.errands import Progress
from footplate.runtime.fetching import Told
from footplate.runtime.installs import Installer, node_problem
from footplate.runtime.registries import read_registries

PREINSTALL: Final = "SANDBOX_AGENT_REQUIRE_PREINSTALL"
Origin = Literal["in process", "path", "installed", ""]


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """Something that an agent lacks, and how to get it."""

    what: str
    advice: str


class AgentState(msgspec.Struct, frozen=True, kw_only=True):
    """One agent as it stands on this machine.

    `origin` says where its program was found: on the PATH (or where the settings name it), or in our own installs.
    `offered` is the version that `install` would bring, `way` from where. `engine`: sessions of it can be opened.
    """

    id: str
    title: str
    description: str
    engine: bool
    installed: bool
    version: str
    program: str
    origin: Origin
    offered: str
    way: str
    source: str
    problem: str
    missing: tuple[Missing, ...]


class Roster:
    """The agents of one machine."""

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self.settings = settings
        self._environ = environ
        self._offers: dict[str, Offer] | None = None
        self._providing: dict[str, asyncio.Lock] = {}
        self.installs: dict[str, Progress] = {}
        """The last install of each agent here, and how far it is, in words."""
        self.problems: tuple[str, ...] = ()
        """What is wrong with the registries, once they were read."""

    async def offers(self) -> dict[str, Offer]:
        """What can be had, by id: known without a registry, in a registry, or installed from one that is gone."""
        if self._offers is None:
            registry = await asyncio.to_thread(read_registries, self.settings.agents, self._environ)
            self.problems = registry.problems
            installed = (receipt.offer for receipt in receipts(self._environ))
            found: dict[str, Offer] = {}
            for offer in (*OFFERS, *registry.offers, *installed):
                found.setdefault(offer.id, self._pinned(offer))
            self._offers = found
        return self._offers

    def _pinned(self, offer: Offer) -> Offer:
        version = self.settings.agents.pins.get(offer.id)
        if not version:
            return offer
        ways = tuple(pin_version(way, version) for way in offer.ways)
        return msgspec.structs.replace(offer, version=version, ways=ways)

    def _engines(self) -> tuple[str, ...]:
        return engine_names(self.settings)

    async def names(self) -> tuple[str, ...]:
        """Every agent: the engines first, then what else can be had."""
        return tuple(dict.fromkeys((*self._engines(), *await self.offers())))

    async def list(self) -> tuple[AgentState, ...]:
        """Every agent as it stands."""
        return tuple(await asyncio.gather(*map(self.look, await self.names())))

    async def look(self, name: str) -> AgentState:
        """One agent as it stands. Raises `UnknownEngine`."""
        offer = (await self.offers()).get(name)
        engine = make_engine(name, self.settings) if name in self._engines() else None
        if engine is None and offer is None:
            raise UnknownEngine(name, await self.names())
        found, problem = await self._find(engine, offer)
        way = pick_way(offer) if offer is not None else None
        title = engine.title if engine is not None else offer.title if offer is not None else name
        return AgentState(
            id=name,
            title=offer.title if offer is not None and title == name else title,
            description=offer.description if offer is not None else "",
            engine=engine is not None,
            installed=found is not None,
            version=found.version if found is not None else "",
            program=found.program if found is not None else "",
            origin=self._origin(found),
            offered=offer.version if offer is not None else "",
            way=describe_way(way) if way is not None else "",
            source=offer.source if offer is not None else "settings" if name in self.settings.acp_agents else "package",
            problem=problem,
            missing=await asyncio.to_thread(self._missing, name, engine, offer, found),
        )

    async def _find(self, engine: Engine | None, offer: Offer | None) -> tuple[Installed | None, str]:
        if engine is not None:
            try:
                found = await engine.locate(self._environ)
            except FootplateError as problem:
                return None, str(problem)
            receipt = find_receipt(self._environ, engine.name)
            if not found.version and receipt is not None and self._origin(found) == "installed":
                found = msgspec.structs.replace(found, version=receipt.version)
            return found, ""
        assert offer is not None
        on_path = shutil.which(offer.program, path=self._environ.get("PATH", os.defpath)) if offer.program else None
        if on_path is not None:
            return Installed(engine=offer.id, program=on_path), ""
        receipt = find_receipt(self._environ, offer.id)
        if receipt is None:
            return None, ""
        return Installed(engine=offer.id, program=own_program(self._environ, offer.id), version=receipt.version), ""

    def _origin(self, found: Installed | None) -> Origin:
        if found is None:
            return ""
        if not found.program:
            return "in process"
        return "installed" if Path(found.program).is_relative_to(installs_folder(self._environ)) else "path"

    def _missing(
        self, name: str, engine: Engine | None, offer: Offer | None, found: Installed | None
    ) -> tuple[Missing, ...]:
        gaps: list[Missing] = []
        way = pick_way(offer) if offer is not None else None
        if found is None and offer is not None and way is not None:
            gaps.append(Missing(what="not installed", advice=install_advice(offer)))
        elif found is None and offer is not None:
            gaps.append(
                Missing(
                    what=f"there is none for this machine ({machine_platform()})",
                    advice=f"put `{offer.program}` on the PATH",
                )
            )
        elif found is None:
            gaps.append(Missing(what="not installed", advice="install its program and put it on the PATH"))
        if offer is None:
            return tuple(gaps)
        path = self._environ.get("PATH", os.defpath)
        gaps += [
            Missing(what=f"`{program}` is not on the PATH", advice=advice)
            for program, advice in offer.needs.items()
            if shutil.which(program, path=path) is None
        ]
        node = node_problem(self._environ, offer.node) if isinstance(way, Npm) and not way.found else ""
        if node:
            what, _, advice = node.partition("; ")
            gaps.append(Missing(what=what, advice=advice))
        if not self._logged_in(engine, offer):
            gaps.append(Missing(what="no login that we can see", advice=offer.login))
        return tuple(gaps)

    def _logged_in(self, engine: Engine | None, offer: Offer) -> bool:
        told: object = engine
        if isinstance(told, Described) and told.needs_login:
            return any(not each.expired for each in told.credentials(self._environ))
        home = Path(self._environ.get("HOME", "/"))
        known = offer.keys or offer.logins
        return (
            not known
            or any(self._environ.get(key) for key in offer.keys)
            or any((home / file).exists() for file in offer.logins)
        )

    # ------------------------------------------------------------------------------------------ changing it

    async def install(self, name: str, keeper: Spawner, *, version: str = "", told: Told = lambda _: None) -> Receipt:
        """Install an agent into the data folder. Raises `UnknownEngine`, `InstallFailed`, `Conflict`."""
        offer = (await self.offers()).get(name)
        if offer is None:
            if name in await self.names():
                raise InstallFailed(name, "Footplate does not install it; put its program on the PATH")
            raise UnknownEngine(name, await self.names())
        before = self.installs.get(name)
        if before is not None and before.state == "running":
            raise Conflict(f"{name} is being installed; ask again when that is over")
        progress = self.installs[name] = Progress.begin()

        def tell(line: str) -> None:
            progress.lines.append(line)
            told(line)

        with progress.recorded():
            receipt = await Installer(keeper, self._environ).install(offer, version=version, told=tell)
        self._offers = None
        return receipt

    async def remove(self, name: str) -> None:
        """Remove our install of an agent. Raises `UnknownEngine`, `Conflict` when it is none of ours."""
        if name not in await self.names():
            raise UnknownEngine(name, await self.names())
        if not await asyncio.to_thread(remove_install, self._environ, name):
            raise Conflict(f"{name} was not installed by Footplate; what is on the PATH is removed by who put it there")

    @property
    def installs_on_use(self) -> bool:
        """Whether an agent that is asked for and not there is to be installed."""
        said = self._environ.get(PREINSTALL, "").lower()
        return self.settings.agents.install_on_use and said not in ("1", "true", "yes")

    async def provide(self, engine: Engine, keeper: Spawner) -> bool:
        """Install an agent that somebody needs now; False when that is not wanted, or cannot be."""
        offer = (await self.offers()).get(engine.name) if self.installs_on_use else None
        if offer is None or pick_way(offer) is None:
            return False
        async with self._providing.setdefault(engine.name, asyncio.Lock()):
            if not own_program(self._environ, engine.name):
                await self.install(engine.name, keeper)
        return True
