"""A drill of an installed agent: a permission, a question, an interrupt and a resume, on a scripted model.

It runs as any session does, in a home of its own and without the network: what fails here fails for everybody. Every
line that the agent says is kept, so that what is new in them can be told.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from footplate.config.settings import Settings
from footplate.errors import FootplateError
from footplate.events import model as m
from footplate.events.requests import Allow, Reply
from footplate.host.child import Process
from footplate.host.lines import Block
from footplate.host.pipes import HIGH_WATER
from footplate.host.process import Keeper
from footplate.host.spawn import Spawn
from footplate.runtime.examination import Step
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from footplate.store.memory import MemoryStore
from footplate.testing.closed import prepare_home
from footplate.testing.exercises import ANY, KNOWN, NO_MODEL, NO_QUESTIONS, Exercise
from footplate.testing.homes import PREPARE, prepare_any
from footplate.testing.messages import ScriptedMessages

PATIENCE_S: Final = 120.0
CALM_S: Final = 10.0
STEPS: Final = ("turn", "permission", "question", "interrupt", "resume")
KEY: Final = "drill"
"""By which the scripted model tells our agent from others."""
E = TypeVar("E", bound=m.Event)


class Drilled(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it: every step, lines that became no event, and every line that the agent said."""

    steps: tuple[Step, ...]
    unparsed: tuple[str, ...]
    lines: tuple[bytes, ...]

    @property
    def ok(self) -> bool:
        """Whether every step went well and every line meant something."""
        return all(step.ok for step in self.steps) and not self.unparsed


class Heard(Process):
    """An agent whose every line is written down."""

    def __init__(self, *args: Any, heard: list[bytes], **facts: Any) -> None:
        self._heard = heard
        super().__init__(*args, **facts)

    async def read(self) -> Block | None:
        """As ever, and note it."""
        block = await super().read()
        if block is not None:
            self._heard += block.lines.splitlines()
        return block


class HearingKeeper:
    """A keeper whose agents are all `Heard`."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self.heard: list[bytes] = []

    async def spawn(
        self,
        spec: Spawn,
        *,
        sweep_on_exit: bool = True,
        high_water: int = HIGH_WATER,
        make: Callable[..., Process] = Process,
    ) -> Process:
        """Start a program; one that is read by lines is heard."""
        kind = partial(Heard, heard=self.heard) if make is Process else make
        return await self._keeper.spawn(spec, sweep_on_exit=sweep_on_exit, high_water=high_water, make=kind)


async def drill(
    subject: Subject,
    environ: Mapping[str, str],
    told: Callable[[Step], None] = lambda _: None,
    only: Container[str] = STEPS,
) -> Drilled:
    """Drill an agent as it is installed; `told` hears of each step when it is over. `only` these steps are made."""
    async with _ground(subject, environ) as ground:
        session = await ground.hub.create(SessionSpec(engine=subject.name, cwd=str(ground.work)))
        steps: list[Step] = []
        for name, step in _plan(session, KNOWN.get(subject.name)):
            if name not in only:
                continue
            skipped = _reason_to_skip(name, subject, ground, steps)
            steps.append(Step(name=name, ok=True, skipped=skipped) if skipped else await _try(name, step))
            told(steps[-1])
            if session.busy:
                await _calm(session)
        unparsed = tuple(event.reason for event in await _log(session) if isinstance(event, m.Unparsed))
        await ground.hub.forget(session.id)
        lines = tuple(line for line in ground.keeper.heard if line.strip())
        return Drilled(steps=tuple(steps), unparsed=unparsed, lines=lines)


def _plan(session: Session, exercise: Exercise | None) -> list[tuple[str, Callable[[], Awaitable[None]]]]:
    """The steps in their order; an agent of which nothing is known is first asked for a word."""
    first = [] if exercise is not None else [("turn", partial(_word, session, ANY.word))]
    chosen = exercise or ANY
    return [
        *first,
        ("permission", partial(_permission, session, chosen)),
        ("question", partial(_question, session, chosen)),
        ("interrupt", partial(_interrupt, session, chosen.long)),
        ("resume", partial(_resume, session, chosen.word)),
    ]


def _reason_to_skip(name: str, subject: Subject, ground: _Ground, before: list[Step]) -> str:
    """Why a step has no meaning for this agent; empty when it has one."""
    exercise = KNOWN.get(subject.name)
    if exercise is None and before:
        if not before[0].ok:
            return "it cannot be talked to"
        if name in ("permission", "question", "interrupt") and not ground.api.log(KEY):
            return NO_MODEL
    return NO_QUESTIONS if name == "question" and not (exercise or ANY).question else ""


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """Who is drilled: the name of the engine, and the settings by which an empty world knows its program."""

    name: str
    settings: Settings


class _Ground(msgspec.Struct, frozen=True, kw_only=True):
    hub: Hub
    keeper: HearingKeeper
    api: ScriptedMessages
    work: Path


@asynccontextmanager
async def _ground(subject: Subject, environ: Mapping[str, str]) -> AsyncIterator[_Ground]:
    """A world of its own: an empty home, a scripted model, no rules, and the agent as it is installed."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="footplate-drill-")))
        work, data, home = folder / "work", folder / "data", prepare_home(folder / "home")
        work.mkdir()
        api = stack.enter_context(await asyncio.to_thread(ScriptedMessages.start))
        given = {
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            **PREPARE.get(subject.name, prepare_any)(home, api.url_for(KEY)),
            "HOME": str(home),
            "PATH": environ.get("PATH", ""),
            "FOOTPLATE_DATA_DIR": str(data),
        }
        store = MemoryStore()
        stack.push_async_callback(store.close)
        keeper = HearingKeeper(await stack.enter_async_context(Keeper.start()))
        settings = _given(subject, given)
        services = Services(store, keeper, settings=settings, environ=given, data=data)
        hub = await stack.enter_async_context(Hub.open(services))
        yield _Ground(hub=hub, keeper=keeper, api=api, work=work)


