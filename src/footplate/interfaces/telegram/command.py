"""`footplate telegram`: the bridge alone, its first steps, and the way from takopi."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Final

import click

from footplate.chat.running import Keeping
from footplate.config.settings import load_settings
from footplate.engines.commands import with_agents
from footplate.errors import ConfigError, FootplateError, RequestError
from footplate.host.program import allow_files
from footplate.interfaces.telegram.bot.client import API_URL
from footplate.interfaces.telegram.opening import TelegramKind, check_settings
from footplate.interfaces.telegram.setup import STYLES, Style, find_chat_id, import_takopi, set_up
from footplate.runtime.log_lines import set_up_logging
from footplate.runtime.service import open_service
from footplate.runtime.tenancy import open_doors
from footplate.tasks import spawn

FAILED: Final = 1
USAGE: Final = 2


async def run_alone(log_level: str) -> None:
    """Own the data folder and run the bridge until a signal.

    Ctrl-C is a person who is done: the agents end, too. Other signals may be a restart: those that work go on.
    """
    environ = dict(os.environ)
    settings = with_agents(load_settings(environ), environ)
    set_up_logging(log_level, settings)
    check_settings(settings.telegram)
    signals: list[signal.Signals] = []
    allow_files()
    async with open_service(environ, settings, keep=True) as service, open_doors(service, "service"):
        task = spawn(Keeping(TelegramKind(), service, settings, environ).run(), name="telegram bridge", awaited=True)

        def stop(number: signal.Signals) -> None:
            signals.append(number)
            task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, stop, number)
        click.echo("the Telegram bridge runs; Ctrl-C stops it")
        with suppress(asyncio.CancelledError):
            await task
        if signals[:1] == [signal.SIGINT]:
            click.echo("stopping: every agent is ended")
            await service.drain(0.0)
        else:
            click.echo("stopping: agents that work go on, and are shown at the next start")


def run_safely(work: Coroutine[object, object, None]) -> None:
    """Run a coroutine to its end; a problem of ours is one line and an exit code."""
    try:
        asyncio.run(work)
    except FootplateError as problem:
        click.echo(f"footplate: {problem}", err=True)
        sys.exit(USAGE if isinstance(problem, RequestError | ConfigError) else FAILED)


@click.group("telegram", invoke_without_command=True, short_help="Run the Telegram bridge, or set it up.")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info")
@click.pass_context
def telegram_group(context: click.Context, log_level: str) -> None:
    """Run the Telegram bridge of `[telegram]` alone. `footplate serve` runs it, too: then this is not needed.

    \b
    Examples:
      footplate telegram setup
      footplate telegram
    """
    if context.invoked_subcommand is None:
        run_safely(run_alone(log_level))


as_json_option = click.option(
    "--json", "as_json", is_flag=True, help="The outcome as JSON; the rest on standard error."
)


@telegram_group.command("setup", short_help="Set the bridge up: token, style, chat.")
@click.option("--token", default="", metavar="T", help="The token; else it is asked for.")
@click.option("--api-url", default="", metavar="URL", help=f"Where the Bot API is; default: as set, else {API_URL}.")
@click.option("--style", type=click.Choice(list(STYLES)), default=None, help="How you want to work; else it is asked.")
@as_json_option
def setup_command(token: str, api_url: str, style: Style | None, as_json: bool) -> None:
    """Check the token, wait for your first message to learn the chat, write `[telegram]`, look for agents.

    \b
    Example:
      footplate telegram setup --style assistant
    """
    run_safely(set_up(token, api_url, style, as_json=as_json))


@telegram_group.command("chat-id", short_help="Tell the id of a chat.")
@click.option("--project", default="", metavar="ALIAS", help="Write it into the settings as that project's chat.")
@as_json_option
def chat_id_command(project: str, as_json: bool) -> None:
    """Wait for the next message to the bot and tell the id of its chat.

    \b
    Example:
      footplate telegram chat-id --project shop
    """
    run_safely(find_chat_id(project, as_json=as_json))


@telegram_group.command("import-takopi", short_help="Take over the settings of takopi.")
@click.argument("path", type=click.Path(path_type=Path), default=Path("~/.takopi/takopi.toml"))
@click.option("--force", is_flag=True, help="Write over a `[telegram]` that is there.")
@as_json_option
def import_takopi_command(path: Path, force: bool, as_json: bool) -> None:
    """Convert takopi's settings file (default: ~/.takopi/takopi.toml) into ours; what has no like here is told.

    \b
    Example:
      footplate telegram import-takopi ~/.takopi/takopi.toml
    """
    run_safely(import_takopi(path.expanduser(), force=force, as_json=as_json))
