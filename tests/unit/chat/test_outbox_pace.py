"""The outbox at its real pace: within the limits of the Bot API, and no chat waits for another."""

from __future__ import annotations

import time

from footplate.chat.model import Content, Place
from footplate.chat.outbox.buckets import Pace
from footplate.store.memory import MemoryStore
from footplate.testing.bots import ScriptedBots
from tests.unit.chat.test_outbox import DONE, FREE, HERE, ME, outbox_on


async def test_a_busy_group_does_not_delay_a_private_chat() -> None:
    group = -1_000_000_000_005
    async with ScriptedBots(rates=FREE) as bots, outbox_on(bots, MemoryStore(), Pace()) as outbox:
        bots.world.room(group)
        for number in range(10):
            await outbox.put(f"g/{number}", Place(chat=group), Content(text=f"busy {number}"))
        begun = time.monotonic()
        await outbox.put("n/1", HERE, DONE, urgent=True)
        await bots.until(lambda: bots.person(ME).sees("done"))
        took = time.monotonic() - begun

        assert took < 1.0
        assert len(bots.calls("sendMessage", chat=group)) <= 3


async def test_real_buckets_are_kept() -> None:
    async with ScriptedBots() as strict, outbox_on(strict, MemoryStore(), Pace()) as outbox:
        for number in range(5):
            await outbox.put(f"n/{number}", HERE, Content(text=f"{number}"), urgent=True)
        await strict.until(lambda: len(strict.person(ME).texts) == 5)

        assert strict.person(ME).texts == ["0", "1", "2", "3", "4"]
        assert all(call.status == 200 for call in strict.log)
