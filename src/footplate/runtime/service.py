"""The runtime of one process: store, keeper and hub of a data folder, opened together and closed in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from footplate.config.places import data_folder
from footplate.config.settings import Settings
from footplate.engines.base import Engine
from footplate.engines.catalog import make_engine
from footplate.events.ids import SessionId
from footplate.host.keepers import Keepers
from footplate.host.process import Keeper
from footplate.host.sweep import Reaped, collect_leftovers, read_records
from footplate.runtime.audit_head import keep_head
from footplate.runtime.audit_settings import audit_settings
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.runtime.tracing.opening import open_traces
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
    ) -> None:
        self.hub = hub
        self.services = services
        self.data = data
        self.reaped = Reaped()
        self.rejoined: tuple[SessionId, ...] = ()

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
async def open_service(
    environ: Mapping[str, str], settings: Settings, *, keep: bool = False, start_waiting: bool = True
) -> AsyncIterator[Service]:
    """The runtime on the data folder of this environment. One process per folder: else `LockHeld` names the other.

    What an earlier process has left running is swept first, then sessions that it left in the middle are taken up. At
    the end every agent is ended; sessions stay stored.

    With `keep` agents outlive this process by `[runtime] reattach_grace_s`, whether it is killed or ends in order:
    those that an earlier service left are taken over, and at the end they are left, unless it was asked to `drain`.
    Without it that holds as well where agents were left: they are not ours to end.

    Without `start_waiting` prompts that wait are left waiting until a prompt or `Continue` starts them.
    """
    data = data_folder(environ)
    async with AsyncExitStack() as stack:
        traces = await stack.enter_async_context(open_traces(settings.otel))
        store = await stack.enter_async_context(await SqliteStore.open(data / STORE))
        keeper: Keeper | Keepers
        if await asyncio.to_thread(keeps_agents, data) or (keep and settings.runtime.reattach_grace_s > 0):
            runtime = settings.runtime
            spool_limit = runtime.spool_mb * 1024 * 1024
            keeper = await Keepers.open(data, grace_s=runtime.reattach_grace_s, spool_limit=spool_limit)
            reaped = keeper.reaped
        else:
            reaped = await asyncio.to_thread(collect_leftovers, data)
            keeper = await stack.enter_async_context(Keeper.start(state_dir=data))
        services = Services(
            store,
            keeper,
            settings=settings,
            environ=environ,
            data=data,
            keepers=keeper if isinstance(keeper, Keepers) else None,
            start_waiting=start_waiting,
        )
        if traces is not None:
            services.bulletin.subscribe(traces)
        services.audit_head = await stack.enter_async_context(keep_head(store.audit, data, services.surroundings))
        await stack.enter_async_context(audit_settings(services))
        service = await stack.enter_async_context(open_runtime(services))
        service.reaped = reaped
        yield service


@asynccontextmanager
async def open_runtime(
    services: Services,
    *,
    engine_of: Callable[[str, Settings], Engine] = make_engine,
    is_folder: Callable[[Path], bool] = Path.is_dir,
) -> AsyncIterator[Service]:
    """The sessions over a store and a keeper: what an earlier service left is continued first.

    Keepers that outlive the service are this function's to release, whatever happens; a plain keeper is its owner's.
    """
    keepers = services.keepers
    hub = Hub(services, idle_s=services.settings.runtime.idle_s, engine_of=engine_of, is_folder=is_folder)
    hub.leaving = keepers is not None
    service = Service(hub, services, services.data)
    try:
        service.rejoined = await hub.rejoin_kept()
        await hub.take_up_left()
        services.housekeeping.start()
        yield service
    finally:
        await services.housekeeping.close()
        await (hub.detach() if hub.leaving else hub.close())
        if keepers is not None:
            await (keepers.leave() if hub.leaving else keepers.close())


def keeps_agents(data: Path) -> bool:
    """Whether a keeper of the folder waits for a service."""
    return any(record.keeps and record.alive() for record in read_records(data))
