"""`footplate acp`: an agent for editors, on standard input and output, until the editor closes them."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Mapping
from typing import Final

import click

from footplate.config.acp import Attach
from footplate.config.settings import Settings, load_settings
from footplate.engines.catalog import make_engine
from footplate.errors import ConfigError, FootplateError, RequestError
from footplate.interfaces.acp.desk import Reception
from footplate.interfaces.acp.editor import open_editor

FAILED: Final = 1
USAGE: Final = 2
LEVELS: Final = ("debug", "info", "warning", "error")
HINT: Final = "footplate: this speaks ACP and is started by an editor (docs/how-to/editors.md); Ctrl-D ends it"


async def serve_editor(engine: str, environ: Mapping[str, str], settings: Settings, attach: Attach) -> None:
    """Serve the editor at our standard streams until it is gone or a signal comes."""
    loop = asyncio.get_running_loop()
    async with open_editor() as editor:
        serving = asyncio.create_task(Reception(editor, engine, environ, settings, attach).serve(), name="reception")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, serving.cancel)
        await asyncio.wait((serving,))
        if not serving.cancelled():
            serving.result()


@click.command("acp", short_help="Be the agent of an editor, on standard input and output.")
@click.argument("engine", required=False, default="")
@click.option(
    "--attach/--no-attach",
    default=None,
    help="Only join the Footplate that runs on this machine, or never; default: join it if one runs.",
)
@click.option("--log-level", type=click.Choice(LEVELS), default="warning", show_default=True, help="On standard error.")
def acp_command(engine: str, attach: bool | None, log_level: str) -> None:
    """Be the agent of an editor that speaks ACP (the Agent Client Protocol): Zed, JetBrains, Neovim and others.

    ENGINE is the agent that does the work; default: the one of the settings (claude). It ends with the
    editor, and no agent is left behind. Where `footplate serve` runs on the same data folder it joins it:
    then sessions go on when the editor is closed, and are seen and answered from everywhere else, too.

    \b
    Examples:
      footplate acp
      footplate acp claude --attach
    """
    environ = dict(os.environ)
    logging.basicConfig(level=log_level.upper(), stream=sys.stderr, format="footplate: %(levelname)s %(message)s")
    try:
        settings = load_settings(environ)
        name = make_engine(engine or settings.default_engine, settings.engines).name
        chosen: Attach = settings.acp.attach if attach is None else ("always" if attach else "never")
        if sys.stdin.isatty():
            click.echo(HINT, err=True)
        asyncio.run(serve_editor(name, environ, settings, chosen))
    except FootplateError as problem:
        click.echo(f"footplate: {problem}", err=True)
        sys.exit(USAGE if isinstance(problem, RequestError | ConfigError) else FAILED)
