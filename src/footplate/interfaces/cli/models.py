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
from footplate.engines.known_models import AS_OF, KnownModel, find_known
from footplate.errors import ConfigError, FootplateError, RequestError
from footplate.events.wording import format_tokens
from footplate.host.process import Keeper
from footplate.runtime.choices import ChoiceBook, Choices

FAILED: Final = 1
USAGE: Final = 2


@click.command("models", short_help="Which models, modes and thought levels each agent has.")
@click.argument("engines", nargs=-1, metavar="[ENGINE...]")
@click.option("--refresh", is_flag=True, help="Ask the agents, and their providers where there is a key or a login.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def models_command(engines: tuple[str, ...], refresh: bool, as_json: bool) -> None:
    """Show which models, modes and thought levels each agent has, who said so, and when.

    What an agent told in a session, or to --refresh, is kept; until then our own list is shown and says that
    it is one. --refresh also asks the provider for its list, with limits of tokens, by the key or the login that a
    session would use.

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
        for each in option.values:
            known = find_known(found.engine, each.value, version=found.version) if option.category == "model" else None
            lines.append(f"    {each.value:<{wide}}{_limits(each.label, known)}".rstrip())
    if found.models:
        where = "of the provider" if found.models_source == "provider" else f"by full id (built-in list, {AS_OF})"
        lines.append(f"  Models {where}")
    lines += [f"    {each.id:<28} {_limits(each.label, each)}".rstrip() for each in found.models]
    return "\n".join([*lines, *(f"  problem: {each}" for each in found.problems)])


def _limits(label: str, model: KnownModel | None) -> str:
    """The label of a model, then how many tokens it reads and writes at most."""
    reads = f"{format_tokens(model.context)} in" if model is not None and model.context else ""
    writes = f"{format_tokens(model.output)} out" if model is not None and model.output else ""
    return ", ".join(filter(None, (label, reads, writes)))
