"""A drill of an installed agent: a permission, a question, an interrupt and a resume, on a scripted model.

It runs as any session does, in a home of its own and without the network: what fails here fails for everybody. Every
line that the agent says is kept, so that what is new in them can be told.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from footplate.config.settings import Settings
from footplate.engines.base import Installed
from footplate.engines.catalog import make_engine
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
from footplate.testing.closed import closed_environment, prepare_home
from footplate.testing.messages import ScriptedMessages, say, script, tool

PATIENCE_S: Final = 60.0
COLOUR: Final = "Which colour?"
ASKED: Final = {
    "questions": [
        {
            "question": COLOUR,
            "header": "Colour",
            "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
            "multiSelect": False,
        }
    ]
}
E = TypeVar("E", bound=m.Event)


class Prompts(msgspec.Struct, frozen=True, kw_only=True):
    """What is said to an agent so that it does what a drill wants."""

    permission: str
    question: str
    long: str
    word: str


DRILLS: Final[Mapping[str, Prompts]] = {
    "claude": Prompts(
        permission=script(tool("Bash", {"command": "touch made; echo ran"}), "It said: $LAST"),
        question=script(tool("AskUserQuestion", ASKED), "So be it."),
        long=script(say("some text that never ends", chunk=5, hang=-3)),
        word=script("Still here."),
    ),
    "mock": Prompts(permission="permission", question="question", long="hang", word="still here"),
}
"""The agents that can be drilled: claude on the scripted Messages API, the mock on nothing."""


class Drilled(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it: every step, lines that became no event, and every line that the agent said."""

    engine: str
    version: str
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
    engine: str, environ: Mapping[str, str], settings: Settings, told: Callable[[Step], None] = lambda _: None
) -> Drilled:
    """Drill the agent that is found in this environment; `told` hears of each step when it is over.

    Raises `EngineError` when there is none.
    """
    async with _ground(engine, environ, settings) as (hub, keeper, installed, work):
        session = await hub.create(SessionSpec(engine=engine, cwd=str(work)))
        prompts = DRILLS[engine]
        steps: list[Step] = []
        for name, step in (
            ("permission", partial(_permission, session, prompts.permission)),
            ("question", partial(_question, session, prompts.question)),
            ("interrupt", partial(_interrupt, session, prompts.long)),
            ("resume", partial(_resume, session, prompts.word)),
        ):
            steps.append(await _try(name, step))
            told(steps[-1])
        unparsed = tuple(event.reason for event in await _log(session) if isinstance(event, m.Unparsed))
        await hub.forget(session.id)
        lines = tuple(line for line in keeper.heard if line.strip())
        return Drilled(engine=engine, version=installed.version, steps=tuple(steps), unparsed=unparsed, lines=lines)


@asynccontextmanager
async def _ground(
    engine: str, environ: Mapping[str, str], settings: Settings
) -> AsyncIterator[tuple[Hub, HearingKeeper, Installed, Path]]:
    """A world of its own: an empty home, a scripted model, no rules, and the agent as it is installed."""
    installed = await make_engine(engine, settings).locate(environ)
    program: dict[str, object] = {"program": installed.program} if installed.program and engine != "mock" else {}
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="footplate-drill-")))
        work, data = folder / "work", folder / "data"
        work.mkdir()
        api = stack.enter_context(await asyncio.to_thread(ScriptedMessages.start))
        path = environ.get("PATH", "")
        given = closed_environment(prepare_home(folder / "home"), base_url=api.url_for("drill"), path=path)
        store = MemoryStore()
        stack.push_async_callback(store.close)
        keeper = HearingKeeper(await stack.enter_async_context(Keeper.start()))
        services = Services(
            store,
            keeper,
            settings=Settings(engines={engine: program}),
            environ={**given, "FOOTPLATE_DATA_DIR": str(data)},
            data=data,
        )
        yield await stack.enter_async_context(Hub.open(services)), keeper, installed, work


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


class Unexpected(Exception):
    """The agent did something else than it should have."""


async def _permission(session: Session, prompt: str) -> None:
    """It asks before it does something, and does it when it may."""
    begin = await _say(session, prompt)
    asked = (await _next(session, m.RequestOpened, begin)).request
    if asked.kind != "permission":
        raise Unexpected(f"it asked a {asked.kind}, not for permission")
    await session.answer(asked.id, Allow(), by="the drill", surface="drill")
    await _ended(session, begin, ok=True)


async def _question(session: Session, prompt: str) -> None:
    """It asks a question and goes on with the answer."""
    begin = await _say(session, prompt)
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


async def _say(session: Session, prompt: str) -> int:
    """Give it a prompt; where the log stood before."""
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
