"""What every store must do: queues."""

from __future__ import annotations

import asyncio

from footplate.store.base import Queue
from footplate.store.conformance.scene import ManualClock, Scene, within
from footplate.store.values import Message, Put, RetentionPolicy


class QueueConformance(Scene):
    """At least once, oldest first, one of each key, lanes in order."""

    async def test_messages_are_handed_out_in_order_and_are_gone_when_done(self) -> None:
        async with self.make_store(ManualClock()) as store:
            queue = store.queue("inbox")
            ids = [(await queue.put(body)).id for body in (b"a", b"b", b"c")]
            assert await store.queue("other").claim() == []
            claimed = await queue.claim(2)
            assert claimed == [Message(id=ids[0], body=b"a", attempts=1), Message(id=ids[1], body=b"b", attempts=1)]
            assert [await queue.ack(message) for message in claimed] == [True, True]
            assert [message.body for message in await queue.claim(5)] == [b"c"]
            assert await queue.size() == 1

    async def test_a_message_is_hidden_while_it_is_worked_on_and_handed_out_again_after(self) -> None:
        clock = ManualClock()
        async with self.make_store(clock) as store:
            queue = store.queue("q")
            await queue.put(b"a")
            (first,) = await queue.claim(visibility_s=10)
            clock.now += 9
            assert await queue.claim() == []
            clock.now += 1
            (second,) = await queue.claim(visibility_s=10)
            assert (second.id, second.attempts) == (first.id, 2)
            assert not await queue.ack(first)
            assert not await queue.nack(first)
            assert await queue.ack(second)
            assert not await queue.ack(second)
            assert await queue.size() == 0

    async def test_a_message_that_failed_comes_again_after_its_delay(self) -> None:
        clock = ManualClock()
        async with self.make_store(clock) as store:
            queue = store.queue("q")
            await queue.put(b"a")
            await queue.put(b"b")
            (first,) = await queue.claim()
            assert await queue.nack(first, delay_s=5)
            assert [message.body for message in await queue.claim(5)] == [b"b"]
            clock.now += 5
            assert [(message.body, message.attempts) for message in await queue.claim(5)] == [(b"a", 2)]

    async def test_a_delayed_message_is_not_due_before_its_time(self) -> None:
        clock = ManualClock()
        async with self.make_store(clock) as store:
            queue = store.queue("q")
            await queue.put(b"later", delay_s=60)
            assert await queue.claim() == []
            clock.now += 60
            assert len(await queue.claim()) == 1

    async def test_a_key_is_taken_once_also_for_a_while_after_it_is_done(self) -> None:
        clock = ManualClock()
        async with self.make_store(clock) as store:
            queue = store.queue("q")
            first = await queue.put(b"a", key="update 7")
            assert first.added
            assert await queue.put(b"again", key="update 7") == Put(first.id, added=False)
            assert (await store.queue("other").put(b"a", key="update 7")).added
            (message,) = await queue.claim()
            assert (message.key, message.body) == ("update 7", b"a")
            assert await queue.ack(message)
            assert await queue.put(b"again", key="update 7") == Put(first.id, added=False)
            clock.now += 100
            assert (await store.retain(RetentionPolicy(queue_done_age_s=50))).messages == 1
            assert (await queue.put(b"anew", key="update 7")).added

    async def test_a_lane_goes_strictly_one_by_one_and_does_not_hold_up_others(self) -> None:
        async with self.make_store(ManualClock()) as store:
            queue = store.queue("outbox")
            for body, lane in ((b"a1", "a"), (b"a2", "a"), (b"b1", "b"), (b"free", ""), (b"a3", "a")):
                await queue.put(body, lane=lane)
            claimed = await queue.claim(10)
            assert [message.body for message in claimed] == [b"a1", b"b1", b"free"]
            assert await queue.nack(claimed[0], delay_s=60)
            assert await queue.claim(10) == []
            assert await queue.ack(claimed[0])
            assert [message.body for message in await queue.claim(10)] == [b"a2"]

    async def test_waiting_consumers_share_the_work(self) -> None:
        async with self.make_store(ManualClock()) as store:
            queue = store.queue("q")
            workers = [asyncio.create_task(_work(queue)) for _ in range(4)]
            await asyncio.sleep(0)
            for number in range(40):
                await queue.put(b"%d" % number, durable=False)
            for _ in workers:
                await queue.put(b"end", durable=False)
            done = await within(asyncio.gather(*workers))
            assert sorted(body for part in done for body in part) == sorted(b"%d" % number for number in range(40))
            assert await queue.size() == 0


async def _work(queue: Queue) -> list[bytes]:
    done: list[bytes] = []
    while True:
        (message,) = await queue.take()
        assert await queue.ack(message, durable=False)
        if message.body == b"end":
            return done
        done.append(message.body)
