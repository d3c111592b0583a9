"""A live conversation with the real CLI: prompts in, events out, and what a session would note beside them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar

import msgspec

from footplate.engines.base import Options, Query
from footplate.engines.claude.engine import ClaudeEngine
from footplate.events import commands as c
from footplate.events import model as m
from footplate.events.commands import Command
from footplate.events.content import TextBlock
from footplate.events.facts import RESULTS, Fact, QueryName
from footplate.events.ids import PromptId
from footplate.events.model import Event
from footplate.events.requests import Answer, Request
from footplate.host.process import Keeper
from footplate.runtime.handlers import Handler
from footplate.runtime.runner import Runner
from footplate.testing.invariants import check_invariants
from tests.e2e.world import World

E = TypeVar("E", bound=Event)
F = TypeVar("F", bound=Fact)
PATIENCE_S = 30.0


class Live:
    """One process of the CLI. `see` goes through its events in order, waiting where none has come yet."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.events: list[Event] = []
        self._at = 0
        self._news = asyncio.Event()
        self._keys = 0
        self._reader = asyncio.create_task(self._collect())

    async def _collect(self) -> None:
        async for batch in self.runner.batches():
            self.events += batch
            self._news.set()

    async def end(self) -> None:
        """See the CLI out; nothing of what it said breaks a promise."""
        await self.runner.end()
        await self._reader
        assert not check_invariants(self.events, finished=True)
        assert not [event for event in self.events if isinstance(event, m.Unparsed)]

    # ------------------------------------------------------------------------------------------ asking

    def key(self) -> str:
        """A key that was not used before."""
        self._keys += 1
        return f"key-{self._keys}"

    async def prompt(self, text: str, when: str = "queue") -> PromptId:
        """Give the agent a message."""
        prompt = PromptId(str(uuid.uuid4()))
        content = (TextBlock(text=text),)
        self.events.append(m.PromptQueued(prompt=prompt, content=content))
        self.runner.send(c.SendPrompt(key=self.key(), prompt=prompt, content=content, when=when))  # type: ignore[arg-type]
        return prompt

    async def ask(self, command: Callable[..., Command], **fields: object) -> msgspec.Raw | None:
        """Ask something of the agent and wait for its answer."""
        return await self.runner.ask(command(key=self.key(), **fields))

    async def know(self, kind: type[F], name: QueryName, **arguments: str) -> F:
        """Ask about the agent."""
        raw = await self.runner.query(Query(key=self.key(), name=name, arguments=arguments))
        assert RESULTS[name] is kind
        return msgspec.json.decode(raw, type=kind)

    async def answer(self, request: Request, answer: Answer) -> None:
        """Answer a request, as a session does: the answer is noted first."""
        self.runner.check_answer(request.id, answer)
        self.events.append(m.RequestAnswered(request=request.id, answer=answer, by="tester"))
        self.runner.send(c.AnswerRequest(key=self.key(), request=request.id, answer=answer))

    # ------------------------------------------------------------------------------------------ seeing

    async def see(self, kind: type[E], where: Callable[[E], bool] = lambda _: True) -> E:
        """The next event of a kind, after the one that was seen last."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    while self._at < len(self.events):
                        event = self.events[self._at]
                        self._at += 1
                        if isinstance(event, kind) and where(event):
                            return event
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            shown = "\n".join(str(event)[:200] for event in self.events[-12:])
            raise AssertionError(f"no {kind.__name__} within {PATIENCE_S:g} s; the last events:\n{shown}") from None

    async def request(self) -> Request:
        """What the agent asks next."""
        return (await self.see(m.RequestOpened)).request

    async def ended(self) -> m.TurnEnded:
        """The end of the turn."""
        return await self.see(m.TurnEnded)

    async def turn(self, text: str) -> m.TurnEnded:
        """A whole turn in which nothing is asked."""
        await self.prompt(text)
        return await self.ended()

    def of(self, kind: type[E]) -> list[E]:
        """Every event of a kind so far."""
        return [event for event in self.events if isinstance(event, kind)]


@asynccontextmanager
async def talk(
    world: World,
    *,
    run_tools: Mapping[str, Handler] | None = None,
    run_hooks: Mapping[str, Handler] | None = None,
    **options: object,
) -> AsyncIterator[Live]:
    """A live process in this world, seen out at the end."""
    engine = ClaudeEngine()
    given = Options(cwd=str(world.work), asks=True, partial=True, **options)  # type: ignore[arg-type]
    async with Keeper.start() as keeper:
        installed = await engine.locate(world.env)
        runner = await Runner.start(
            engine, installed, given, keeper=keeper, environ=world.env, tools=run_tools, hooks=run_hooks
        )
        live = Live(runner)
        try:
            yield live
        except BaseException:
            await runner.end(close_wait=0.0)
            await live._reader
            raise
        await live.end()
