"""`footplate telegram`: the bridge alone, its first steps, and the way from takopi."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from typing import Final

import click

from footplate.config.settings import load_settings
from footplate.errors import ConfigError, FootplateError, RequestError
from footplate.interfaces.telegram.running import Keeping
from footplate.runtime.service import open_service
from footplate.runtime.tenancy import open_doors

FAILED: Final = 1
USAGE: Final = 2


async def run_alone() -> None:
    """Own the data folder and run the bridge until a signal; agents that work are left for the next start."""
    environ = dict(os.environ)
    settings = load_settings(environ)
    async with open_service(environ, settings, keep=True) as service, open_doors(service, "service"):
        task = asyncio.create_task(Keeping(service, settings, environ).run(), name="telegram bridge")
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, task.cancel)
        click.echo("the Telegram bridge runs; Ctrl-C stops it")
        try:
            await task
        except asyncio.CancelledError:
            click.echo("stopping: what the agents do goes on, and is shown at the next start")


def run_safely(work: object) -> None:
    """Run a coroutine to its end; a problem of ours is one line and an exit code."""
    try:
        asyncio.run(work)  # type: ignore[arg-type]
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
