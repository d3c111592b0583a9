"""`footplate tokens`: for a phone, a program, a guest: make one, list them, take one back."""

from __future__ import annotations

from urllib.parse import quote

import click
import msgspec

from footplate.interfaces.cli.client import service_options, with_client
from footplate.interfaces.cli.tables import render_age, render_table

SCOPES = ("read", "answer", "drive", "files", "admin")


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A token without its secret."""

    id: str
    name: str
    scopes: tuple[str, ...]
    created_at: float
    sessions: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """All of them."""

    tokens: tuple[Token, ...]


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A new one: the only time that it is shown."""

    token: str
    link: str


@click.group("tokens", short_help="Tokens of a service: make, list, take back.")
def tokens_group() -> None:
    """Tokens: scoped, limited to sessions or folders, expiring. Only their hashes are stored.

    \b
    Examples:
      footplate tokens make phone --scope answer
      footplate tokens make guest --scope read --session 01M7... --hours 24
    """


@tokens_group.command("list")
@service_options
def list_command(url: str, token: str, as_json: bool) -> None:
    """List the tokens that were made and not taken back.

    \b
    Example:
      footplate tokens list
    """
    raw = with_client(url, token, lambda client: client.send("GET", "/api/tokens"))
    if as_json:
        click.echo(raw)
        return
    rows = [
        (
            each.id,
            ",".join(each.scopes),
            render_age(each.created_at),
            each.name,
            " ".join(each.sessions + each.projects),
        )
        for each in msgspec.json.decode(raw, type=Tokens).tokens
    ]
    click.echo(render_table(("ID", "SCOPES", "AGE", "NAME", "LIMITED TO"), rows) if rows else "no tokens", err=not rows)


@tokens_group.command("make")
@click.argument("name")
@click.option("--scope", "scopes", type=click.Choice(SCOPES), multiple=True, required=True, help="May be given again.")
@click.option("--session", "sessions", multiple=True, metavar="S", help="Only this session; may be given again.")
@click.option("--folder", "folders", multiple=True, metavar="D", help="Only sessions below it; may be given again.")
@click.option("--hours", type=click.FloatRange(min=0, min_open=True), default=None, metavar="N", help="It expires.")
@service_options
def make_command(
    name: str,
    scopes: tuple[str, ...],
    sessions: tuple[str, ...],
    folders: tuple[str, ...],
    hours: float | None,
    url: str,
    token: str,
    as_json: bool,
) -> None:
    """Make a token called NAME and print it, this once.

    \b
    Example:
      footplate tokens make phone --scope answer --hours 24
    """
    body: dict[str, object] = {"name": name, "scopes": scopes, "sessions": sessions, "projects": folders}
    if hours is not None:
        body["expires_in_s"] = hours * 3600
    raw = with_client(url, token, lambda client: client.send("POST", "/api/tokens", body=body))
    click.echo(raw if as_json else msgspec.json.decode(raw, type=Made).token)


@tokens_group.command("revoke")
@click.argument("token_id", metavar="ID")
@service_options
def revoke_command(token_id: str, url: str, token: str, as_json: bool) -> None:
    """Take the token ID back: from here on it is not known.

    \b
    Example:
      footplate tokens revoke 3f9c2a71
    """
    with_client(url, token, lambda client: client.send("DELETE", f"/api/tokens/{quote(token_id, safe='')}"))
    if as_json:
        click.echo(msgspec.json.encode({"revoked": token_id}))
