"""`footplate credentials`: where credentials of agents lie; and, asked for by name, what they are."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click
import msgspec

from footplate.errors import RequestError
from footplate.interfaces.cli.client import service_options, with_client
from footplate.interfaces.cli.extraction import AGENTS, Extracted, extract
from footplate.interfaces.cli.failing import fail
from footplate.interfaces.cli.tables import render_table

F = TypeVar("F", bound=Callable[..., object])


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    """A place where a credential lies; never its value."""

    source: str
    kind: str = ""
    field: str = ""
    expired: bool = False
    used_by_cli: bool = False


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One, and whose it is."""

    engine: str
    credential: Credential


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """All of them."""

    credentials: tuple[Entry, ...]


@click.group(
    "credentials", invoke_without_command=True, short_help="Where credentials of agents lie; never their values."
)
@service_options
@click.pass_context
def credentials_group(context: click.Context, url: str, token: str, as_json: bool) -> None:
    """List where credentials of agents were found, and which of them the agent itself would use.

    \b
    Examples:
      footplate credentials
      footplate credentials --json
    """
    if context.invoked_subcommand is not None:
        return
    raw = with_client(url, token, lambda client: client.send("GET", "/api/credentials"))
    if as_json:
        click.echo(raw)
        return
    rows = [
        (each.engine, found.kind, _state(found), " ".join(filter(None, (found.source, found.field))))
        for each in msgspec.json.decode(raw, type=Credentials).credentials
        for found in (each.credential,)
    ]
    click.echo(render_table(("ENGINE", "KIND", "STATE", "SOURCE"), rows) if rows else "none found", err=not rows)


def _state(found: Credential) -> str:
    return "expired" if found.expired else "used" if found.used_by_cli else ""


def _where_options(command: F) -> F:
    for option in (
        click.option("--no-oauth", is_flag=True, help="Keys only, no tokens of logins."),
        click.option("-d", "--home-dir", default="", metavar="DIR", help="Look below this home."),
    ):
        command = option(command)
    return command


def _find(home_dir: str, no_oauth: bool) -> dict[str, Extracted]:
    environ = {**os.environ, **({"HOME": str(Path(home_dir).absolute())} if home_dir else {})}
    return extract(environ, oauth=not no_oauth)


@credentials_group.command("extract")
@click.option("-a", "--agent", type=click.Choice(list(AGENTS)), help="Only what this agent takes.")
@click.option("-p", "--provider", default="", metavar="P", help="Only that of this provider: anthropic, openai.")
@_where_options
@click.option("-r", "--reveal", is_flag=True, help="Show the values whole.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def extract_command(
    agent: str | None, provider: str, home_dir: str, no_oauth: bool, reveal: bool, as_json: bool
) -> None:
    """Find the credential of each provider on this machine: in variables, then in the files of agents.

    The name and the options are those of sandbox-agent.

    \b
    Example:
      footplate credentials extract --no-oauth
    """
    only = provider or AGENTS.get(agent or "", "")
    found = {name: each for name, each in _find(home_dir, no_oauth).items() if not only or name == only}
    shown = {name: each if reveal else each.masked() for name, each in found.items()}
    if as_json:
        click.echo(msgspec.json.encode(shown))
        return
    rows = [(name, each.kind, each.value, f"{each.source} {each.field}") for name, each in shown.items()]
    click.echo(render_table(("PROVIDER", "KIND", "VALUE", "SOURCE"), rows) if rows else "none found", err=not rows)


@credentials_group.command("extract-env")
@click.option("-e", "--export", is_flag=True, help="With `export` before each.")
@_where_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object: variable and value.")
def extract_env_command(export: bool, home_dir: str, no_oauth: bool, as_json: bool) -> None:
    """Print the credentials of this machine, WHOLE, as variables for a shell or for `docker run --env-file`.

    A token of a login goes by the variable that takes tokens (CLAUDE_CODE_OAUTH_TOKEN), never as a key.

    \b
    Example:
      eval "$(footplate credentials extract-env --export)"
    """
    found = {each.variable: each.value for each in _find(home_dir, no_oauth).values() if each.variable}
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    for name, value in found.items():
        if "\n" in value:
            fail(RequestError(f"the value of {name} has a line break, which no variable file takes"))
        click.echo(f"{'export ' if export else ''}{name}={shlex.quote(value)}")
