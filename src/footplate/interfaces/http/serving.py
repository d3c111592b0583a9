"""Listening: the application on a socket, by uvicorn in this very process, until somebody stops it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final

import msgspec
import uvicorn

from footplate.errors import ConfigError
from footplate.interfaces.http.api import Api
from footplate.interfaces.http.app import App
from footplate.interfaces.http.wire import make_protocol, make_socket_protocol
from footplate.tasks import spawn

BACKLOG: Final = 1024
TICK_S: Final = 1.0
SOCKET_MESSAGE: Final = 64 * 1024 * 1024


class Tls(msgspec.Struct, frozen=True, kw_only=True):
    """The certificate that the server shows, as PEM files."""

    cert: str
    key: str


class Listening:
    """A server that takes calls. `url` is its address as a caller on this machine writes it."""

    def __init__(self, url: str, server: _Server, api: Api) -> None:
        self.url = url
        self._server = server
        self._api = api

    def stop(self) -> None:
        """Take no more calls; streams end, running calls have until the deadline."""
        self._api.stop()
        self._server.quit.set()


class _Server(uvicorn.Server):
    """uvicorn without its own hands on signals: whoever started us stops us."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()
        self.quit = asyncio.Event()

    async def main_loop(self) -> None:
        """Until somebody quits; the date in our answers is renewed every second."""
        while not self.quit.is_set():
            await self.on_tick(0)
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_S):
                    await self.quit.wait()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        self.ready.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield


def bind(host: str, port: int) -> socket.socket:
    """A socket on that address. Raises `ConfigError` when it cannot be had."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        made = socket.create_server(
            address[:2] if family == socket.AF_INET else address, family=family, backlog=BACKLOG
        )
    except (OSError, UnicodeError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise ConfigError(
            f"{host}:{port}", reason, "choose another --host or --port, or end what listens there"
        ) from None
    # Connections inherit it. asyncio sets it only where the protocol is named, which it is not here; without it the
    # end of an answer waits for the acknowledgement of its head: 40 ms.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


@asynccontextmanager
async def listen(app: App, api: Api, listening: socket.socket, *, tls: Tls | None = None) -> AsyncIterator[Listening]:
    """Take calls on the socket for as long as the block lasts, then stop in order. The socket is closed with it."""
    settings = api.settings.http
    config = uvicorn.Config(
        app,
        http=make_protocol(settings),
        ws=make_socket_protocol(settings),
        ws_max_size=SOCKET_MESSAGE,
        ws_ping_timeout=settings.stall_s,
        lifespan="off",
        loop="none",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=round(settings.stop_s),
        ssl_certfile=tls.cert if tls else None,
        ssl_keyfile=tls.key if tls else None,
        proxy_headers=False,
    )
    try:
        config.load()
    except OSError as problem:
        listening.close()
        raise ConfigError(
            "--tls-cert, --tls-key", str(problem), "name a certificate and its key as PEM files"
        ) from None
    server = _Server(config)
    serving = spawn(server.serve([listening]), name="http", awaited=True)
    ready = spawn(server.ready.wait(), name="http: ready", awaited=True)
    try:
        await asyncio.wait((serving, ready), return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
        made = Listening(_url(listening, tls=tls), server, api)
        try:
            yield made
        finally:
            made.stop()
            await serving
    finally:
        ready.cancel()
        listening.close()


def _url(listening: socket.socket, *, tls: Tls | None) -> str:
    if listening.family == socket.AF_UNIX:
        return "http://localhost"
    host, port = listening.getsockname()[:2]
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"{'https' if tls else 'http'}://{name}:{port}"
