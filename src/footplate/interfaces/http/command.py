"""`footplate serve` and `footplate server`: the HTTP server on the command line, until a signal ends it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import Final, TypeVar

import click

from footplate.config.settings import Settings, load_settings
from footplate.errors import ConfigError, FootplateError, RequestError
from footplate.interfaces.http.api import open_api
from footplate.interfaces.http.app import build_app
from footplate.interfaces.http.banner import WARNING, find_engines, reachable_url, render_start
from footplate.interfaces.http.guard import Cors
from footplate.interfaces.http.operator import DEFAULT_PORT, Wanted, check_wanted, open_access
from footplate.interfaces.http.request_log import LineFormatter
from footplate.interfaces.http.serving import Listening, Tls, bind, listen
from footplate.runtime.backend import HubBackend
from footplate.runtime.link import SOCKET_NAME, LinkServer
from footplate.runtime.notify import Notifier
from footplate.runtime.service import open_service

FAILED: Final = 1
USAGE: Final = 2
LEVELS: Final = ("debug", "info", "warning", "error")
NOISY: Final = ("uvicorn.error", "websockets")
"""Loggers of libraries that speak of every connection; they say what is wrong, no more."""

F = TypeVar("F", bound=Callable[..., object])


async def run_server(wanted: Wanted, environ: Mapping[str, str], settings: Settings) -> None:
    """Open everything, take calls, and stop in order when a signal comes."""
    async with AsyncExitStack() as stack:
        listening = bind(wanted.host, wanted.port)
        stack.callback(listening.close)
        service = await stack.enter_async_context(open_service(environ, settings, keep=wanted.keep))
        backend = HubBackend(service.hub, settings)
        await stack.enter_async_context(LinkServer.open(backend, service.data / SOCKET_NAME))
        await stack.enter_async_context(Notifier.open(service.services))
        entry = await open_access(service.services.store, wanted)
        api = await stack.enter_async_context(open_api(service, entry.access))
        app = build_app(api, wanted.doors(settings.http.allowed_hosts))
        server = await stack.enter_async_context(listen(app, api, listening, tls=wanted.tls))
        signals = _stop_by_signal(server)
        url = reachable_url(server.url, wanted.host)
        click.echo(render_start(url, data=str(service.data), token=entry.token, line=entry.line))
        if wanted.no_token and wanted.public:
            click.echo(WARNING, err=True)
        click.echo(f"  engines  {'; '.join(await find_engines(settings, environ))}")
        if service.rejoined:
            click.echo(f"  goes on  {len(service.rejoined)} sessions whose agents outlived the last server")
        if await signals.get() == signal.SIGINT:
            await service.drain(0.0)
        click.echo("stopping: streams end, running calls are waited for")


def _stop_by_signal(server: Listening) -> asyncio.Queue[signal.Signals]:
    """The signals that came. SIGINT is a person who is done: agents end, too. Others may be a restart."""
    signals: asyncio.Queue[signal.Signals] = asyncio.Queue()

    def stop(number: signal.Signals) -> None:
        server.stop()
        signals.put_nowait(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop, number)
    return signals


def set_up_logging(level: str, settings: Settings) -> None:
    """Log lines go to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter(settings.http.log))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in NOISY:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _options(command: F) -> F:
    """What both commands take."""
    options = [
        click.option("-H", "--host", default="127.0.0.1", show_default=True, metavar="H", help="The address to bind."),
        click.option("-p", "--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True,
                     metavar="P", help="The port; 0 takes a free one."),
        click.option("-t", "--token", envvar="FOOTPLATE_TOKEN", default="", metavar="T",
                     help="A token of your own choice; default: one is made at the first start."),
        click.option("-n", "--no-token", is_flag=True, help="Ask for no token."),
        click.option("--new-token", is_flag=True, help="Make another token in place of the one made before."),
        click.option("-O", "--cors-allow-origin", "origins", multiple=True, metavar="O",
                     help="A web origin whose pages may call; may be given again."),
        click.option("-M", "--cors-allow-method", "methods", multiple=True, metavar="M", help="A method they may use."),
        click.option("-A", "--cors-allow-header", "headers", multiple=True, metavar="A", help="A header of theirs."),
        click.option("-C", "--cors-allow-credentials", "credentials", is_flag=True, help="Let them send credentials."),
        click.option("--tls-cert", default="", metavar="FILE", help="A certificate (PEM): serve HTTPS."),
        click.option("--tls-key", default="", metavar="FILE", help="Its key (PEM)."),
        click.option("--log-level", type=click.Choice(LEVELS), default="warning", show_default=True,
                     help="info: every call; debug: every frame of every agent."),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def _serve(wanted: Wanted) -> None:
    environ = dict(os.environ)
    try:
        settings = load_settings(environ)
        check_wanted(wanted)
        set_up_logging(wanted.log_level, settings)
        asyncio.run(run_server(wanted, environ, settings))
    except FootplateError as problem:
        click.echo(f"footplate: {problem}", err=True)
        sys.exit(USAGE if isinstance(problem, RequestError | ConfigError) else FAILED)


def _wanted(*, insecure: bool, tls_cert: str, tls_key: str, **given: object) -> Wanted:
    if bool(tls_cert) != bool(tls_key):
        raise click.UsageError("--tls-cert and --tls-key go together")
    cors = Cors(
        origins=given.pop("origins"),  # type: ignore[arg-type]
        methods=given.pop("methods"),  # type: ignore[arg-type]
        headers=given.pop("headers"),  # type: ignore[arg-type]
        credentials=bool(given.pop("credentials")),
    )
    tls = Tls(cert=tls_cert, key=tls_key) if tls_cert else None
    return Wanted(insecure=insecure, tls=tls, cors=cors, **given)  # type: ignore[arg-type]


@click.command("serve", short_help="Serve sessions over HTTP.")
@_options
@click.option("--insecure-no-token", is_flag=True, help="Ask for no token although others can reach the address.")
def serve_command(insecure_no_token: bool, **given: object) -> None:
    """Serve sessions over HTTP, for programs, editors and the web page, until Ctrl-C.

    Ctrl-C ends the agents, too. After SIGTERM, a crash or kill -9 they go on for a while
    ([runtime] reattach_grace_s), and the next start takes them over in the middle of their turns.

    A token is asked for unless you say otherwise. The first start makes one and shows its link once; only
    a hash of it is kept. `footplate chat` on the same machine joins the sessions of the server.

    \b
    Examples:
      footplate serve
      footplate serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem
    """
    if insecure_no_token:
        given["no_token"] = True
    _serve(_wanted(insecure=insecure_no_token, keep=True, **given))  # type: ignore[arg-type]


@click.command("server", short_help="The same, as launchers of the sandbox-agent SDK call it.")
@_options
@click.option("--no-telemetry", is_flag=True, help="Accepted and needless: nothing is ever reported.")
def server_command(no_telemetry: bool, **given: object) -> None:
    """Serve over HTTP as the published launchers start it: `server --host H --port P --token T | --no-token`.

    With --no-token on an address that others reach it starts and warns: inside a container the network
    is the boundary.
    """
    _serve(_wanted(insecure=True, **given))  # type: ignore[arg-type]
