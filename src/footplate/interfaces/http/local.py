"""The API on a socket of the data folder: whoever owns the folder needs no address and no token.

Only its owner may open the socket: the mode of the socket and of its folder see to that.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from footplate.config.settings import Settings
from footplate.interfaces.http.api import Api, open_api
from footplate.interfaces.http.app import App, all_routes
from footplate.interfaces.http.guard import Doors, Guard
from footplate.interfaces.http.routing import RouteTable
from footplate.interfaces.http.serving import BACKLOG, listen
from footplate.runtime.access import Access
from footplate.runtime.audit import account_name
from footplate.runtime.private_socket import short_address
from footplate.runtime.service import open_service

SOCKET_NAME: Final = "http.sock"


@asynccontextmanager
async def serve_local(api: Api, path: Path) -> AsyncIterator[None]:
    """The API at that path for its owner, for as long as the block lasts. An old socket there is removed."""
    api.routes = api.routes or all_routes()
    guard = Guard(Doors(), Access(api.store, open_to_all=True, person=account_name()))
    async with listen(App(api, RouteTable(api.routes), guard), api, _bind(path)):
        try:
            yield
        finally:
            _remove(path)


@asynccontextmanager
async def serve_embedded(environ: Mapping[str, str], settings: Settings) -> AsyncIterator[Path]:
    """A whole service in this process, for one command: where its API is. `LockHeld` when another process has it.

    It starts no prompts that wait: a command that only looks would take their agent with it.
    """
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(open_service(environ, settings, start_waiting=False))
        access = await Access.load(service.services.store, open_to_all=True)
        api = await stack.enter_async_context(open_api(service, access))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="footplate-"))
        await stack.enter_async_context(serve_local(api, Path(folder) / SOCKET_NAME))
        yield Path(folder) / SOCKET_NAME


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def _bind(path: Path) -> socket.socket:
    _remove(path)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        with short_address(path) as address:
            made.bind(address)
        made.listen(BACKLOG)
    except OSError:
        made.close()
        raise
    finally:
        os.umask(before)
    return made
