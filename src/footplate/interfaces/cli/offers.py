"""`footplate credentials` and `footplate models`: what a service has found on its machine."""

from __future__ import annotations

import click
import msgspec

from footplate.interfaces.cli.client import service_options, with_client
from footplate.interfaces.cli.tables import render_table


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    """A place where a credential lies; never its value."""

    source: str
    kind: str = ""
    engine: str = ""
    expired: bool = False
    used_by_cli: bool = False


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """All of them."""

    credentials: tuple[Credential, ...]


@click.command("credentials", short_help="Where credentials of agents lie; never their values.")
@service_options
def credentials_command(url: str, token: str, as_json: bool) -> None:
    """List where credentials of agents were found, and which of them the agent itself would use.

    \b
    Example:
      footplate credentials --json
    """
    raw = with_client(url, token, lambda client: client.send("GET", "/api/credentials"))
    if as_json:
        click.echo(raw)
        return
    rows = [
        (each.engine, each.kind, "expired" if each.expired else "used" if each.used_by_cli else "", each.source)
        for each in msgspec.json.decode(raw, type=Credentials).credentials
    ]
    click.echo(render_table(("ENGINE", "KIND", "STATE", "SOURCE"), rows) if rows else "none found", err=not rows)


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model that an engine offers."""

    engine: str
    model: str
    label: str = ""
    source: str = ""
    as_of: str = ""


class Models(msgspec.Struct, frozen=True, kw_only=True):
    """All of them."""

    models: tuple[Model, ...]


@click.command("models", short_help="The models that engines offer.")
@service_options
def models_command(url: str, token: str, as_json: bool) -> None:
    """List the models that engines offer, and who told so; `footplate agents models --refresh` asks again.

    \b
    Example:
      footplate models
    """
    raw = with_client(url, token, lambda client: client.send("GET", "/api/models"))
    if as_json:
        click.echo(raw)
        return
    found = msgspec.json.decode(raw, type=Models).models
    rows = [(each.engine, each.model, each.label, f"{each.source}, {each.as_of}") for each in found]
    click.echo(render_table(("ENGINE", "MODEL", "LABEL", "TOLD BY"), rows) if rows else "none told", err=not rows)
