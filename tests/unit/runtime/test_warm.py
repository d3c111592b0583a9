"""Processes that are started ahead of their session: taken by the next one of the same kind, and never left over."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest

from footplate.config.settings import Settings
from footplate.engines.base import Engine, Options
from footplate.engines.catalog import make_engine
from footplate.events.commands import SendPrompt
from footplate.events.content import TextBlock
from footplate.events.ids import EngineSessionId, PromptId
from footplate.events.model import TurnEnded
from footplate.host.process import Keeper
from footplate.runtime import warm
from footplate.runtime.surroundings import Surroundings
from footplate.runtime.warm import Place, Started, WarmPool


class Pools:
    """Makes pools on one keeper, with the mock agent as a child process."""

    def __init__(self, keeper: Keeper, folder: Path) -> None:
        self.keeper = keeper
        self.folder = folder
        self.options = Options(cwd=str(folder), asks=True, partial=True)
        self.engine: Engine = make_engine("mock", Settings(engines={"mock": {"form": "stdio"}}))
        self.made: list[WarmPool] = []

    def make(self, *, size: int, unused_s: float = 60.0, is_short: Callable[[], bool] = lambda: False) -> WarmPool:
        environ = {"HOME": str(self.folder), "PATH": os.environ["PATH"], "FOOTPLATE_MOCK_PACE_MS": "0"}
        surroundings = Surroundings()
        surroundings.memory_is_short = is_short  # type: ignore[method-assign]
        place = Place(self.keeper, environ=environ, locks=self.folder / "locks", surroundings=surroundings)
        self.made.append(WarmPool(place, size=size, unused_s=unused_s))
        return self.made[-1]

    async def processes(self, count: int) -> set[int]:
        """Wait until the keeper keeps so many agents."""
        async with asyncio.timeout(10):
            while len(agents := await self.keeper.agents()) != count:  # noqa: ASYNC110  it tells when asked
                await asyncio.sleep(0.005)
        return {agent.pid for agent in agents}


@pytest.fixture
async def pools(tmp_path: Path) -> AsyncIterator[Pools]:
    async with Keeper.start() as keeper:
        made = Pools(keeper, tmp_path)
        yield made
        for pool in made.made:
            await pool.close()
        assert await made.processes(0) == set()


async def _ask(started: Started) -> str:
    """One turn with it."""
    prompt = SendPrompt(key="1", prompt=PromptId("p1"), content=(TextBlock(text="hi there"),))
    started.runner.send(prompt)
    async for batch in started.runner.batches():
        for event in batch:
            if isinstance(event, TurnEnded):
                return event.answer
    raise AssertionError("the turn never ended")


async def test_without_prewarming_every_session_starts_its_own(pools: Pools) -> None:
    pool = pools.make(size=0)
    started = await pool.start(pools.engine, pools.options)
    assert len(await pools.processes(1)) == 1
    await started.end()
    await pools.processes(0)


async def test_the_next_session_of_the_same_kind_takes_the_process_that_waits(pools: Pools) -> None:
    pool = pools.make(size=1)
    first = await pool.start(pools.engine, pools.options)
    before = await pools.processes(2)
    await first.end()
    (waiting,) = await pools.processes(1)
    assert waiting in before
    second = await pool.start(pools.engine, pools.options)
    assert waiting in await pools.processes(2)
    assert await _ask(second) == "mock: hi there"
    await second.end()


@pytest.mark.parametrize("other", [{"model": "another"}, {"mode": "plan"}, {"env": {"A": "b"}}])
async def test_a_session_of_another_kind_does_not(pools: Pools, other: dict[str, object]) -> None:
    pool = pools.make(size=2)
    first = await pool.start(pools.engine, pools.options)
    before = await pools.processes(2)
    second = await pool.start(pools.engine, msgspec.structs.replace(pools.options, **other))
    assert len(await pools.processes(4) - before) == 2
    await first.end()
    await second.end()


async def test_nothing_is_started_ahead_for_a_session_that_goes_on(pools: Pools) -> None:
    pool = pools.make(size=1)
    options = msgspec.structs.replace(pools.options, resume=EngineSessionId("x"))
    started = await pool.start(pools.engine, options)
    await pools.processes(1)
    await started.end()
    await pools.processes(0)


async def test_the_number_is_bounded_and_the_oldest_makes_room(pools: Pools) -> None:
    pool = pools.make(size=2)
    for name in ("a", "b", "c"):
        started = await pool.start(pools.engine, msgspec.structs.replace(pools.options, model=name))
        await started.end()
    await pools.processes(2)


async def test_many_sessions_at_once_have_one_process_started_ahead(pools: Pools) -> None:
    pool = pools.make(size=3)
    started = await asyncio.gather(*(pool.start(pools.engine, pools.options) for _ in range(4)))
    await pools.processes(5)
    await asyncio.gather(*(each.end() for each in started))


async def test_a_process_that_nobody_takes_is_ended(pools: Pools) -> None:
    pool = pools.make(size=1, unused_s=0.05)
    await (await pool.start(pools.engine, pools.options)).end()
    await pools.processes(0)
    assert pool.ready == 0


async def test_when_memory_is_short_none_waits_and_none_is_started(
    pools: Pools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm, "LOOK_S", 0.02)
    short = False
    pool = pools.make(size=1, is_short=lambda: short)
    await (await pool.start(pools.engine, pools.options)).end()
    await pools.processes(1)
    short = True
    await pools.processes(0)
    await (await pool.start(pools.engine, pools.options)).end()
    await pools.processes(0)


async def test_a_process_that_died_while_it_waited_is_not_handed_out(pools: Pools) -> None:
    pool = pools.make(size=1)
    await (await pool.start(pools.engine, pools.options)).end()
    (waiting,) = await pools.processes(1)
    os.kill(waiting, signal.SIGKILL)
    await pools.processes(0)
    started = await pool.start(pools.engine, pools.options)
    assert await _ask(started) == "mock: hi there"
    await started.end()


async def test_closing_in_the_middle_of_a_start_leaves_nothing(pools: Pools) -> None:
    pool = pools.make(size=1)
    started = await pool.start(pools.engine, pools.options)
    await pool.close()
    await started.end()
    await pools.processes(0)
