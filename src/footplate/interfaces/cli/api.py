"""`footplate api`: any call of the HTTP API, for what has no command of its own."""

from __future__ import annotations

import sys

import click
import msgspec

from footplate.interfaces.cli.client import json_service_options, with_client

METHODS = ("GET", "POST", "PUT", "DELETE")


@click.command("api", short_help="Any call of the HTTP API.")
@click.argument("method", type=click.Choice(METHODS, case_sensitive=False))
@click.argument("path")
@click.argument("query", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--data", default=None, metavar="JSON", help="The body; - reads it from standard input.")
@json_service_options
def api_command(method: str, path: str, query: tuple[str, ...], data: str | None, url: str, token: str) -> None:
    """Make the call METHOD PATH and print its answer. `GET /openapi.json` tells all there are.

    \b
    Examples:
      footplate api GET /api/info
      footplate api GET /api/git/status path=$PWD
      footplate api POST /api/sessions --data '{"engine":"mock","cwd":"/"}'
    """
    pairs = [each.partition("=") for each in query]
    if not path.startswith("/") or not all(mark for _, mark, _ in pairs):
        raise click.UsageError("a path begins with /, and what follows it is NAME=VALUE")
    given: dict[str, object] = {}
    for name, _, value in pairs:
        given[name] = (*given.get(name, ()), value)  # type: ignore[misc]
    body = None if data is None else _read(sys.stdin.read() if data == "-" else data)
    raw = with_client(url, token, lambda client: client.send(method.upper(), path, query=given, body=body))
    sys.stdout.buffer.write(raw)
    if raw and not raw.endswith(b"\n"):
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


def _read(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as problem:
        raise click.BadParameter(f"not JSON: {problem}", param_hint="--data") from problem
