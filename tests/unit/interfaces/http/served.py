"""A server on a real socket over a hub with the in-process mock agent and a memory store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx

from footplate.config.settings import Settings
from footplate.host.process import Keeper
from footplate.interfaces.http.api import Api, open_api
from footplate.interfaces.http.app import build_app
from footplate.interfaces.http.guard import Doors
from footplate.interfaces.http.serving import bind, listen
from footplate.runtime.access import Access
from footplate.runtime.hub import Hub
from footplate.runtime.service import Service
from footplate.runtime.services import Services
from footplate.store.base import Store
from footplate.store.memory import MemoryStore

TOKEN = "the-token-of-the-test"


class Served:
    """A running server: its services, its address, and clients of it."""

    def __init__(self, api: Api, url: str, work: Path) -> None:
        self.api = api
        self.url = url
        self.work = work

    @asynccontextmanager
    async def client(self, token: str = TOKEN) -> AsyncIterator[httpx.AsyncClient]:
        """A client with that token; none at all when it is empty."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        limits = httpx.Limits(max_keepalive_connections=0)
        async with httpx.AsyncClient(
            base_url=self.url, headers=headers, limits=limits, timeout=30, trust_env=False
        ) as client:
            yield client


@asynccontextmanager
async def serve(
    folder: Path,
    settings: Settings | None = None,
    doors: Doors | None = None,
    *,
    token: str = TOKEN,
    store: Store | None = None,
    path: str = "/usr/bin:/bin",
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[Served]:
    """A server of its own for a test that wants other settings; a `store` that is given outlives it."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    environ = {
        "HOME": str(folder),
        "PATH": path,
        "FOOTPLATE_MOCK_PACE_MS": "0",
        "FOOTPLATE_DATA_DIR": str(folder / "data"),
        "SANDBOX_AGENT_REQUIRE_PREINSTALL": "1",
        **(env or {}),
    }
    async with AsyncExitStack() as stack:
        if store is None:
            store = await stack.enter_async_context(MemoryStore())
        keeper = await stack.enter_async_context(Keeper.start())
        chosen = settings or Settings()
        services = Services(store, keeper, settings=chosen, environ=environ, data=folder / "data")
        hub = await stack.enter_async_context(Hub.open(services))
        access = await Access.load(store, chosen=token, open_to_all=not token)
        api = await stack.enter_async_context(open_api(Service(hub, services, folder / "data"), access))
        app = build_app(api, doors or Doors())
        listening = await stack.enter_async_context(listen(app, api, bind("127.0.0.1", 0)))
        yield Served(api, listening.url, work)
