"""What `footplate agents` does and shows: the roster of this machine in words, installs with their progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import click
import msgspec

from footplate.config.places import data_folder
from footplate.config.settings import load_settings
from footplate.engines.commands import with_agents
from footplate.engines.receipts import find_receipt, receipts
from footplate.errors import Conflict, FootplateError
from footplate.host.process import Keeper
from footplate.interfaces.cli.tables import fold, render_table
from footplate.interfaces.cli.working import Working, working
from footplate.runtime.agents import AgentState, Roster

FAILED: Final = 1


def open_roster(environ: Mapping[str, str]) -> Roster:
    """The agents of this machine. Raises `ConfigError`."""
    return Roster(with_agents(load_settings(environ), environ), environ)


def render_states(states: Sequence[AgentState], *, width: int = 0) -> str:
    """A line for each: what it is, what is here of it, what it lacks."""
    return render_table(("AGENT", "HERE", "LACKS"), [_row(state) for state in states], width)


def _row(state: AgentState) -> tuple[str, str, str]:
    here = f"{state.version or 'installed'} ({state.origin})" if state.installed else "not installed"
    return state.id, here, "; ".join(gap.what for gap in state.missing if gap.what != "not installed")


def render_state(state: AgentState) -> str:
    """All about it, and what to do about what it lacks."""
    rows = [
        ("name", f"{state.title} ({state.id})"),
        ("about", state.description),
        ("sessions", "yes" if state.engine else "once it is installed"),
        ("version", state.version),
        ("program", state.program and f"{state.program} ({state.origin})"),
        ("offered", state.offered and f"{state.offered}, {state.way}"),
        ("known from", state.source),
        ("problem", state.problem),
    ]
    rows += [("missing", f"{gap.what}: {gap.advice}") for gap in state.missing]
    return "\n".join(fold(value, first=f"{name:<11} ", rest=" " * 12) for name, value in rows if value)


async def install_each(
    environ: Mapping[str, str], agents: tuple[str, ...], *, version: str, again: bool, as_json: bool = False
) -> int:
    """Install them one after the other; the exit code. Raises `UnknownEngine` before anything is done."""
    roster = open_roster(environ)
    states = [await roster.look(agent) for agent in agents]
    wanted: list[str] = []
    for state in states:
        if state.installed and not again and version in ("", state.version):
            there = f"{state.version or 'a program'} is there: {state.program or 'part of Footplate'}"
            _tell(state.id, there, beside=as_json)
        else:
            wanted.append(state.id)
    code = await _fetch(roster, environ, dict.fromkeys(wanted, version), beside=as_json)
    if as_json:
        await show_states(environ, agents)
    return code


async def update_each(
    environ: Mapping[str, str], agents: tuple[str, ...], *, latest: bool, as_json: bool = False
) -> int:
    """Bring them, or all that we installed, to the version that is wanted; the exit code."""
    roster = open_roster(environ)
    wanted: dict[str, str] = {}
    named = agents or tuple(receipt.offer.id for receipt in receipts(environ))
    for agent in named:
        state = await roster.look(agent)
        receipt = find_receipt(environ, agent)
        if receipt is None:
            raise Conflict(f"{agent} was not installed by Footplate; update it where it comes from")
        if latest or state.offered != receipt.version:
            wanted[agent] = "latest" if latest else ""
        else:
            _tell(agent, f"{receipt.version} is the one that is known to work", beside=as_json)
    code = await _fetch(roster, environ, wanted, beside=as_json)
    if as_json:
        await show_states(environ, named)
    return code


async def show_states(environ: Mapping[str, str], agents: tuple[str, ...]) -> None:
    """How they stand now, as one JSON object."""
    roster = open_roster(environ)
    states = [await roster.look(agent) for agent in agents]
    click.echo(msgspec.json.encode({"agents": states}))


async def _fetch(roster: Roster, environ: Mapping[str, str], wanted: Mapping[str, str], *, beside: bool) -> int:
    code = 0
    if not wanted:
        return code
    async with Keeper.start(state_dir=data_folder(environ)) as keeper:
        for agent, version in wanted.items():
            try:
                async with working(f"{agent}: looking for it") as line:
                    told = partial(_tell_above, line, agent, beside=beside)
                    await roster.install(agent, keeper, version=version, told=told)
            except FootplateError as problem:
                click.echo(f"footplate: {problem}", err=True)
                code = FAILED
    return code


def _tell_above(moving: Working, agent: str, line: str, *, beside: bool) -> None:
    """A line for a person above the one that moves, which goes on to say it."""
    moving.wipe()
    moving.say(f"{agent}: {line}")
    _tell(agent, line, beside=beside)


def _tell(agent: str, line: str, *, beside: bool) -> None:
    """A line for a person; on standard error where standard output is for a program."""
    click.echo(f"{agent}: {line}", err=beside)
