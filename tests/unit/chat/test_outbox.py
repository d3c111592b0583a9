"""The outbox against a Bot API that fails in every way it can: each message stands there once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from footplate.chat.model import Button, Content, Entity, Id, Place, User
from footplate.chat.outbox.buckets import Pace
from footplate.chat.outbox.outbox import Outbox
from footplate.chat.transport import Lost
from footplate.errors import BotError
from footplate.interfaces.telegram.bot.client import BotClient
from footplate.interfaces.telegram.heights import SLACK
from footplate.interfaces.telegram.transport import TelegramTransport
from footplate.runtime.surroundings import Surroundings
from footplate.store.base import Store
from footplate.store.memory import MemoryStore
from footplate.testing.bots import ScriptedBots
from footplate.testing.bots.limits import Rates

FAST = Pace(
    private_per_s=500,
    private_burst=50,
    group_per_s=500,
    group_burst=50,
    overall_per_s=1000,
    settle_s=0.02,
    retry_s=0.02,
    longest_retry_s=0.1,
)
FREE = Rates(chat_per_s=1000, chat_burst=1000, group_per_min=10_000, overall_per_s=10_000)
ME = 7
HERE = Place(chat=ME)
BEYOND = 10**9
"""A poll from this number on finds nothing: the transport has caught up, and has learned no ids by it."""
DONE = Content(text="done", entities=(Entity(type="bold", offset=0, length=4),))


@asynccontextmanager
async def outbox_on(bots: ScriptedBots, store: Store, pace: Pace = FAST) -> AsyncIterator[Outbox]:
    async with BotClient.open(bots.token, bots.url) as client:
        transport = TelegramTransport(client, User(id=1), pace)
        await transport.receive(BEYOND)
        async with Outbox.open(transport, store, "telegram/1", Surroundings()) as outbox:
            yield outbox


@pytest.fixture
async def bots() -> AsyncIterator[ScriptedBots]:
    async with ScriptedBots(rates=FREE) as made:
        await made.person(ME).write("go")
        yield made


@pytest.fixture
async def outbox(bots: ScriptedBots) -> AsyncIterator[Outbox]:
    async with outbox_on(bots, MemoryStore()) as made:
        made.learn(ME, bots.person(ME).bubbles[-1].id)
        yield made


async def drained(outbox: Outbox) -> None:
    assert await outbox.drain(10)


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 500},
        {"status": 502, "effect": True},
        {"status": 429, "retry_after": 0.05},
        {"drop": "before"},
        {"drop": "after"},
        {"drop": "after", "times": 3},
        {"status": 500, "times": 4},
    ],
)
async def test_a_message_that_somebody_waits_for_stands_there_exactly_once(
    bots: ScriptedBots, outbox: Outbox, fault: dict[str, object]
) -> None:
    bots.fail(method="sendMessage", **fault)

    await outbox.put("f/1", HERE, DONE, urgent=True)
    await drained(outbox)

    assert bots.person(ME).texts == ["done"]
    assert bots.person(ME).room.sounds == ["done"]


@pytest.mark.parametrize("drop", ["before", "after"])
async def test_a_restart_in_the_middle_of_a_delivery_neither_loses_nor_doubles_it(
    bots: ScriptedBots, drop: str
) -> None:
    store = MemoryStore()
    bots.fail(method="sendMessage", drop=drop, times=100)
    async with outbox_on(bots, store, Pace(settle_s=60)) as first:
        first.learn(ME, bots.person(ME).bubbles[-1].id)
        await first.put("f/1", HERE, DONE, urgent=True)
        await bots.until(lambda: bots.calls("sendMessage"))
    bots.faults.clear()
    await bots.person(ME).write("are you there?")

    async with outbox_on(bots, store) as second:
        await drained(second)

    assert bots.person(ME).texts == ["done"]


@pytest.mark.parametrize("fault", [{"status": 429, "retry_after": 0.01}, {"status": 500}])
async def test_a_search_that_is_refused_in_the_middle_continues_there(
    bots: ScriptedBots, fault: dict[str, object]
) -> None:
    people = [await bots.person(8).write(f"message {number}") for number in range(3)]
    async with BotClient.open(bots.token, bots.url) as client:
        transport = TelegramTransport(client, User(id=1), FAST)
        await transport.receive(BEYOND)
        transport.saw(8, people[-1].id)
        message = await client.send_message(HERE, DONE)
        lost = Lost(key="f/1", place=HERE, content=DONE, mark=people[0].id - 1)
        bots.fail(method="editMessageText", after=2, **fault)
        with pytest.raises(BotError):
            await transport.find(lost)

        assert await transport.find(lost) == message

    probed = [call.parameters["message_id"] for call in bots.calls("editMessageText")]
    assert probed == [people[0].id, people[1].id, people[2].id, people[2].id, message]


async def test_a_message_that_is_lost_after_a_restart_is_found_by_what_was_sent_before(bots: ScriptedBots) -> None:
    store = MemoryStore()
    async with outbox_on(bots, store) as first:
        first.learn(ME, bots.person(ME).bubbles[-1].id)
        await first.put("f/1", HERE, DONE, urgent=True)
        await drained(first)
    bots.fail(method="sendMessage", drop="after")

    async with outbox_on(bots, store) as second:
        await second.put("f/2", HERE, Content(text="later"), urgent=True)
        await drained(second)

    assert bots.person(ME).texts == ["done", "later"]


async def test_the_first_message_of_all_is_found_by_what_it_replies_to(bots: ScriptedBots) -> None:
    bots.fail(method="sendMessage", drop="after")
    async with outbox_on(bots, MemoryStore()) as outbox:
        reply = Place(chat=ME, reply_to=bots.person(ME).bubbles[-1].id)
        await outbox.put("f/1", reply, DONE, urgent=True)
        await drained(outbox)

    assert bots.person(ME).texts == ["done"]


async def test_a_message_that_is_lost_after_a_restart_is_found_by_what_it_replied_to(bots: ScriptedBots) -> None:
    store = MemoryStore()
    async with outbox_on(bots, store) as first:
        first.learn(ME, bots.person(ME).bubbles[-1].id)
        bots.fail(method="sendMessage", text="done", drop="after")
        people = [await bots.person(ME).write(f"message {number}") for number in range(6)]
        await first.put("f/1", HERE, DONE, urgent=True)
        await bots.until(lambda: bots.person(ME).sees("done"))
        bots.fail(method="editMessageText", status=500, times=1000)
        await first.put("f/2", Place(chat=ME, reply_to=people[-1].id), Content(text="later"), urgent=True)
    bots.faults.clear()

    async with outbox_on(bots, store) as second:
        await drained(second)

    assert sorted(bots.person(ME).texts) == ["done", "later"]


async def test_a_search_waits_for_what_people_wrote_while_nobody_polled(bots: ScriptedBots) -> None:
    async with BotClient.open(bots.token, bots.url) as client:
        transport = TelegramTransport(client, User(id=1), FAST)
        mark = bots.person(ME).bubbles[-1].id
        people = [await bots.person(8).write(f"message {number}") for number in range(6)]
        message = await client.send_message(HERE, DONE)
        search = asyncio.create_task(transport.find(Lost(key="f/1", place=HERE, content=DONE, mark=mark)))

        last = (await transport.receive(0))[-1]
        assert not search.done()
        assert await transport.receive(last.update_id) == []

        assert message > people[-1].id > mark + SLACK
        assert await search == message


async def test_an_uncertain_message_is_found_among_those_of_other_chats(bots: ScriptedBots, outbox: Outbox) -> None:
    bots.fail(method="sendMessage", chat=ME, drop="after")
    other = bots.person(8)

    await outbox.put("f/1", HERE, DONE, urgent=True)
    await bots.until(lambda: bots.person(ME).sees("done"))
    for number in range(3):
        await outbox.put(f"n/{number}", Place(chat=8), Content(text=f"note {number}"))
    await drained(outbox)

    assert bots.person(ME).texts == ["done"]
    assert sorted(other.texts) == ["note 0", "note 1", "note 2"]


async def test_the_same_key_twice_is_one_message(bots: ScriptedBots, outbox: Outbox) -> None:
    for _ in range(3):
        await outbox.put("n/1", HERE, DONE)
    await drained(outbox)
    await outbox.put("n/1", HERE, DONE)
    await drained(outbox)

    assert bots.person(ME).texts == ["done"]


async def test_only_the_newest_of_many_edits_goes_out(bots: ScriptedBots, outbox: Outbox) -> None:
    await outbox.put("p/1", HERE, Content(text="step 0"))
    await drained(outbox)
    bots.fail(method="editMessageText", delay_s=0.1)
    for number in range(1, 50):
        await outbox.put("p/1", HERE, Content(text=f"step {number}"))
        await asyncio.sleep(0)
    await drained(outbox)

    assert bots.person(ME).texts == ["step 49"]
    assert len(bots.calls("editMessageText")) <= 3


async def test_not_modified_is_success(bots: ScriptedBots, outbox: Outbox) -> None:
    await outbox.put("p/1", HERE, Content(text="starting"))
    await drained(outbox)
    bots.fail(method="editMessageText", status=400, words="Bad Request: message is not modified")
    await outbox.put("p/1", HERE, Content(text="working"))
    await drained(outbox)

    assert len(bots.calls("sendMessage")) == 1
    assert len(bots.calls("editMessageText")) == 1


async def test_a_progress_message_goes_only_when_the_answer_stands_there(bots: ScriptedBots, outbox: Outbox) -> None:
    await outbox.put("p/1", HERE, Content(text="working"))
    await drained(outbox)
    bots.fail(method="sendMessage", status=500, times=2)
    await outbox.put("f/1", HERE, DONE, urgent=True)
    await outbox.remove("p/1", after="f/1")
    await drained(outbox)

    methods = [call.method for call in bots.log]
    assert bots.person(ME).texts == ["done"]
    assert methods.index("deleteMessage") > len(methods) - 2


async def test_a_message_that_was_never_sent_is_not_sent_to_be_deleted(bots: ScriptedBots, outbox: Outbox) -> None:
    bots.fail(method="sendMessage", chat=ME, delay_s=0.2)
    await outbox.put("a", HERE, Content(text="first"), urgent=True)
    await asyncio.sleep(0.05)
    await outbox.put("p/1", HERE, Content(text="working"))
    await outbox.remove("p/1")
    await drained(outbox)

    assert bots.person(ME).texts == ["first"]
    assert not bots.calls("deleteMessage")


async def test_a_429_holds_up_its_own_chat_only(bots: ScriptedBots, outbox: Outbox) -> None:
    bots.fail(method="sendMessage", chat=8, status=429, retry_after=0.5)
    await outbox.put("a", Place(chat=8), Content(text="late"), urgent=True)
    await bots.until(lambda: bots.calls("sendMessage", chat=8))
    await outbox.put("b", HERE, Content(text="at once"), urgent=True)
    await bots.until(lambda: bots.person(ME).sees("at once"))
    late_by_then = bots.person(8).sees("late")
    await drained(outbox)

    assert not late_by_then
    assert bots.person(8).texts == ["late"]


async def test_after_a_429_only_the_newest_state_goes_out(bots: ScriptedBots, outbox: Outbox) -> None:
    await outbox.put("p/1", HERE, Content(text="step 0"))
    await drained(outbox)
    bots.fail(method="editMessageText", chat=ME, status=429, retry_after=0.2)
    await outbox.put("p/1", HERE, Content(text="step 1"))
    await bots.until(lambda: bots.calls("editMessageText"))
    for number in range(2, 6):
        await outbox.put("p/1", HERE, Content(text=f"step {number}"))
    await drained(outbox)

    assert [call.parameters["text"] for call in bots.calls("editMessageText")] == ["step 1", "step 5"]
    assert bots.person(ME).texts == ["step 5"]


async def test_a_request_goes_before_progress(bots: ScriptedBots, outbox: Outbox) -> None:
    bots.fail(method="sendMessage", text="first", delay_s=0.1)
    await outbox.put("a", HERE, Content(text="first"))
    await asyncio.sleep(0.02)
    for number in range(3):
        await outbox.put(f"p/{number}", HERE, Content(text=f"progress {number}"))
    ask = Content(text="may I?", keyboard=((Button(text="Allow once", callback_data="x"),),))
    await outbox.put("r/1", HERE, ask, urgent=True)
    await drained(outbox)

    assert bots.person(ME).texts[1] == "may I?"
    assert bots.person(ME).answers[1].labels == ["Allow once"]


async def test_formatting_that_is_refused_does_not_cost_the_message(bots: ScriptedBots, outbox: Outbox) -> None:
    wrong = Content(text="done", entities=(Entity(type="bold", offset=0, length=99),))
    await outbox.put("f/1", HERE, wrong, urgent=True)
    await drained(outbox)

    assert bots.person(ME).texts == ["done"]


async def test_a_topic_that_is_gone_does_not_cost_the_message(bots: ScriptedBots, outbox: Outbox) -> None:
    await outbox.put("f/1", Place(chat=ME, topic=55), Content(text="done"), urgent=True)
    await drained(outbox)

    assert bots.person(ME).texts == ["done"]


async def test_what_a_blocked_chat_missed_comes_when_it_is_open_again(bots: ScriptedBots, outbox: Outbox) -> None:
    bots.person(ME).room.blocked = True
    await outbox.put("f/1", HERE, DONE, urgent=True)
    await drained(outbox)
    bots.person(ME).room.blocked = False
    await outbox.revive(ME)
    await drained(outbox)

    assert bots.person(ME).texts == ["done"]


async def test_a_group_that_moves_takes_its_messages_along(bots: ScriptedBots, outbox: Outbox) -> None:
    old, new = -5, -1_000_000_000_006
    bots.world.room(old, kind="group").migrated_to = new
    bots.world.room(new)
    moved: list[tuple[Id, Id]] = []
    outbox.chat_moved = lambda before, after: moved.append((before, after))
    await outbox.put("f/1", Place(chat=old), DONE, urgent=True)
    await bots.until(lambda: bots.person(ME, new).texts == ["done"])

    assert moved == [(old, new)]


async def test_a_reply_finds_what_the_message_was_about(bots: ScriptedBots, outbox: Outbox) -> None:
    await outbox.put("f/1", HERE, DONE, urgent=True, about="session 1")
    await drained(outbox)

    assert await outbox.about(ME, bots.person(ME).find("done").id) == "session 1"
    assert await outbox.about(ME, 1) == ""


async def test_messages_that_are_old_and_done_are_forgotten_while_the_bridge_runs(bots: ScriptedBots) -> None:
    clock = Clock()
    async with MemoryStore(clock=clock.time) as store, BotClient.open(bots.token, bots.url) as client:
        transport = TelegramTransport(client, User(id=1), FAST)
        await transport.receive(BEYOND)
        async with Outbox.open(transport, store, "telegram/1", clock) as outbox:
            await outbox.put("old", HERE, DONE, about="something")
            assert await outbox.drain(10)
            clock.ahead_s += 4 * 86_400.0
            await outbox.put("new", HERE, DONE, about="something")
            assert await outbox.drain(10)
            assert await outbox.tidy() is False
            slots = (await store.documents("telegram/1/slots").list()).items
            assert [document.key for document in slots] == ["new"]
            assert len((await store.documents("telegram/1/messages").list()).items) == 2
            clock.ahead_s += 60 * 86_400.0
            await outbox.tidy()
            assert (await store.documents("telegram/1/slots").list()).items == ()
            assert (await store.documents("telegram/1/messages").list()).items == ()


class Clock(Surroundings):
    """The machine with a wall clock that a test sets forward."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead_s = 0.0

    def time(self) -> float:
        return super().time() + self.ahead_s
