"""What stands behind the routes: the services that every handler may use, opened together and closed in order.

A resource that needs something that lives (a table of processes, connections) gets an attribute here, opened in
`open_api` on the stack: what was opened last is closed first.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from footplate.config.settings import Settings
from footplate.engines.base import Engine
from footplate.engines.catalog import make_engine
from footplate.engines.commands import with_agents
from footplate.host.files import Files
from footplate.host.grounds import Grounds
from footplate.interfaces.http.acp_doors import AcpDoors
from footplate.interfaces.http.meters import Meters
from footplate.interfaces.http.news import Attention
from footplate.interfaces.http.routing import Route
from footplate.runtime.access import Access
from footplate.runtime.agents import Roster
from footplate.runtime.children import Children
from footplate.runtime.choices import ChoiceBook
from footplate.runtime.errands import Errands
from footplate.runtime.examination import Examiner
from footplate.runtime.hub import Hub
from footplate.runtime.logins import Logins
from footplate.runtime.notify import Notifier
from footplate.runtime.push import Push
from footplate.runtime.service import Service
from footplate.runtime.services import Services
from footplate.runtime.usage import UsageBook
from footplate.store.base import Store


class Api:
    """The services of one server."""

    def __init__(self, service: Service, access: Access, *, children: Children, push: Push) -> None:
        self.hub: Hub = service.hub
        self.services: Services = service.services
        self.store: Store = service.services.store
        self._given: Settings = service.settings
        self.data: Path = service.data
        self.access = access
        self.logins = Logins(self.services.audit, self.services.surroundings)
        self.files = Files(Grounds.of(self.services.environ.get("HOME") or "/", self.settings.files.roots))
        self.children = children
        self.roster = Roster(self.settings, self.services.environ)
        self.errands = Errands()
        self.examiner = Examiner(self.services.environ, self.data)
        self.services.provide = self._provide
        self.push = push
        self.usage = UsageBook(self.store)
        self.choices = ChoiceBook(self.settings, self.services.environ)
        self.meters = Meters()
        self.attention = Attention(self.store)
        self.started_at = time.time()
        self.routes: tuple[Route, ...] = ()
        self.acp = AcpDoors(service)
        self.stopping = asyncio.Event()
        self._engines: dict[str, Engine] = {}
        self._endings: set[Callable[[], None]] = set()

    @property
    def settings(self) -> Settings:
        """What the operator decided, with the agents that are installed."""
        return self.services.settings

    async def _provide(self, engine: Engine) -> bool:
        provided = await self.roster.provide(engine, self.services.keeper)
        if provided:
            self.take_in_installs()
        return provided

    def begin_install(self, name: str, version: str) -> asyncio.Task[None]:
        """Install an agent, whoever hangs up meanwhile; who asks for the same joins in."""

        async def work() -> None:
            await self.roster.install(name, self.services.keeper, version=version)
            self.take_in_installs()

        return self.errands.begin(("install", name, version), work)

    def take_in_installs(self) -> None:
        """Know every agent that was installed, or removed, since."""
        self.services.settings = self.roster.settings = with_agents(self._given, self.services.environ)
        self._engines.clear()

    def engine(self, name: str) -> Engine:
        """The engine of that name; the same each time, so that what it has looked up once it need not ask again."""
        if name not in self._engines:
            self._engines[name] = make_engine(name, self.settings)
        return self._engines[name]

    def at_stop(self, end: Callable[[], None]) -> Callable[[], None]:
        """Have this called when the server stops: a stream ends then. Returns what takes the wish back."""
        self._endings.add(end)
        if self.stopping.is_set():
            end()
        return lambda: self._endings.discard(end)

    def stop(self) -> None:
        """The server stops: every stream ends, so that its caller can come back elsewhere."""
        self.stopping.set()
        for end in tuple(self._endings):
            end()


@asynccontextmanager
async def open_api(service: Service, access: Access) -> AsyncIterator[Api]:
    """The services, for as long as the block lasts."""
    async with AsyncExitStack() as stack:
        services, processes = service.services, service.settings.processes
        children = await stack.enter_async_context(
            Children.open(
                services.keeper,
                services.store,
                settings=processes,
                environ=services.environ,
                folder=service.data / "processes",
                leaving=lambda: service.leaving,
            )
        )
        push = await stack.enter_async_context(Push.open(services.store, access, service.settings.push))
        await stack.enter_async_context(Notifier.open(services, teller=push))
        api = Api(service, access, children=children, push=push)
        stack.push_async_callback(access.close)
        stack.push_async_callback(api.logins.close)
        api.attention.follow(service.services.bulletin.subscribe)
        stack.push_async_callback(api.attention.close)
        stack.callback(service.services.bulletin.subscribe(api.choices.listen))
        stack.push_async_callback(api.acp.close)
        stack.push_async_callback(api.errands.close)
        stack.callback(api.stop)
        yield api
