"""A session's log and its readers: every lasting event once and in order, whatever the sizes and the moments."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import pytest

from footplate.errors import CursorLost
from footplate.events.ids import MessageId, SessionId
from footplate.events.model import Envelope, Event, Message, MessageDelta
from footplate.events.reduce import SessionReducer
from footplate.runtime.log import SessionLog, Subscription
from footplate.runtime.surroundings import Bounds, Surroundings
from footplate.store.memory import MemoryStore
from footplate.store.values import Encoded
from footplate.tasks import Tasks

SESSION = SessionId("s1")
END = -1


class SlowStore(MemoryStore):
    """A memory store whose appends are stored at once and return when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.stored = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def append(
        self,
        session: SessionId,
        epoch: int,
        expected_seq: int,
        events: Sequence[Envelope | Encoded],
        *,
        durable: bool = False,
        audit: Sequence[bytes] = (),
    ) -> int:
        seq = await super().append(session, epoch, expected_seq, events, durable=durable, audit=audit)
        self.stored.set()
        await self.go_on.wait()
        return seq


async def _open(store: MemoryStore, **bounds: int) -> SessionLog:
    reducer = SessionReducer()
    for stored in await store.read(SESSION):
        reducer.apply(stored.envelope())
    log = SessionLog(store, SESSION, reducer, Surroundings(Bounds(**bounds)))
    log.claim(await store.claim(SESSION))
    return log


def _message(text: str) -> Message:
    return Message(message=MessageId(text[:40]), part=0, text=text)


def _delta(text: str) -> MessageDelta:
    return MessageDelta(message=MessageId("live"), part=0, text=text)


async def _seen(reader: Subscription, upto: int) -> list[int]:
    """The numbers of the lasting events up to that one."""
    found: list[int] = []
    async with asyncio.timeout(10):
        while not found or found[-1] < upto:
            delivery = await anext(reader)
            if delivery.lasting:
                found.append(delivery.seq)
    return found


async def test_a_reader_that_catches_up_while_a_large_batch_is_stored_misses_nothing_of_it() -> None:
    store = SlowStore()
    log = await _open(store)
    await log.append([_message("first"), _delta("being written")])
    store.stored.clear()
    store.go_on.clear()
    tasks = Tasks()
    tasks.spawn(log.append([_message("x" * 1_100_000), _message("last")]), name="append")
    await store.stored.wait()
    reader = log.subscribe(0)
    first, live = await anext(reader), await anext(reader)
    assert [(each.seq, each.lasting) for each in (first, live)] == [(1, True), (1, False)]
    again = log.subscribe(live.seq)  # a client that comes back with the number of the delta
    await anext(again)
    store.go_on.set()
    await tasks.wait()
    assert await _seen(reader, 3) == [2, 3]
    assert await _seen(again, 3) == [2, 3]
    log.close()
    await store.close()


async def test_an_append_that_fails_leaves_no_trace_in_numbers_and_readers() -> None:
    store = MemoryStore()
    log = await _open(store)
    await log.append([_message("one")])
    reader = log.subscribe(0)
    await store.claim(SESSION)  # another writer: ours is refused from here on
    with pytest.raises(Exception, match="epoch"):
        await log.append([_message("two")])
    assert (log.last_seq, log.view().last_seq, (await anext(reader)).seq) == (1, 1, 1)
    log.close()
    assert [each async for each in reader] == []
    await store.close()


@pytest.mark.parametrize("seed", range(40))
async def test_readers_of_every_kind_get_each_lasting_event_once_and_in_order(seed: int) -> None:
    """Steady, slow, late and reconnecting readers with small buffers, beside a writer with delays in its appends."""
    chance = random.Random(seed)
    store = SlowStore()
    log = await _open(store, reader_bytes=chance.choice((1, 400, 5000)), page_rows=chance.choice((1, 2, 50)))
    total = 40
    tasks = Tasks()

    async def pause(most: int) -> None:
        for _ in range(chance.randrange(most)):
            await asyncio.sleep(0)

    async def write() -> None:
        while log.last_seq < total:
            events: list[Event] = []
            for _ in range(chance.randrange(1, 4)):
                size = chance.choice((1, 30, 3000))
                events.append(_delta("d" * size) if chance.random() < 0.5 else _message("m" * size))
            store.go_on.clear()
            writing = tasks.spawn(log.append(events), name="append")
            await pause(6)
            store.go_on.set()
            await writing
            await pause(4)
        await log.append([_message("the end")])

    async def read(*, slow: int, late: int, leaves: float) -> list[int]:
        mine: list[int] = []
        await pause(late + 1)
        cursor, epoch = 0, None
        while not mine or mine[-1] != END:
            reader = log.subscribe(cursor, epoch)
            async for delivery in reader:
                envelope = delivery.envelope()
                if delivery.lasting:
                    mine.append(END if envelope.event == _message("the end") else delivery.seq)
                cursor, epoch = envelope.seq, envelope.epoch  # also of an ephemeral event
                if mine[-1:] == [END] or chance.random() < leaves:
                    break
                await pause(slow + 1)
            reader.close()
        return mine

    readers = [
        tasks.spawn(read(slow=slow, late=late, leaves=leaves), name="read")
        for slow, late, leaves in ((0, 0, 0.0), (30, 0, 0.0), (2, 200, 0.0), (1, 0, 0.3))
    ]
    async with asyncio.timeout(20):
        await write()
        seen = await asyncio.gather(*readers)
    assert seen == [[*range(1, log.last_seq), END]] * 4
    log.close()
    await store.close()


async def test_a_cursor_of_an_event_that_the_log_no_longer_has_is_lost() -> None:
    store = MemoryStore()
    log = await _open(store)
    await log.append([_message("1"), _message("2")])
    log = await _open(store)  # the next service; a power cut has removed what the first one had stored after 2
    tail = log.subscribe(2, 1)
    await log.append([_delta("of the second service")])
    delta = await anext(tail)
    assert (delta.envelope().seq, delta.envelope().epoch) == (2, 1), "the cursor of the last lasting event"
    await log.append([_message("other 3"), _message("other 4")])
    for after, epoch in ((3, 1), (4, 1), (5, 2), (5, None), (1, 2)):
        reader = log.subscribe(after, epoch)
        with pytest.raises(CursorLost) as lost:
            await anext(reader)
        assert (lost.value.after, lost.value.last_seq, lost.value.epoch) == (after, 4, 2)
        reader.close()
        checked = log.subscribe(after, epoch)
        with pytest.raises(CursorLost):
            await checked.check()
        checked.close()
    for after, epoch in ((0, 9), (1, 1), (2, 1), (2, None), (3, 2), (3, None)):
        reader = log.subscribe(after, epoch)
        await reader.check()
        assert await _seen(reader, 4) == list(range(after + 1, 5))
        reader.close()
    end = log.subscribe(4, 2)
    await end.check()
    await log.append([_message("5")])
    assert await _seen(end, 5) == [5]
    log.close()
    await store.close()


async def test_readers_of_a_deleted_log_end() -> None:
    store = MemoryStore()
    log = await _open(store, reader_bytes=1)
    await log.append([_message("1"), _message("2"), _message("3")])
    fresh, middle = log.subscribe(0), log.subscribe(1, 1)
    await store.delete_session(SESSION)
    assert [each async for each in fresh] == []
    assert [each async for each in middle] == []
    await store.close()
