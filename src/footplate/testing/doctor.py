"""`footplate agents doctor`: a drill of each installed agent, and what is new in what it says."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from importlib.resources import files
from typing import Any, Final

import click
import msgspec

from footplate.config.acp import AcpAgentSettings
from footplate.config.settings import Settings, load_settings
from footplate.engines.commands import with_agents
from footplate.engines.distribution import Offer
from footplate.errors import ConfigError, EngineNotFound, FootplateError, RequestError
from footplate.events.wording import format_count, format_duration
from footplate.runtime.agents import AgentState, Roster
from footplate.runtime.examination import Examined, Report, Step
from footplate.tasks import spawn
from footplate.testing.drill import Subject, drill
from footplate.testing.shapes import read_known, unknown

FAILED: Final = 1
USAGE: Final = 2
STOPPED: Final = 143
Hears = Callable[[Step], None]


def known_shapes(engine: str) -> frozenset[str]:
    """What is known of the lines of an agent; of one that was never recorded, what any agent says in its protocol."""
    folder = files("footplate.testing").joinpath("known_shapes")
    file = folder.joinpath(f"{engine}.txt")
    chosen = file if file.is_file() else folder.joinpath("acp.txt")
    return read_known(chosen.read_text(encoding="utf-8"))


async def examine_agent(
    state: AgentState, offer: Offer | None, settings: Settings, environ: Mapping[str, str], told: Hears
) -> Examined:
    """Drill an agent that is installed."""
    found = await drill(subject_of(state, offer, settings), environ, told)
    return Examined(
        agent=state.id,
        version=state.version,
        ok=found.ok,
        steps=found.steps,
        unparsed=found.unparsed,
        new=unknown(found.lines, known_shapes(state.id)),
        lines=len(found.lines),
    )


def subject_of(state: AgentState, offer: Offer | None, settings: Settings) -> Subject:
    """Who is drilled: an engine of ours by its program, else a command that speaks ACP."""
    command = settings.acp_agents.get(state.id)
    if command is None and not state.engine and offer is not None:
        command = AcpAgentSettings(command=(state.program, *offer.args), env=offer.env, env_pass=offer.passed)
    if command is not None:
        return Subject(name=state.id, settings=Settings(acp_agents={state.id: command}))
    program: dict[str, object] = {"program": state.program} if state.program else {}
    return Subject(name=state.id, settings=Settings(engines={state.id: program}))


def render(found: Examined) -> str:
    """How it went, for people."""
    lines = [f"{'ok  ' if found.ok else 'FAIL'}  {found.agent} {found.version}".rstrip()]
    for step in found.steps:
        took = f" ({format_duration(step.seconds)})" if step.seconds else ""
        how = f"not tried: {step.skipped}" if step.skipped else "ok" if step.ok else step.problem
        lines.append(f"      {step.name}: {how}{took}")
    lines += [f"      a line that we cannot read: {reason}" for reason in found.unparsed]
    lines += [f"      new: {path}" for path in found.new]
    if found.lines and not found.new:
        lines.append(f"      nothing new in {format_count(found.lines, 'line')}")
    return "\n".join(lines)


@click.command("doctor", short_help="Drill installed agents on a scripted model.")
@click.argument("agents", nargs=-1, metavar="[AGENT...]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("--strict", is_flag=True, help="What is new counts as a failure, too.")
@click.option("--steps", is_flag=True, help="A line of JSON for each step when it is over, before the rest.")
def doctor_command(agents: tuple[str, ...], as_json: bool, strict: bool, steps: bool) -> None:
    """Drill installed agents: a permission, a question, an interrupt and a resume on a scripted model.

    No key is used and nothing leaves the machine. Reported are also the kinds of lines and the fields that
    nobody has seen before in what the agent says: the early warning when it changes. An agent of which nothing is
    known is tried as far as it finds the model. Without a name: every agent that is installed. Exit code 1 when a
    step fails.

    \b
    Example:
      footplate agents doctor claude
    """
    hears = _say_step if steps else _show_step if sys.stderr.isatty() else _say_nothing
    done = _say_nothing if as_json else _show
    try:
        found = asyncio.run(_until_stopped(_examine(agents, dict(os.environ), hears, done)))
    except FootplateError as problem:
        click.echo(f"footplate: {problem}", err=True)
        sys.exit(USAGE if isinstance(problem, RequestError | ConfigError) else FAILED)
    except asyncio.CancelledError:
        sys.exit(STOPPED)
    ok = all(each.ok and not (strict and each.new) for each in found)
    if as_json:
        click.echo(msgspec.json.encode(Report(ok=ok, agents=tuple(found))))
    sys.exit(0 if ok else FAILED)


def _show(found: Examined) -> None:
    click.echo(render(found))


def _show_step(step: Step) -> None:
    """Tell a person who waits that it goes on."""
    click.echo(f"  {step.name}: {'not tried' if step.skipped else 'ok' if step.ok else 'failed'}", err=True)


def _say_step(step: Step) -> None:
    click.echo(msgspec.json.encode({"step": step}))


def _say_nothing(_: object) -> None:
    pass


async def _until_stopped(work: Coroutine[Any, Any, list[Examined]]) -> list[Examined]:
    """Do the work; a SIGTERM ends the agent and takes the drill's folder away before we go."""
    task = spawn(work, name="doctor", awaited=True)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


async def _examine(
    agents: tuple[str, ...], environ: Mapping[str, str], hears: Hears, done: Callable[[Examined], None]
) -> list[Examined]:
    """Examine one after the other; `hears` is told of each step, `done` of each agent, when it is over."""
    settings = with_agents(load_settings(environ), environ)
    roster = Roster(settings, environ)
    states = [await roster.look(agent) for agent in agents] or [each for each in await roster.list() if each.installed]
    for state in states:
        if not state.installed:
            raise EngineNotFound(state.id, state.id, f"run `footplate agents install {state.id}`")
    offers = await roster.offers()
    found: list[Examined] = []
    for state in states:
        found.append(await examine_agent(state, offers.get(state.id), settings, environ, hears))
        done(found[-1])
    return found
