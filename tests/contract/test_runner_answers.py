"""Answers of an agent reach whoever waits for them, whatever else is unread; who waits for nothing is told so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from footplate.engines.base import Options, Query
from footplate.engines.claude.engine import ClaudeEngine
from footplate.engines.claude.settings import ClaudeSettings
from footplate.engines.mock.engine import MockEngine
from footplate.errors import EngineDeclined, EngineGone, EngineSilent, UnsupportedOption
from footplate.events import commands as c
from footplate.events.content import TextBlock
from footplate.events.facts import Cost, Interrupted
from footplate.events.ids import PromptId
from footplate.events.model import Event, MessageDelta, Notice
from footplate.host.process import Keeper
from footplate.runtime.runner import Runner
from footplate.runtime.surroundings import Bounds
from tests.contract.floods import write_flood

BACKLOG = Bounds().backlog_bytes
UNREAD = 100_000
COST = Query(key="cost", name="cost")


@asynccontextmanager
async def flood(folder: Path, *, count: int = 3) -> AsyncIterator[Runner]:
    """A runner of the flooding agent, seen out at the end."""
    engine = ClaudeEngine(ClaudeSettings(program=str(write_flood(folder / "flood", count=count))))
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    async with Keeper.start() as keeper:
        installed = await engine.locate(environ)
        options = Options(cwd=str(folder), asks=True, partial=True)
        runner = await Runner.start(engine, installed, options, keeper=keeper, environ=environ)
        try:
            yield runner
        finally:
            await runner.end(close_wait=0.0)
            await read_all(runner)


def prompt() -> c.SendPrompt:
    return c.SendPrompt(key="p", prompt=PromptId("p"), content=(TextBlock(text="talk"),))


async def read_all(runner: Runner) -> list[Event]:
    return [event async for batch in runner.batches() for event in batch]


async def stalled(runner: Runner) -> None:
    """The agent's pipe is left alone, because too much is unread."""
    async with asyncio.timeout(20):
        while runner._unread < BACKLOG:  # noqa: ASYNC110  nobody else can tell
            await asyncio.sleep(0.01)


async def test_an_interrupt_is_answered_while_a_hundred_thousand_messages_are_unread(tmp_path: Path) -> None:
    async with flood(tmp_path, count=UNREAD) as runner:
        runner.send(prompt())
        await stalled(runner)
        answer = await runner.ask(c.Interrupt(key="stop"), timeout=20)
        assert answer is not None
        assert msgspec.json.decode(answer, type=Interrupted) == Interrupted()
        cost = await runner.query(COST, timeout=20)
        assert msgspec.json.decode(cost, type=Cost).text == "Total cost: nothing"
        texts: list[str] = []
        async for batch in runner.batches():
            texts += [event.text for event in batch if isinstance(event, MessageDelta)]
            if len(texts) >= UNREAD:
                break
        assert "".join(texts) == "".join(f"{number} " for number in range(UNREAD))


async def test_a_reader_that_stops_stops_the_agent_and_not_the_memory(tmp_path: Path) -> None:
    async with flood(tmp_path, count=10 * UNREAD) as runner:
        runner.send(prompt())
        await stalled(runner)
        held = runner._unread
        assert held < 3 * BACKLOG
        read = 0
        async for batch in runner.batches():
            read += len(batch)
            if read > UNREAD:
                break
        await stalled(runner)
        assert runner._unread < 3 * BACKLOG


async def test_a_refusal_is_raised_to_who_waits_and_told_to_nobody_else(tmp_path: Path) -> None:
    async with flood(tmp_path) as runner:
        with pytest.raises(EngineDeclined, match=r"claude declined Rename: rename_session: no such thing"):
            await runner.ask(c.Rename(key="a", title="T"))
        assert not [event for batch, _ in runner._waiting for event in batch if isinstance(event, Notice)]


async def test_an_unheard_refusal_is_a_notice(tmp_path: Path) -> None:
    async with flood(tmp_path) as runner:
        runner.send(c.Rename(key="b", title="T"))
        async with asyncio.timeout(20):
            async for batch in runner.batches():
                notices = [event for event in batch if isinstance(event, Notice)]
                if notices:
                    break
    assert [(notice.level, notice.code) for notice in notices] == [("warning", "control_error")]
    assert "no such thing" in notices[0].text


async def test_who_asks_the_same_twice_gets_the_same_answer_and_the_agent_hears_it_once(tmp_path: Path) -> None:
    async with flood(tmp_path) as runner:
        first, second = await asyncio.gather(runner.query(COST), runner.query(COST))
        assert first == second


async def test_silence_and_death_are_told_apart(tmp_path: Path) -> None:
    async with flood(tmp_path) as runner:
        with pytest.raises(EngineSilent, match=r"usage within 0\.2 s"):
            await runner.query(Query(key="u", name="usage"), timeout=0.2)
        assert not runner._awaits()
        waiting = asyncio.create_task(runner.query(Query(key="v", name="usage")))
        await runner.query(COST)
        await runner.end(close_wait=0.0)
        with pytest.raises(EngineGone, match="before it answered"):
            await waiting
        with pytest.raises(EngineGone, match="has ended"):
            await runner.query(COST)


async def test_an_engine_that_answers_no_questions_says_so_and_takes_commands_all_the_same(tmp_path: Path) -> None:
    engine = MockEngine()
    async with Keeper.start() as keeper:
        installed = await engine.locate({})
        runner = await Runner.start(engine, installed, Options(cwd=str(tmp_path)), keeper=keeper, environ={})
        assert runner.ready
        with pytest.raises(UnsupportedOption, match="questions"):
            await runner.query(COST)
        assert await runner.ask(prompt()) is None
        await runner.end(close_wait=0.0)
        await read_all(runner)
