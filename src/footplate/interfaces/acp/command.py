"""`footplate acp`: an agent for editors, on standard input and output, until the editor closes them."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NoReturn

import click

from footplate.config.acp import Attach
from footplate.config.settings import Settings, load_settings
from footplate.engines.base import Engine, Options, Spawn
from footplate.engines.catalog import make_engine
from footplate.engines.commands import with_agents
from footplate.errors import ConfigError, FootplateError, RequestError, UnsupportedOption
from footplate.interfaces.acp.desk import Reception
from footplate.interfaces.acp.editor import open_editor
from footplate.tasks import spawn

FAILED: Final = 1
USAGE: Final = 2
COMMAND: Final = (sys.executable, "-m", "footplate", "acp")
"""How an editor can start us again, whatever its `PATH`."""
LEVELS: Final = ("debug", "info", "warning", "error")
HINT: Final = "footplate: this speaks ACP and is started by an editor (docs/how-to/editors.md); Ctrl-D ends it"


async def serve_editor(engine: str, environ: Mapping[str, str], settings: Settings, attach: Attach) -> None:
    """Serve the editor at our standard streams until it is gone or a signal comes."""
    loop = asyncio.get_running_loop()
    async with open_editor() as editor:
        serving = spawn(
            Reception(editor, engine, environ, settings, attach, COMMAND).serve(), name="reception", awaited=True
        )
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, serving.cancel)
        await asyncio.wait((serving,))
        if not serving.cancelled():
            serving.result()


def _hand_over(engine: Engine, environ: dict[str, str], arguments: tuple[str, ...]) -> NoReturn:
    """Become the agent's own program, in the environment of this terminal and with the settings of its agents."""
    installed = asyncio.run(engine.locate(environ))
    launch = engine.launch(Options(cwd=str(Path.cwd())), installed, environ)
    if not isinstance(launch, Spawn):
        raise UnsupportedOption(engine.name, "--cli", "it has no program of its own")
    os.execve(launch.argv[0], [launch.argv[0], *arguments], {**environ, **launch.env})


@click.command(
    "acp",
    short_help="Be the agent of an editor, on standard input and output.",
    context_settings={"ignore_unknown_options": True},
)
@click.argument("engine", required=False, default="")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--attach/--no-attach",
    default=None,
    help="Only join the Footplate that runs on this machine, or never; default: join it if one runs.",
)
@click.option("--cli", is_flag=True, help="Become the agent's own program instead, with what follows: for a login.")
@click.option("--log-level", type=click.Choice(LEVELS), default="warning", show_default=True, help="On standard error.")
def acp_command(engine: str, arguments: tuple[str, ...], attach: bool | None, cli: bool, log_level: str) -> None:
    """Be the agent of an editor that speaks ACP (the Agent Client Protocol): Zed, JetBrains, Neovim and others.

    ENGINE is the agent that does the work; default: the one of the settings (claude). It ends with the
    editor, and no agent is left behind. Where `footplate serve` runs on the same data folder it joins it:
    then sessions go on when the editor is closed, and are seen and answered from everywhere else, too.

    \b
    Examples:
      footplate acp
      footplate acp claude --attach
      footplate acp claude --cli auth status
    """
    if arguments and not cli:
        raise click.UsageError(f"what is {arguments[0]!r}? Only --cli takes further arguments")
    environ = dict(os.environ)
    logging.basicConfig(level=log_level.upper(), stream=sys.stderr, format="footplate: %(levelname)s %(message)s")
    try:
        settings = with_agents(load_settings(environ), environ)
        chosen = make_engine(engine or settings.default_engine, settings)
        if cli:
            _hand_over(chosen, environ, arguments)
        joins: Attach = settings.acp.attach if attach is None else ("always" if attach else "never")
        if sys.stdin.isatty():
            click.echo(HINT, err=True)
        asyncio.run(serve_editor(chosen.name, environ, settings, joins))
    except FootplateError as problem:
        click.echo(f"footplate: {problem}", err=True)
        sys.exit(USAGE if isinstance(problem, RequestError | ConfigError) else FAILED)