def _given(subject: Subject, variables: Mapping[str, str]) -> Settings:
    """Its settings; one that is a command of the settings sees the variables that lead to the model."""
    command = subject.settings.acp_agents.get(subject.name)
    if command is None:
        return subject.settings
    own = {name: value for name, value in variables.items() if name not in ("PATH", "FOOTPLATE_DATA_DIR")}
    led = msgspec.structs.replace(command, env={**command.env, **own})
    return msgspec.structs.replace(subject.settings, acp_agents={subject.name: led})


async def _try(name: str, work: Callable[[], Awaitable[None]]) -> Step:
    """One step; what goes wrong is told, and the next one is tried all the same."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(PATIENCE_S):
            await work()
    except TimeoutError:
        problem = f"nothing came of it within {PATIENCE_S:g} s"
    except (FootplateError, Unexpected) as wrong:
        problem = str(wrong)
    else:
        problem = ""
    return Step(name=name, ok=not problem, problem=problem, seconds=round(time.monotonic() - began, 2))


async def _calm(session: Session) -> None:
    """End a turn that a step has left behind, so that the next one begins with an agent that listens."""
    try:
        async with asyncio.timeout(CALM_S):
            begin = session.view().last_seq
            await session.interrupt()
            await _next(session, m.TurnEnded, begin)
    except (TimeoutError, FootplateError):
        return  # the next step will tell


class Unexpected(Exception):
    """The agent did something else than it should have."""


async def _word(session: Session, prompt: str) -> None:
    """It takes a prompt and ends its turn."""
    await _ended(session, await _say(session, prompt), ok=True)


async def _permission(session: Session, exercise: Exercise) -> None:
    """It asks before it does something, and does it when it may."""
    begin = await _say(session, exercise.permission, exercise.permission_mode)
    asked = (await _next(session, m.RequestOpened, begin)).request
    if asked.kind != "permission":
        raise Unexpected(f"it asked a {asked.kind}, not for permission")
    await session.answer(asked.id, Allow(), by="the drill", surface="drill")
    await _ended(session, begin, ok=True)


async def _question(session: Session, exercise: Exercise) -> None:
    """It asks a question and goes on with the answer."""
    begin = await _say(session, exercise.question, exercise.question_mode)
    asked = (await _next(session, m.RequestOpened, begin)).request
    if asked.kind != "question" or not asked.questions:
        raise Unexpected(f"it asked a {asked.kind}, not a question")
    answers: dict[str, str | list[str]] = {each.text: each.choices[0].label for each in asked.questions}
    await session.answer(asked.id, Reply(answers=answers), by="the drill", surface="drill")
    await _ended(session, begin, ok=True)


async def _interrupt(session: Session, prompt: str) -> None:
    """It stops in the middle of what it says."""
    begin = await _say(session, prompt)
    await _next(session, m.MessageDelta, begin)
    await session.interrupt()
    ended = await _next(session, m.TurnEnded, begin)
    if ended.stop_reason != "interrupted":
        raise Unexpected(f"its turn ended as {ended.stop_reason!r}, not interrupted: {ended.error}")


async def _resume(session: Session, prompt: str) -> None:
    """Its process ends, and another one goes on with the same conversation."""
    before = session.view().resume
    await session.evict()
    begin = await _say(session, prompt)
    await _ended(session, begin, ok=True)
    if session.view().resume != before:
        raise Unexpected(f"it went on as {session.view().resume}, not as {before}")


async def _say(session: Session, prompt: str, mode: str = "") -> int:
    """Give it a prompt, in that mode; where the log stood before."""
    if mode:
        await session.set_mode(mode)
    begin = session.view().last_seq
    await session.prompt(prompt)
    return begin


async def _ended(session: Session, begin: int, *, ok: bool) -> None:
    ended = await _next(session, m.TurnEnded, begin)
    if ended.ok != ok:
        raise Unexpected(f"its turn ended as {ended.stop_reason!r}: {ended.error}")


async def _next(session: Session, kind: type[E], after: int) -> E:
    """The next event of a kind; the end of the turn before it is the end of the step."""
    reader = session.subscribe(after)
    try:
        async for delivery in reader:
            event = delivery.envelope().event
            if isinstance(event, kind):
                return event
            if isinstance(event, m.TurnEnded):
                raise Unexpected(f"no {kind.__name__}: its turn ended as {event.stop_reason!r}: {event.error}")
    finally:
        reader.close()
    raise Unexpected(f"no {kind.__name__}: the session is over")


async def _log(session: Session) -> list[object]:
    """Every event so far."""
    last, reader = session.view().last_seq, session.subscribe(0)
    found: list[object] = []
    try:
        async for delivery in reader:
            found.append(delivery.envelope().event)
            if delivery.envelope().seq >= last:
                break
    finally:
        reader.close()
    return found
