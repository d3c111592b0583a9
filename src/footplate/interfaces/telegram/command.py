"""`footplate telegram`: the bridge alone, its first steps, and the way from takopi."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from typing import Final

import click

from footplate.config.settings import load_settings
from footplate.errors import ConfigError, FootplateError, RequestError
from footplate.interfaces.telegram.bridge import check_settings
from footplate.interfaces.telegram.running import Keeping
from footplate.runtime.service import open_service
from footplate.runtime.tenancy import open_doors

FAILED: Final = 1
USAGE: Final = 2


async def run_alone() -> None:
    """Own the data folder and run the bridge until a signal.

    Ctrl-C is a person who is done: the agents end, too. Other signals may be a restart: those that work go on.
    """
    environ = dict(os.environ)
    settings = load_settings(environ)
    check_settings(settings.telegram)
    signals: list[signal.Signals] = []
    async with open_service(environ, settings, keep=True) as service, open_doors(service, "service"):
        task = asyncio.create_task(Keeping(service, settings, environ).run(), name="telegram bridge")

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
        logging.basicConfig(level=log_level.upper(), format="%(levelname)s %(name)s: %(message)s")
        logging.getLogger("httpx").setLevel(logging.WARNING)
        run_safely(run_alone())
