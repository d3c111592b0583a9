"""The mailbox: one piece after another in the order in which they came, in whichever task they are done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from footplate.runtime.mailbox import Mailbox

DEADLINE_S = 30


@pytest.fixture
async def mailbox() -> AsyncIterator[Mailbox]:
    made = Mailbox("under test")
    yield made
    await made.close()


async def _whose() -> asyncio.Task[object] | None:
    return asyncio.current_task()


class Steps:
    """Pieces of work that say when they begin and end, and wait for a word in between."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.go = asyncio.Event()

    def named(self, name: str) -> Callable[[], Awaitable[None]]:
        async def work() -> None:
            self.said.append(f"{name} begins")
            async with asyncio.timeout(DEADLINE_S):
                await self.go.wait()
            self.said.append(f"{name} ends")

        return work


async def test_work_that_need_not_wait_is_done_in_the_callers_task(mailbox: Mailbox) -> None:
    assert await mailbox.do_here(_whose) is asyncio.current_task()
    assert await mailbox.do(_whose) is not asyncio.current_task()


async def test_pieces_never_overlap_and_keep_their_order(mailbox: Mailbox) -> None:
    steps = Steps()
    names = ["a", "b", "c", "d"]
    ways = [mailbox.do_here, mailbox.do, mailbox.do_here, mailbox.do]
    tasks = [asyncio.create_task(way(steps.named(name))) for name, way in zip(names, ways, strict=True)]
    await asyncio.sleep(0)
    mailbox.post(steps.named("timer"))
    steps.go.set()
    await asyncio.gather(*tasks)
    await mailbox.close()
    assert steps.said == [f"{name} {what}" for name in (*names, "timer") for what in ("begins", "ends")]


async def test_what_comes_while_a_caller_does_its_own_work_waits_for_it(mailbox: Mailbox) -> None:
    steps = Steps()
    first = asyncio.create_task(mailbox.do_here(steps.named("first")))
    await asyncio.sleep(0)
    second = asyncio.create_task(mailbox.do(steps.named("second")))
    third = asyncio.create_task(mailbox.do_here(steps.named("third")))
    for _ in range(5):
        await asyncio.sleep(0)
    assert steps.said == ["first begins"]
    steps.go.set()
    await asyncio.gather(first, second, third)
    assert steps.said[1:] == ["first ends", "second begins", "second ends", "third begins", "third ends"]


async def test_an_error_goes_to_whoever_asked_and_the_mailbox_goes_on(mailbox: Mailbox) -> None:
    async def fail() -> None:
        raise ValueError("not this")

    for way in (mailbox.do_here, mailbox.do):
        with pytest.raises(ValueError, match="not this"):
            await way(fail)
    assert await mailbox.do(_whose) is not None


async def test_closing_waits_for_the_work_of_a_caller(mailbox: Mailbox) -> None:
    steps = Steps()
    working = asyncio.create_task(mailbox.do_here(steps.named("last")))
    await asyncio.sleep(0)
    closing = asyncio.create_task(mailbox.close())
    for _ in range(5):
        await asyncio.sleep(0)
    assert not closing.done()
    steps.go.set()
    await asyncio.gather(working, closing)
    with pytest.raises(RuntimeError, match="closed"):
        await mailbox.do_here(_whose)
