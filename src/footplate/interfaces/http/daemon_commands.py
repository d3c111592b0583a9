"""`footplate serve stop | status | logs | unit`: the server in the background on the command line."""

from __future__ import annotations

import os
import sys
from copy import copy
from itertools import chain
from typing import Final

import click
import msgspec

from footplate.errors import FootplateError
from footplate.events.wording import format_duration
from footplate.interfaces.http import daemon

NOT_RUNNING: Final = 3
"""As `systemctl status` says it."""


as_json_option = click.option("--json", "as_json", is_flag=True, help="As JSON.")


@click.command("stop")
@click.option("--end-agents", is_flag=True, help="End the agents, too; default: those that work go on.")
@as_json_option
def stop_command(end_agents: bool, as_json: bool) -> None:
    """Stop the server of this data folder.

    \b
    Example:
      footplate serve stop --end-agents
    """
    try:
        found = daemon.stop_running(dict(os.environ), end_agents=end_agents)
    except FootplateError as problem:
        click.echo(f"footplate: {problem}", err=True)
        sys.exit(1)
    told = {"stopped": found.url, "pid": found.pid}
    click.echo(msgspec.json.encode(told) if as_json else f"stopped {found.url} (pid {found.pid})")


@click.command("status")
@as_json_option
def status_command(as_json: bool) -> None:
    """Say whether a server runs on this data folder, and where. Exit code 3 when none does.

    \b
    Example:
      footplate serve status --json
    """
    found = daemon.look(dict(os.environ))
    if as_json:
        click.echo(msgspec.json.encode(found).decode())
    elif found.running:
        up = format_duration(int(found.uptime_s or 0))
        click.echo(f"{found.url}  pid {found.pid}, Footplate {found.version}, up {up}, data {found.data}")
    else:
        click.echo(f"no server runs on {found.data}")
    sys.exit(0 if found.running else NOT_RUNNING)


@click.command("logs")
@click.option(
    "-n", "--lines", type=click.IntRange(min=0), default=50, show_default=True, help="How many, the last ones."
)
@click.option("-f", "--follow", is_flag=True, help="And those that come, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Each line as a JSON object.")
def logs_command(lines: int, follow: bool, as_json: bool) -> None:
    """Show the log of a server that was started with --detach.

    \b
    Example:
      footplate serve logs -n 100
    """
    environ = dict(os.environ)
    try:
        for line in chain(daemon.read_log(environ, lines), daemon.follow_log(environ) if follow else ()):
            click.echo(msgspec.json.encode({"line": line}) if as_json else line)
    except FootplateError as problem:
        click.echo(f"footplate: {problem}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


@click.command("unit", context_settings={"ignore_unknown_options": True})
@click.option("--write", is_flag=True, help="Put it into ~/.config/systemd/user; default: show it.")
@as_json_option
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def unit_command(write: bool, as_json: bool, options: tuple[str, ...]) -> None:
    """Make a systemd unit of your own user that runs the server with these OPTIONS.

    \b
    Example:
      footplate serve unit --write -- --host 0.0.0.0
    """
    environ = dict(os.environ)
    unit = daemon.render_unit(environ, options)
    place = daemon.write_unit(environ, options) if write else None
    if as_json:
        click.echo(msgspec.json.encode({"unit": unit, "path": None if place is None else str(place)}))
        return
    if place is None:
        click.echo(unit, nl=False)
        return
    click.echo(f"wrote {place}\nnext: systemctl --user daemon-reload && systemctl --user enable --now footplate")


@click.group("daemon")
def daemon_group() -> None:
    """The server in the background, by the names that users of sandbox-agent know.

    \b
    Example:
      footplate daemon start --port 2468 && footplate daemon status
    """


@click.command("start", context_settings={"ignore_unknown_options": True})
@click.option("--upgrade", is_flag=True, help="Take over from a server that runs here; its agents go on.")
@as_json_option
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def start_command(upgrade: bool, as_json: bool, options: tuple[str, ...]) -> None:
    """Start the server in the background: `footplate serve --detach OPTIONS`. One that runs already is told.

    \b
    Example:
      footplate daemon start --port 2468
    """
    environ = dict(os.environ)
    found = daemon.look(environ)
    told = [f"{found.url} runs already (pid {found.pid})"] if found.running and not upgrade else []
    try:
        if found.running and upgrade:
            daemon.stop_running(environ)
        for line in told or daemon.start_detached(environ, options):
            click.echo(line, err=as_json)
    except FootplateError as problem:
        click.echo(f"footplate: {problem}", err=True)
        sys.exit(1)
    if as_json:
        click.echo(msgspec.json.encode(daemon.look(environ)))


def _address_params() -> tuple[click.Option, ...]:
    words = "Accepted and needless: the data folder tells which server it is."
    return (
        click.Option(["-H", "--host"], expose_value=False, metavar="H", help=words),
        click.Option(["-p", "--port"], expose_value=False, metavar="P", help=words),
    )


def _renamed(command: click.Command) -> click.Command:
    """The same command as users of sandbox-agent call it: with an address that says nothing, as the folder tells."""
    made = copy(command)
    made.params = [*command.params, *_address_params()]
    made.help = (command.help or "").replace("footplate serve ", "footplate daemon ")
    return made


daemon_group.add_command(start_command)
for _command in (stop_command, status_command, logs_command):
    daemon_group.add_command(_renamed(_command))
