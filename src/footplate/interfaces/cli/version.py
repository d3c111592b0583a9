"""`footplate version`: which version this is, for people and for programs."""

from __future__ import annotations

import platform

import click
import msgspec

from footplate.version import __version__


@click.command("version", short_help="Say which version this is.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def version_command(as_json: bool) -> None:
    """Say which version of Footplate and of Python this is.

    \b
    Example:
      footplate version --json
    """
    facts = {"version": __version__, "python": platform.python_version()}
    if as_json:
        click.echo(msgspec.json.encode(facts))
    else:
        click.echo(f"footplate {facts['version']} (Python {facts['python']})")
