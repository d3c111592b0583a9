"""One process owns a data folder; others of the same person join it through the doors that the owner opens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, TypeVar

from footplate.errors import LinkLost, LockHeld
from footplate.runtime.acp import guests
from footplate.runtime.backend import HubBackend
from footplate.runtime.link import SOCKET_NAME, link_server
from footplate.runtime.private_socket import PrivateServer
from footplate.runtime.service import Service

PATIENCE_S: Final = 5.0
"""How long another process may be about to begin or to leave before we give up."""
LOOK_AGAIN_S: Final = 0.05
T = TypeVar("T")


async def own_or_join(own: Callable[[], Awaitable[T]], join: Callable[[], Awaitable[T]]) -> T:
    """The sessions of a data folder: ours when it is free, else those of its owner. Raises `LockHeld`."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return await own()
        except LockHeld as held:
            try:
                return await join()
            except LinkLost:
                if time.monotonic() > deadline:
                    raise held from None
        await asyncio.sleep(LOOK_AGAIN_S)


@asynccontextmanager
async def open_doors(service: Service, role: guests.Role) -> AsyncIterator[HubBackend]:
    """Let others in for as long as the block lasts: chats in other terminals, editors of other processes."""
    backend = HubBackend(service.hub, service.settings)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(link_server(backend, service.data / SOCKET_NAME))
        editors = guests.Guests(service, role)
        await stack.enter_async_context(PrivateServer(service.data / guests.SOCKET_NAME, editors.serve))
        yield backend
