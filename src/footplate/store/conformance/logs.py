"""What every store must do: session logs."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from footplate.errors import CursorLost, InvalidValue, StoreClosed, WrongEpoch, WrongSequence
from footplate.events import model as m
from footplate.events.ids import MessageId
from footplate.store.base import Store
from footplate.store.conformance.scene import (
    OTHER,
    SESSION,
    ManualClock,
    Scene,
    begin,
    envelope,
    notices,
    refused,
    story,
    take,
    within,
)
from footplate.store.values import Encoded, Lease


class LogConformance(Scene):
    """Appends, reads, tails, epochs, cursors."""

    async def test_what_was_appended_is_read_back_in_order(self) -> None:
        async with self.make_store(ManualClock()) as store:
            events = story()
            lease = await store.claim(SESSION)
            assert await store.append(SESSION, lease.epoch, 0, events[:4]) == 4
            assert await store.append(SESSION, lease.epoch, 4, [Encoded.of(event) for event in events[4:]]) == 9
            rows = await store.read(SESSION)
            assert [row.body for row in rows] == [Encoded.of(event).body for event in events]
            assert [(row.session, row.seq, row.version) for row in rows] == [
                (SESSION, seq, m.SCHEMA_VERSION) for seq in range(1, 10)
            ]
            assert [row.envelope().event for row in rows] == [event.event for event in events]

    async def test_reading_goes_on_from_a_cursor_up_to_a_limit(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await begin(store, 10)
            assert [row.seq for row in await store.read(SESSION, 3, 4)] == [4, 5, 6, 7]
            assert await store.read(SESSION, 10) == []
            assert await store.last_seq(SESSION) == 10

    async def test_a_session_nobody_wrote_is_empty(self) -> None:
        async with self.make_store(ManualClock()) as store:
            assert (await store.read(SESSION), await store.last_seq(SESSION)) == ([], 0)

    async def test_a_claim_tells_the_epoch_and_where_the_log_ends(self) -> None:
        async with self.make_store(ManualClock()) as store:
            assert await store.claim(SESSION) == Lease(SESSION, 1, 0)
            await store.append(SESSION, 1, 0, notices(1, 2))
            assert await store.claim(SESSION) == Lease(SESSION, 2, 2)
            assert await store.claim(OTHER) == Lease(OTHER, 1, 0)

    async def test_an_append_at_the_wrong_place_is_refused_and_changes_nothing(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await begin(store, 3)
            for expected in (0, 2, 4):
                call = store.append(SESSION, 1, expected, notices(expected + 1, 1))
                error = await refused(WrongSequence, call)
                assert (error.expected, error.actual) == (expected, 3)
            assert await store.last_seq(SESSION) == 3

    async def test_an_older_epoch_is_fenced_from_the_claim_on(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await begin(store, 1)
            await store.claim(SESSION)
            error = await refused(WrongEpoch, store.append(SESSION, 1, 1, notices(2, 1)))
            assert (error.epoch, error.current) == (1, 2)
            assert await store.append(SESSION, 2, 1, notices(2, 1, epoch=2)) == 2
            assert [row.envelope().epoch for row in await store.read(SESSION)] == [1, 2]

    async def test_nobody_writes_a_session_without_a_claim(self) -> None:
        async with self.make_store(ManualClock()) as store:
            error = await refused(WrongEpoch, store.append(SESSION, 1, 0, notices(1, 1)))
            assert error.current == 0
            await store.claim(SESSION)
            await refused(WrongEpoch, store.append(SESSION, 2, 0, notices(1, 1, epoch=2)))

    async def test_an_append_is_checked_before_anything_is_written(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await begin(store)
            delta = envelope(2, m.MessageDelta(message=MessageId("m"), part=0, text="x"))
            for events in (
                [],
                notices(2, 1),
                [*notices(1, 1), *notices(3, 1)],
                notices(1, 1, session=OTHER),
                notices(1, 1, epoch=2),
                [*notices(1, 1), delta],
            ):
                await refused(InvalidValue, store.append(SESSION, 1, 0, events))
            assert await store.last_seq(SESSION) == 0

    async def test_of_two_writers_at_one_place_exactly_one_wins(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await begin(store)
            for place in range(30):
                results = await asyncio.gather(
                    *(store.append(SESSION, 1, place, notices(place + 1, 1)) for _ in range(3)), return_exceptions=True
                )
                assert sorted(type(result).__name__ for result in results) == ["WrongSequence", "WrongSequence", "int"]
            assert [row.seq for row in await store.read(SESSION)] == list(range(1, 31))

    async def test_a_tail_gives_what_is_there_and_then_what_comes(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await begin(store, 3)
            async with aclosing(store.tail(SESSION, 1)) as tail:
                assert [row.seq for row in await take(tail, 2)] == [2, 3]
                waiting = asyncio.create_task(anext(tail))
                await asyncio.sleep(0)
                await store.append(SESSION, 1, 3, notices(4, 1))
                assert (await within(waiting)).seq == 4

    async def test_a_tail_of_a_session_to_come_waits_for_its_first_event(self) -> None:
        async with self.make_store(ManualClock()) as store, aclosing(store.tail(SESSION)) as tail:
            waiting = asyncio.create_task(anext(tail))
            await begin(store, 1, session=OTHER)
            await begin(store, 1)
            assert (await within(waiting)).session == SESSION

    async def test_tails_lose_and_repeat_nothing_while_others_write(self) -> None:
        async with self.make_store(ManualClock()) as store:
            total = 300
            await begin(store)
            tails = [asyncio.create_task(_seqs(store, after, total)) for after in (0, 0, 0)]
            for seq in range(0, total, 3):
                await store.append(SESSION, 1, seq, notices(seq + 1, 3), durable=seq % 50 == 0)
            tails.append(asyncio.create_task(_seqs(store, 100, total)))
            found = await within(asyncio.gather(*tails))
            whole = list(range(1, total + 1))
            assert found == [whole, whole, whole, whole[100:]]

    async def test_a_cancelled_tail_leaves_the_store_in_order(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await begin(store, 1)
            waiting = asyncio.create_task(_seqs(store, 0, 2))
            await asyncio.sleep(0.01)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            assert await store.append(SESSION, 1, 1, notices(2, 1)) == 2

    async def test_an_append_goes_through_when_its_caller_is_cancelled(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await begin(store)
            call = asyncio.create_task(store.append(SESSION, 1, 0, notices(1, 1), durable=True))
            await asyncio.sleep(0)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            await store.sync()
            assert await store.last_seq(SESSION) == 1
            assert await store.append(SESSION, 1, 1, notices(2, 1)) == 2

    async def test_a_cursor_past_the_end_is_told_and_not_waited_for(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await begin(store, 2)
            error = await refused(CursorLost, store.read(SESSION, 5))
            assert (error.after, error.last_seq, error.epoch) == (5, 2, 1)
            async with aclosing(store.tail(SESSION, 5)) as tail:
                await refused(CursorLost, within(anext(tail)))

    async def test_a_cursor_at_an_event_of_another_epoch_is_told(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await begin(store, 2)
            await store.claim(SESSION)
            await store.append(SESSION, 2, 2, notices(3, 2, epoch=2))
            assert [row.seq for row in await store.read(SESSION, 2, epoch=1)] == [3, 4]
            error = await refused(CursorLost, store.read(SESSION, 3, epoch=1))
            assert (error.after, error.last_seq, error.epoch) == (3, 4, 2)
            async with aclosing(store.tail(SESSION, 3, epoch=1)) as tail:
                await refused(CursorLost, within(anext(tail)))

    async def test_a_range_that_cannot_be_is_refused(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await refused(InvalidValue, store.read(SESSION, -1))
            await refused(InvalidValue, store.read(SESSION, 0, 0))

    async def test_a_closed_store_says_so(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await begin(store, 1)
            async with aclosing(store.tail(SESSION, 1)) as tail:
                waiting = asyncio.create_task(anext(tail))
                await asyncio.sleep(0.01)
                await store.close()
                await refused(StoreClosed, within(waiting))
            await refused(StoreClosed, store.append(SESSION, 1, 1, notices(2, 1)))
            await refused(StoreClosed, store.read(SESSION))
            await store.close()


async def _seqs(store: Store, after: int, until: int) -> list[int]:
    seen: list[int] = []
    async with aclosing(store.tail(SESSION, after)) as tail:
        async for row in tail:
            seen.append(row.seq)
            if row.seq == until:
                break
    return seen
