"""The runtime of one process: store, keeper and hub of a data folder, opened together and closed in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from footplate.config.places import data_folder
from footplate.config.settings import Settings
from footplate.host.process import Keeper
from footplate.host.sweep import sweep_leftovers
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.store.sqlite import SqliteStore

STORE = "store"


class Service:
    """What an open runtime offers: the hub, and where its data lies."""

    def __init__(self, hub: Hub, services: Services, data: Path) -> None:
        self.hub = hub
        self.services = services
        self.data = data

    @property
    def settings(self) -> Settings:
        """What the operator decided."""
        return self.services.settings


@asynccontextmanager
async def open_service(environ: Mapping[str, str], settings: Settings) -> AsyncIterator[Service]:
    """The runtime on the data folder of this environment. One process per folder: else `LockHeld` names the other.

    What an earlier process has left running is swept first, then sessions that it left in the middle are taken up. At
    the end every agent is ended; sessions stay stored.
    """
    data = data_folder(environ)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(await SqliteStore.open(data / STORE))
        await asyncio.to_thread(sweep_leftovers, data)
        keeper = await stack.enter_async_context(Keeper.start(state_dir=data))
        services = Services(store, keeper, settings=settings, environ=environ, data=data, rules=tuple(settings.rules))
        hub = await stack.enter_async_context(Hub.open(services))
        await hub.take_up_left()
        yield Service(hub, services, data)
