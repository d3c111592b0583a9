"""The simulator's own loop: virtual time, order, nodes, and that the same seed gives the same steps."""

from __future__ import annotations

import asyncio
from contextvars import copy_context

import pytest

from tests.simulation.chance import Chance
from tests.simulation.loop import NODE, Deadlock, Deferral, Livelock, Policy, Priorities, RandomOrder, SimLoop


def make(seed: int = 1, policy: str = "fifo") -> SimLoop:
    dice = Chance(seed)
    policies = {"fifo": Policy, "random": RandomOrder, "delay": Deferral, "pct": Priorities}
    made = Policy() if policy == "fifo" else policies[policy](dice)
    return SimLoop(dice, made)


def test_time_jumps_to_the_next_timer() -> None:
    loop = make()

    async def main() -> float:
        await asyncio.sleep(3600.0)
        return loop.time()

    assert loop.run(main()) == pytest.approx(3600.0, abs=0.01)
    loop.drop()


def test_nothing_to_wait_for_is_a_deadlock() -> None:
    loop = make()

    async def main() -> None:
        await loop.create_future()

    with pytest.raises(Deadlock):
        loop.run(main())
    loop.drop()


def test_spinning_is_a_livelock() -> None:
    loop = make()

    async def main() -> None:
        while True:  # noqa: ASYNC110 - that is the point
            await asyncio.sleep(0)

    with pytest.raises(Livelock):
        loop.run(main())
    loop.drop()


def test_blocking_work_runs_here() -> None:
    loop = make()

    async def main() -> int:
        return await asyncio.to_thread(lambda: 7)

    assert loop.run(main()) == 7
    loop.drop()


def test_a_killed_node_runs_nothing_further() -> None:
    loop = make()
    said: list[str] = []

    async def victim() -> None:
        try:
            while True:
                said.append("alive")
                await asyncio.sleep(1.0)
        finally:
            said.append("finally")

    async def main() -> None:
        context = copy_context()
        context.run(NODE.set, "service-1")
        task = loop.create_task(victim(), context=context)
        await asyncio.sleep(2.5)
        loop.kill("service-1")
        task.cancel()
        await asyncio.sleep(5.0)

    loop.run(main())
    assert said == ["alive"] * 3
    assert len(loop.living("service-1")) == 1
    loop.drop()


@pytest.mark.parametrize("policy", ["fifo", "random", "delay", "pct"])
def test_the_same_seed_gives_the_same_steps(policy: str) -> None:
    def trace(seed: int) -> tuple[int, int, list[int]]:
        loop = make(seed, policy)
        order: list[int] = []

        async def worker(number: int) -> None:
            for _ in range(5):
                await asyncio.sleep(0)
                order.append(number)

        async def main() -> None:
            await asyncio.wait({loop.create_task(worker(number), name=f"w {number}") for number in range(8)})

        loop.run(main())
        result = loop.crc, loop.steps, order
        loop.drop()
        return result

    assert trace(5) == trace(5)
    if policy != "fifo":
        assert trace(5)[2] != trace(6)[2]


def test_plain_callbacks_keep_their_order() -> None:
    for seed in range(20):
        loop = make(seed, "random")
        order: list[str] = []

        async def step(name: str, order: list[str] = order) -> None:
            order.append(name)

        async def main(loop: SimLoop = loop, order: list[str] = order) -> None:
            for number in range(5):
                loop.call_soon(order.append, f"call {number}")
                loop.create_task(step(f"task {number}"))
            await asyncio.sleep(1)

        loop.run(main())
        assert [name for name in order if name.startswith("call")] == [f"call {number}" for number in range(5)]
        loop.drop()


def test_a_draw_depends_on_its_site_only() -> None:
    alone, together = Chance(3), Chance(3)
    together.draw("other")
    assert alone.draw("site") == together.draw("site")
    muted = Chance(3, {"fault": [0]})
    assert Chance(3).yes("fault", 1.0)
    assert not muted.yes("fault", 1.0)
    assert muted.yes("fault", 1.0)
