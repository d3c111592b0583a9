"""`footplate agents`: which agents there are, what they lack; install, update and remove them. And `mock-agent`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Final, TypeVar

import click
import msgspec

from footplate.errors import ConfigError, FootplateError, RequestError
from footplate.interfaces.cli.app import AGENT_COMMANDS
from footplate.interfaces.cli.help_page import dress

FAILED: Final = 1
USAGE: Final = 2
T = TypeVar("T")


@click.command("mock-agent", short_help="Be the built-in agent, on standard input and output.")
def mock_agent() -> None:
    """Be the built-in agent: speaks ACP on standard input and output, needs no login, ends with its input.

    \b
    Example:
      footplate mock-agent < requests.jsonl
    """
    from footplate.engines.mock.stdio import main  # noqa: PLC0415  (asyncio is not paid for by --help)

    sys.exit(main([]))


class AgentsGroup(click.Group):
    """The subcommands below, and those of `AGENT_COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *AGENT_COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in AGENT_COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = AGENT_COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return dress(command)


@click.group("agents", cls=AgentsGroup, short_help="Which agents there are; install, update, remove, examine them.")
def agents_group() -> None:
    """Look at the agents that Footplate knows, and install them into its data folder.

    An agent that is on the PATH, or that the settings name, is used as it is; our own installs are used when there
    is no other.

    \b
    Examples:
      footplate agents list
      footplate agents install gemini
      footplate agents info codex
    """


def run(work: Callable[[], Awaitable[T]]) -> T:
    """Run the work; an error of the product is one line and an exit code."""

    async def whole() -> T:
        return await work()

    try:
        return asyncio.run(whole())
    except FootplateError as problem:
        click.echo(f"footplate: {problem}", err=True)
        sys.exit(USAGE if isinstance(problem, RequestError | ConfigError) else FAILED)


@agents_group.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def list_command(as_json: bool) -> None:
    """List every agent: installed or not, which version, what it lacks.

    \b
    Example:
      footplate agents list
    """
    from footplate.interfaces.cli.roster import open_roster, render_states  # noqa: PLC0415

    async def work() -> None:
        roster = open_roster(os.environ)
        states = await roster.list()
        if as_json:
            click.echo(msgspec.json.encode({"agents": states, "problems": roster.problems}))
            return
        click.echo(render_states(states))
        for problem in roster.problems:
            click.echo(f"footplate: {problem}", err=True)

    run(work)


@agents_group.command("info")
@click.argument("agent")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def info_command(agent: str, as_json: bool) -> None:
    """Tell all about one agent, with what to do about what it lacks.

    \b
    Example:
      footplate agents info codex
    """
    from footplate.interfaces.cli.roster import open_roster, render_state  # noqa: PLC0415

    async def work() -> None:
        state = await open_roster(os.environ).look(agent)
        click.echo(msgspec.json.encode(state) if as_json else render_state(state))

    run(work)


@agents_group.command("install")
@click.argument("agents", nargs=-1, required=True, metavar="AGENT...")
@click.option("--version", default="", metavar="V", help="That version, or `latest`; default: the one known to work.")
@click.option("--reinstall", is_flag=True, help="Also when it is there already.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object at the end; progress goes to standard error.")
def install_command(agents: tuple[str, ...], version: str, reinstall: bool, as_json: bool) -> None:
    """Install agents into the data folder.

    Each is fetched beside what is there, greeted, and put in force only when it answers. One that is on the PATH
    already is left alone unless a version, or --reinstall, asks for our own.

    \b
    Example:
      footplate agents install gemini
    """
    from footplate.interfaces.cli.roster import install_each  # noqa: PLC0415

    sys.exit(run(lambda: install_each(os.environ, agents, version=version, again=reinstall, as_json=as_json)))


@agents_group.command("update")
@click.argument("agents", nargs=-1, metavar="[AGENT...]")
@click.option("--latest", is_flag=True, help="To the newest that there is, not to the one known to work.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object at the end; progress goes to standard error.")
def update_command(agents: tuple[str, ...], latest: bool, as_json: bool) -> None:
    """Bring our installs to the version that is known to work, or to the newest; without a name all of them.

    \b
    Example:
      footplate agents update
    """
    from footplate.interfaces.cli.roster import update_each  # noqa: PLC0415

    sys.exit(run(lambda: update_each(os.environ, agents, latest=latest, as_json=as_json)))


@agents_group.command("remove")
@click.argument("agents", nargs=-1, required=True, metavar="AGENT...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def remove_command(agents: tuple[str, ...], as_json: bool) -> None:
    """Remove agents that Footplate has installed; what is on the PATH is left alone.

    \b
    Example:
      footplate agents remove gemini
    """
    from footplate.interfaces.cli.roster import open_roster, show_states  # noqa: PLC0415

    async def work() -> None:
        for agent in agents:
            await open_roster(os.environ).remove(agent)
            if not as_json:
                click.echo(f"{agent}: removed")
        if as_json:
            await show_states(os.environ, agents)

    run(work)


@click.command("install-agent", short_help="Install an agent, by the name of sandbox-agent.")
@click.argument("agent", default="")
@click.option("--all", "every", is_flag=True, help="Every agent that is known; the same as `all` for AGENT.")
@click.option("-r", "--reinstall", is_flag=True, help="Also when it is there already.")
@click.option("--agent-version", default="", metavar="V", help="That version; default: the one known to work.")
@click.option(
    "--agent-process-version", expose_value=False, metavar="V", help="Accepted and needless: there is no launcher."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object at the end; progress goes to standard error.")
def install_agent_command(agent: str, every: bool, reinstall: bool, agent_version: str, as_json: bool) -> None:
    """Install AGENT, or `all`, into the data folder, as `footplate agents install` does.

    \b
    Example:
      footplate install-agent gemini
    """
    from footplate.engines.known_agents import OFFERS  # noqa: PLC0415
    from footplate.interfaces.cli.roster import install_each  # noqa: PLC0415

    if bool(agent) == every and agent != "all":
        raise click.UsageError("name one AGENT, or give --all")
    agents = tuple(offer.id for offer in OFFERS) if every or agent == "all" else (agent,)
    sys.exit(run(lambda: install_each(os.environ, agents, version=agent_version, again=reinstall, as_json=as_json)))
