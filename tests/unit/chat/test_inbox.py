"""The inbox: every update is dealt with once and in order, whatever happens between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from footplate.chat.inbox.intake import Handler, Intake
from footplate.chat.inbox.letters import Letters
from footplate.chat.inbox.poller import Poller
from footplate.chat.model import Update, User
from footplate.chat.outbox.buckets import Pace
from footplate.interfaces.telegram.bot.client import BotClient
from footplate.interfaces.telegram.transport import TelegramTransport
from footplate.runtime.surroundings import Surroundings
from footplate.store.base import Store
from footplate.store.memory import MemoryStore
from footplate.testing.bots import ScriptedBots

ME = 7


@asynccontextmanager
async def polling(bots: ScriptedBots, store: Store, handle: Handler) -> AsyncIterator[None]:
    async with BotClient.open(bots.token, bots.url) as client:
        transport = TelegramTransport(client, User(id=1), Pace(), poll_s=1)
        letters = Letters(store, "telegram/1", Surroundings())
        intake = Intake(letters, handle)
        intake.give(await letters.load())
        polling = Poller(transport, letters, intake)
        polling.release()
        poller = asyncio.create_task(polling.run())
        try:
            yield
        finally:
            poller.cancel()
            await asyncio.wait((poller,))
            await intake.stop(0.1)


class Heard:
    """What was dealt with."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._news = asyncio.Condition()

    async def __call__(self, updates: list[Update]) -> None:
        update = updates[0]
        assert update.message is not None
        self.texts.append(update.message.text)
        async with self._news:
            self._news.notify_all()

    async def until(self, seen: Callable[[], bool]) -> None:
        async with self._news:
            await asyncio.wait_for(self._news.wait_for(seen), 10)


async def test_what_was_written_while_the_bridge_was_down_is_heard_in_order() -> None:
    heard = Heard()
    async with ScriptedBots() as bots:
        for number in range(4):
            await bots.person(ME).write(str(number))
        async with polling(bots, MemoryStore(), heard):
            await heard.until(lambda: len(heard.texts) == 4)
            await bots.person(ME).write("4")
            await heard.until(lambda: len(heard.texts) == 5)

    assert heard.texts == ["0", "1", "2", "3", "4"]


async def test_an_update_that_comes_twice_is_dealt_with_once() -> None:
    heard, store = Heard(), MemoryStore()
    async with ScriptedBots() as bots:
        bubble = await bots.person(ME).write("once")
        async with polling(bots, store, heard):
            await heard.until(lambda: heard.texts == ["once"])
        await bots.updates.repeat(1001, "message", bots.world.message(bubble))
        await bots.person(ME).write("later")
        async with polling(bots, store, heard):
            await heard.until(lambda: "later" in heard.texts)

    assert heard.texts == ["once", "later"]


async def test_what_was_taken_in_and_not_dealt_with_is_at_the_next_start() -> None:
    store, begun = MemoryStore(), asyncio.Event()

    async def stuck(_updates: list[Update]) -> None:
        begun.set()
        await asyncio.get_running_loop().create_future()

    heard = Heard()
    async with ScriptedBots() as bots:
        await bots.person(ME).write("first")
        await bots.person(ME).write("second")
        async with polling(bots, store, stuck):
            await begun.wait()
            await bots.until(lambda: len(bots.log) >= 1 and bots.updates.unread == 0)
        async with polling(bots, store, heard):
            await heard.until(lambda: len(heard.texts) == 2)

    assert heard.texts == ["first", "second"]


async def test_a_chat_that_takes_long_does_not_delay_another() -> None:
    heard, release = Heard(), asyncio.Event()

    async def handle(updates: list[Update]) -> None:
        update = updates[0]
        assert update.message is not None
        if update.message.chat.id == ME:
            await release.wait()
        await heard(updates)

    async with ScriptedBots() as bots, polling(bots, MemoryStore(), handle):
        await bots.person(ME).write("slow")
        await bots.person(8).write("quick")
        await heard.until(lambda: heard.texts == ["quick"])
        release.set()
        await heard.until(lambda: heard.texts == ["quick", "slow"])


async def test_trouble_of_the_service_is_waited_out() -> None:
    heard = Heard()
    async with ScriptedBots() as bots:
        bots.fail(method="getUpdates", status=502, times=1)
        bots.fail(method="getUpdates", drop="before", times=1)
        await bots.person(ME).write("hello")
        async with polling(bots, MemoryStore(), heard):
            await heard.until(lambda: heard.texts == ["hello"])


async def test_an_update_that_fails_does_not_stand_in_the_way() -> None:
    heard = Heard()

    async def handle(updates: list[Update]) -> None:
        update = updates[0]
        assert update.message is not None
        if update.message.text == "bad":
            raise ValueError("bad")
        await heard(updates)

    async with ScriptedBots() as bots:
        await bots.person(ME).write("bad")
        await bots.person(ME).write("good")
        async with polling(bots, MemoryStore(), handle):
            await heard.until(lambda: heard.texts == ["good"])


class LaterToday(Surroundings):
    """A machine whose clock the test moves."""

    later_s = 0.0

    def time(self) -> float:
        return super().time() + self.later_s


async def test_after_a_long_silence_lower_numbers_are_new_also_while_it_runs() -> None:
    store, machine = MemoryStore(), LaterToday()
    letters = Letters(store, "telegram/1", machine, anew_s=3600)
    assert await letters.take_in([Update(update_id=900)]) == [Update(update_id=900)]
    assert await letters.take_in([Update(update_id=5)]) == []
    assert letters.taken == 900
    machine.later_s = 3601
    assert letters.taken == 0
    assert await letters.take_in([Update(update_id=5)]) == [Update(update_id=5)]
    assert letters.taken == 5
    again = Letters(store, "telegram/1", Surroundings())
    await again.load()
    assert again.taken == 5
