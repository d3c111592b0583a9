"""A process of the real CLI that was started ahead of its session is as good as a fresh one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from footplate.engines.base import Options
from footplate.engines.catalog import make_engine
from footplate.events.commands import SendPrompt
from footplate.events.content import TextBlock
from footplate.events.ids import EngineSessionId, PromptId
from footplate.events.model import EngineAttached, Event, TurnEnded
from footplate.host.process import Keeper
from footplate.runtime.warm import Place, Started, WarmPool
from footplate.testing.messages import script
from tests.e2e.world import World

pytestmark = [pytest.mark.timeout(120), pytest.mark.both_versions]


async def _turn(started: Started, prompt: PromptId, text: str) -> list[Event]:
    """One turn with it, then its end."""
    started.runner.send(SendPrompt(key="1", prompt=prompt, content=(TextBlock(text=text),)))
    seen: list[Event] = []
    async with asyncio.timeout(30):
        async for batch in started.runner.batches():
            seen += batch
            if any(isinstance(event, TurnEnded) for event in batch):
                break
    await started.end(close_wait=2.0)
    return seen


def _answer(events: list[Event]) -> str:
    (ended,) = [event for event in events if isinstance(event, TurnEnded)]
    return ended.answer


def _session(events: list[Event]) -> EngineSessionId:
    (attached,) = [event for event in events if isinstance(event, EngineAttached)]
    assert attached.engine_session_id is not None
    return attached.engine_session_id


async def _until_ready(pool: WarmPool) -> None:
    async with asyncio.timeout(30):
        while not pool.ready:  # noqa: ASYNC110  nothing tells when the CLI has answered
            await asyncio.sleep(0.02)


async def test_a_process_started_ahead_serves_the_next_session_and_can_be_resumed(world: World, tmp_path: Path) -> None:
    engine, options = make_engine("claude"), Options(cwd=str(world.work), asks=True, partial=True)
    async with Keeper.start() as keeper:
        pool = WarmPool(Place(keeper, environ=world.env, locks=tmp_path / "locks"), size=1)
        first = await _turn(await pool.start(engine, options), PromptId("1" * 8), script("One."))
        await _until_ready(pool)
        (waiting,) = await keeper.agents()
        taken = await pool.start(engine, options)
        assert waiting in await keeper.agents()
        second = await _turn(taken, PromptId("2" * 8), script("Two."))
        assert (_answer(first), _answer(second)) == ("One.", "Two.")
        assert _session(first) != _session(second)
        again = Options(cwd=str(world.work), resume=_session(second), first_turn=2)
        third = await _turn(await pool.start(engine, again), PromptId("3" * 8), script("Three."))
        assert _answer(third) == "Three."
        assert "Two." in str(world.bodies()[-1])
        await pool.close()
    transcripts = [path.stem for path in (world.home / ".claude" / "projects").rglob("*.jsonl")]
    assert sorted(transcripts) == sorted([_session(first), _session(second)])
