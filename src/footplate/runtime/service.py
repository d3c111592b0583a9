"""The runtime of one process: store, keeper and hub of a data folder, opened together and closed in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from footplate.config.places import data_folder
from footplate.config.settings import Settings
from footplate.events.ids import SessionId
from footplate.host.keepers import Keepers
from footplate.host.process import Keeper
from footplate.host.sweep import Reaped, collect_leftovers, read_records
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.runtime.tracing.opening import Reader, open_traces
from footplate.store.sqlite import SqliteStore

STORE = "store"


class Service:
    """What an open runtime offers: the hub, where its data lies, and what it found when it began.

    `reaped` is what earlier processes had left over and is ended now; `rejoined` are sessions whose agents went on.
    """

    def __init__(
        self,
        hub: Hub,
        services: Services,
        data: Path,
        *,
        reaped: Reaped | None = None,
        rejoined: tuple[SessionId, ...] = (),
    ) -> None:
        self.hub = hub
        self.services = services
        self.data = data
        self.reaped = reaped or Reaped()
        self.rejoined = rejoined

    @property
    def settings(self) -> Settings:
        """What the operator decided."""
        return self.services.settings

    @property
    def leaving(self) -> bool:
        """Whether agents and processes go on when we end, for the next service to take over."""
        return self.hub.leaving and self.settings.runtime.reattach_grace_s > 0

    async def has_folder(self) -> bool:
        """Whether its data folder is still there; without it nothing is kept, and no later service finds an agent."""
        return await asyncio.to_thread((self.data / STORE).is_dir)

    async def drain(self, patience_s: float) -> bool:
        """End with the agents, not without them: wait for turns that run, then everything is ended in order.

        False when turns still ran after so many seconds; they are ended, too.
        """
        self.hub.leaving = False
        return await self.hub.drain(patience_s)


@asynccontextmanager
async def open_service(environ: Mapping[str, str], settings: Settings, *, keep: bool = False) -> AsyncIterator[Service]:
    """The runtime on the data folder of this environment. One process per folder: else `LockHeld` names the other.

    What an earlier process has left running is swept first, then sessions that it left in the middle are taken up. At
    the end every agent is ended; sessions stay stored.

    With `keep` agents outlive this process by `[runtime] reattach_grace_s`, whether it is killed or ends in order:
    those that an earlier service left are taken over, and at the end they are left, unless it was asked to `drain`.
    Without it that holds as well where agents were left: they are not ours to end.
    """
    data = data_folder(environ)
    async with AsyncExitStack() as stack:
        traces = await stack.enter_async_context(open_traces(settings.otel))
        store = await stack.enter_async_context(await SqliteStore.open(data / STORE))
        found = await asyncio.to_thread(keeps_agents, data)
        if found or (keep and settings.runtime.reattach_grace_s > 0):
            service = await _open_kept(stack, store, environ, settings, data, traces)
        else:
            reaped = await asyncio.to_thread(collect_leftovers, data)
            keeper = await stack.enter_async_context(Keeper.start(state_dir=data))
            services = Services(store, keeper, settings=settings, environ=environ, data=data)
            if traces is not None:
                services.bulletin.subscribe(traces)
            hub = await stack.enter_async_context(Hub.open(services))
            await hub.take_up_left()
            service = Service(hub, services, data, reaped=reaped)
        yield service


def keeps_agents(data: Path) -> bool:
    """Whether a keeper of the folder waits for a service."""
    return any(record.keeps and record.alive() for record in read_records(data))


async def _open_kept(
    stack: AsyncExitStack,
    store: SqliteStore,
    environ: Mapping[str, str],
    settings: Settings,
    data: Path,
    traces: Reader | None,
) -> Service:
    runtime = settings.runtime
    keepers = await Keepers.open(data, grace_s=runtime.reattach_grace_s, spool_limit=runtime.spool_mb * 1024 * 1024)
    services = Services(store, keepers, settings=settings, environ=environ, data=data, keepers=keepers)
    if traces is not None:
        services.bulletin.subscribe(traces)
    hub = Hub(services)
    hub.leaving = True
    service = Service(hub, services, data, reaped=keepers.reaped)

    async def close() -> None:
        if hub.leaving:
            await hub.detach()
            await keepers.leave()
        else:
            await hub.close()
            await keepers.close()

    stack.push_async_callback(close)
    service.rejoined = await hub.rejoin_kept()
    await hub.take_up_left()
    return service
