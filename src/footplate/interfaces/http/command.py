"""`footplate serve` and `footplate server`: the HTTP server on the command line, until a signal ends it."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from pathlib import Path
from typing import Final, TypeVar, cast

import click

from footplate.config.places import data_folder
from footplate.config.running import DEFAULT_PORT, Running, remove_running, write_running
from footplate.config.settings import Settings, load_settings
from footplate.engines.commands import with_agents
from footplate.errors import ConfigError, FootplateError, InvalidValue, RequestError, StoreError
from footplate.host.program import allow_files
from footplate.host.table import start_time
from footplate.interfaces.http import daemon
from footplate.interfaces.http.api import open_api
from footplate.interfaces.http.app import build_app
from footplate.interfaces.http.banner import (
    WARNING,
    find_engines,
    reachable_url,
    render_collected,
    render_found,
    render_leaving,
    render_start,
)
from footplate.interfaces.http.daemon_commands import logs_command, status_command, stop_command, unit_command
from footplate.interfaces.http.guard import Cors
from footplate.interfaces.http.local import SOCKET_NAME as LOCAL_SOCKET
from footplate.interfaces.http.local import serve_local
from footplate.interfaces.http.operator import Wanted, check_wanted, open_access
from footplate.interfaces.http.serving import Listening, Tls, bind, listen
from footplate.runtime.audit import SERVICE
from footplate.runtime.log_lines import set_up_logging
from footplate.runtime.notify import Notifier
from footplate.runtime.service import Service, open_service
from footplate.runtime.tenancy import open_doors
from footplate.runtime.wiring import Wiring, load
from footplate.runtime.worktrees import Worktrees, all_rows
from footplate.version import __version__

FAILED: Final = 1
USAGE: Final = 2
LEVELS: Final = ("debug", "info", "warning", "error")

F = TypeVar("F", bound=Callable[..., object])
Surface = Callable[[Service, Settings, Mapping[str, str]], AbstractAsyncContextManager[str]]
"""Runs beside the server for as long as its block lasts; yields what to tell."""


async def run_server(
    wanted: Wanted, environ: Mapping[str, str], settings: Settings, beside: Sequence[str] = ()
) -> None:
    """Open everything, take calls, and stop in order when a signal comes."""
    allow_files()
    async with AsyncExitStack() as stack:
        listening = bind(wanted.host, wanted.port)
        stack.callback(listening.close)
        service = await stack.enter_async_context(open_service(environ, settings, keep=wanted.keep))
        await stack.enter_async_context(open_doors(service, "service"))
        await stack.enter_async_context(Notifier.open(service.services))
        entry = await open_access(service.services.store, wanted)
        api = await stack.enter_async_context(open_api(service, entry.access))
        app = build_app(api, wanted.doors(settings.http.allowed_hosts))
        server = await stack.enter_async_context(listen(app, api, listening, tls=wanted.tls))
        await stack.enter_async_context(serve_local(api, service.data / LOCAL_SOCKET))
        signals = _stop_by_signal(server)
        url = reachable_url(server.url, wanted.host)
        click.echo(render_start(url, data=str(service.data), token=entry.token, line=entry.line))
        if wanted.no_token and wanted.public:
            click.echo(WARNING, err=True)
        if wanted.keep:
            stack.enter_context(_recorded(service.data, server, wanted))
        click.echo(f"  engines  {'; '.join(await find_engines(settings, environ))}")
        for told in render_found(service, api.children.rejoined):
            click.echo(told)
        for name in beside:
            surface = cast("Surface", load(name))
            told = await stack.enter_async_context(surface(service, settings, environ))
            if told:
                click.echo(f"  {told}")
        if settings.runtime.worktree_days is not None:
            click.echo(f"  {await _collect_worktrees(service, settings.runtime.worktree_days)}")
        number = await signals.get()
        await _stop(service, api.children.running, wanted.drain, number)


async def _collect_worktrees(service: Service, days: float) -> str:
    """Remove old worktrees; what was removed, or why not. A full disk must not keep the service from running."""
    try:
        rows = [row async for row in all_rows(service.services.store)]
        detail = {"days": days, "reason": "runtime.worktree_days"}
        await service.services.audit.record("worktree.remove", SERVICE, target="all projects", detail=detail)
    except StoreError as problem:
        return f"worktrees are not removed: {problem}"
    return render_collected(await Worktrees(service.services.projects).collect(rows, days=days))


@contextmanager
def _recorded(data: Path, server: Listening, wanted: Wanted) -> Iterator[None]:
    """Tell others of the same person where the server is, for as long as it listens."""
    pid = os.getpid()
    running = Running(
        pid=pid,
        start_time=start_time(pid) or 0,
        url=server.url,
        version=__version__,
        started_at=time.time(),
        token=wanted.local,
        verify=wanted.tls.cert if wanted.tls else "",
        options=tuple(sys.argv[2:]),
    )
    write_running(data, running)
    try:
        yield
    finally:
        remove_running(data, pid)


async def _stop(service: Service, processes: int, drain: float | None, number: signal.Signals) -> None:
    """Say what becomes of the agents. Ctrl-C is a person who is done: they end, too. Others may be a restart."""
    kept = await service.has_folder()
    if not kept:
        click.echo(f"not stored: the data folder {service.data} is gone, and every session with it", err=True)
    if kept and drain is None and number != signal.SIGINT:
        click.echo(f"stopping: {render_leaving(service, processes)}")
        return
    if drain:
        click.echo(f"stopping: turns that run have {drain:g} s, then every agent is ended")
    else:
        click.echo("stopping: every agent and process is ended")
    if not await service.drain(drain or 0.0) and drain:
        click.echo("stopping: some turns did not end in time")


def _stop_by_signal(server: Listening) -> asyncio.Queue[signal.Signals]:
    """The signals that came; the first of them stops the server."""
    signals: asyncio.Queue[signal.Signals] = asyncio.Queue()

    def stop(number: signal.Signals) -> None:
        server.stop()
        signals.put_nowait(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop, number)
    return signals


def _log_level() -> str:
    """Every call, where `SANDBOX_AGENT_LOG_HTTP` asks for it."""
    return "info" if os.environ.get("SANDBOX_AGENT_LOG_HTTP", "") in ("1", "true") else "warning"


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
        click.option("--drain", type=click.FloatRange(min=0), default=None, metavar="SECONDS",
                     help="When stopped, wait so long for running turns, then end every agent; default: they go on."),
        click.option("--log-level", type=click.Choice(LEVELS), default=_log_level, show_default="warning",
                     help="info: every call; debug: every frame of every agent."),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def _wiring() -> Wiring:
    """What `main` hands over; nothing when the command is called by itself."""
    found = click.get_current_context().obj
    return found if isinstance(found, Wiring) else Wiring()


def _serve(wanted: Wanted) -> None:
    environ = dict(os.environ)
    try:
        settings = with_agents(load_settings(environ), environ)
        check_wanted(wanted)
        set_up_logging(wanted.log_level, settings)
        asyncio.run(run_server(wanted, environ, settings, _wiring().beside))
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


@click.group("serve", invoke_without_command=True, short_help="Serve sessions over HTTP.")
@_options
@click.option("--insecure-no-token", is_flag=True, help="Ask for no token although others can reach the address.")
@click.option("--detach", is_flag=True, help="Run in the background; its log is server.log in the data folder.")
@click.option("--replace", is_flag=True, help="Take over from the server that runs here; its agents go on.")
@click.pass_context
def serve_command(
    context: click.Context, /, insecure_no_token: bool, detach: bool, replace: bool, **given: object
) -> None:
    """Serve sessions over HTTP, for programs, editors and the web page, until Ctrl-C.

    A token is asked for unless you say otherwise. The first start makes one and shows its link once; only
    a hash of it is kept. `footplate chat` on the same machine joins the sessions of the server.

    Stopped by SIGTERM or killed, it interrupts no agent: those that work or wait for an answer go on, and
    the next `footplate serve` takes them over. Ctrl-C ends them; --drain waits for them and ends them.

    \b
    Examples:
      footplate serve --port 2468
      footplate serve --port 2468 --tls-cert cert.pem --tls-key key.pem
      footplate serve --port 2468 --detach && footplate serve status
      footplate serve --port 2468 --replace --detach
    """
    if context.invoked_subcommand is not None:
        return
    if insecure_no_token:
        given["no_token"] = True
    wanted = _wanted(insecure=insecure_no_token, keep=True, local=secrets.token_urlsafe(32), **given)  # type: ignore[arg-type]
    try:
        check_wanted(wanted)
        if replace and (before := daemon.find_running(data_folder(os.environ))) is not None:
            daemon.stop_running(os.environ)
            click.echo(f"the server before, {before.url} (pid {before.pid}), has ended; its agents go on")
        if detach:
            options = [each for each in sys.argv[2:] if each not in ("--detach", "--replace")]
            for line in daemon.start_detached(os.environ, options):
                click.echo(line)
            return
    except FootplateError as problem:
        click.echo(f"footplate: {problem}", err=True)
        sys.exit(USAGE if isinstance(problem, InvalidValue) else FAILED)
    _serve(wanted)


for _command in (stop_command, status_command, logs_command, unit_command):
    serve_command.add_command(_command)


@click.command("server", short_help="The same, as launchers of the sandbox-agent SDK call it.")
@_options
@click.option("--no-telemetry", is_flag=True, help="Accepted and needless: nothing is ever reported.")
def server_command(no_telemetry: bool, **given: object) -> None:
    """Serve over HTTP as the published launchers start it: `server --host H --port P --token T | --no-token`.

    With --no-token on an address that others reach it starts and warns: inside a container the network
    is the boundary.

    \b
    Example:
      footplate server --host 127.0.0.1 --port 2468 --no-token
    """
    _serve(_wanted(insecure=True, **given))  # type: ignore[arg-type]
