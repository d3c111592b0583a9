"""`footplate agents models`: what can be chosen of each agent, and who says so."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Final

import click
import msgspec

from footplate.config.places import data_folder
from footplate.config.settings import load_settings
from footplate.engines.catalog import engine_names, make_engine
from footplate.engines.commands import with_agents
from footplate.errors import ConfigError, FootplateError, RequestError
from footplate.host.process import Keeper
from footplate.runtime.choices import ChoiceBook, Choices

FAILED: Final = 1
USAGE: Final = 2


@click.command("models", short_help="Which models, modes and thought levels each agent has.")
@click.argument("engines", nargs=-1, metavar="[ENGINE...]")
@click.option("--refresh", is_flag=True, help="Ask the agents, and their providers where a key is set.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def models_command(engines: tuple[str, ...], refresh: bool, as_json: bool) -> None:
    """Show which models, modes and thought levels each agent has, who said so, and when.

    What an agent told in a session, or to --refresh, is kept; until then our own list is shown and says that
    it is one. With a key in the environment the provider's list, with limits of tokens, is asked for, too.

    \b
    Examples:
      footplate agents models
      footplate agents models claude --refresh
    """
    environ = dict(os.environ)
    try:
        found = asyncio.run(_collect(engines, environ, refresh=refresh))
    except FootplateError as problem:
        click.echo(f"footplate: {problem}", err=True)
        sys.exit(USAGE if isinstance(problem, RequestError | ConfigError) else FAILED)
    if as_json:
        click.echo(msgspec.json.encode({"engines": found}))
        return
    click.echo("\n\n".join(render(each) for each in found if each.options or each.models or engines))


async def _collect(engines: tuple[str, ...], environ: Mapping[str, str], *, refresh: bool) -> list[Choices]:
    settings = with_agents(load_settings(environ), environ)
    book = ChoiceBook(settings, environ)
    for engine in engines:
        make_engine(engine, settings)
    names = engines or engine_names(settings)
    if not refresh:
        return [book.read(name) for name in names]
    async with Keeper.start(state_dir=data_folder(environ)) as keeper:
        return [await book.refresh(name, keeper) for name in names]


def render(found: Choices) -> str:
    """What can be chosen, line by line."""
    version = f" {found.version}" if found.version else ""
    lines = [f"{found.engine}{version}: told by the {found.source}, {found.as_of}"]
    wide = max([len(each.value) for option in found.options for each in option.values], default=0) + 2
    for option in found.options:
        lines.append(f"  {option.label or option.id}")
        lines += [f"    {each.value:<{wide}}{each.label}".rstrip() for each in option.values]
    if found.models:
        lines.append("  Models of the provider")
    for model in found.models:
        sizes = [f"{model.context} in" if model.context else "", f"{model.output} out" if model.output else ""]
        lines.append(f"    {model.id:<28} {', '.join(filter(None, (model.label, *sizes)))}".rstrip())
    return "\n".join([*lines, *(f"  problem: {each}" for each in found.problems)])
