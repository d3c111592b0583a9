"""`footplate models`: what the engines of a service offer."""

from __future__ import annotations

import click
import msgspec

from footplate.interfaces.cli.client import service_options, with_client
from footplate.interfaces.cli.tables import render_table


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model that an engine offers."""

    engine: str
    model: str
    label: str = ""
    source: str = ""
    as_of: str = ""
    context_tokens: int | None = None
    output_tokens: int | None = None


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
    rows = [
        (
            each.model,
            each.engine,
            each.label,
            str(each.context_tokens or ""),
            str(each.output_tokens or ""),
            f"{each.source}, {each.as_of}",
        )
        for each in found
    ]
    head = ("MODEL", "ENGINE", "LABEL", "IN", "OUT", "TOLD BY")
    click.echo(render_table(head, rows) if rows else "none told", err=not rows)
