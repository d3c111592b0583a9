"""The outbox: whoever has something to show puts it into a slot; the lanes see to it that it stands there, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from msgspec.structs import replace

from footplate.chat.model import Content, Id, Place
from footplate.chat.outbox.delivery import Delivery
from footplate.chat.outbox.lane import Lane, Tools
from footplate.chat.outbox.marks import needs_marks
from footplate.chat.outbox.shelf import Shelf
from footplate.chat.outbox.slots import Slot, next_operation
from footplate.chat.outbox.tags import Tags
from footplate.chat.transport import Transport
from footplate.runtime.surroundings import Surroundings
from footplate.store.base import Store

LOOK_S: Final = 0.05
CERTAIN_S: Final = 40.0
"""How long it may take to find out whether a message was sent: longer than a search waits for updates."""


class Outbox:
    """Everything that one bot shows."""

    def __init__(self, transport: Transport, tools: Tools, tags: Tags, surroundings: Surroundings) -> None:
        self._transport = transport
        self._tools = tools
        self._tags = tags
        self._time = surroundings.time
        self._marks = needs_marks(transport.capabilities)
        self._lanes: dict[Id, Lane] = {}
        self._putting: dict[str, asyncio.Lock] = {}
        self._moved: dict[Id, Id] = {}
        self._latest = 0
        self.chat_moved: Callable[[Id, Id], None] = lambda _old, _new: None
        """Told of a group that has another id now."""
        tools.migrated = self._migrate

    @classmethod
    @asynccontextmanager
    async def open(
        cls, transport: Transport, store: Store, account: str, surroundings: Surroundings
    ) -> AsyncIterator[Outbox]:
        """An outbox for as long as the block lasts; what is not delivered then is at the next start."""
        tools = Tools(
            Delivery(transport, surroundings), Shelf(store, account, surroundings), transport.pace, surroundings
        )
        outbox = cls(transport, tools, Tags(store, account), surroundings)
        await outbox._load()
        try:
            yield outbox
        finally:
            for lane in outbox._lanes.values():
                await lane.stop()

    async def _load(self) -> None:
        async for slot in self._tools.shelf.load():
            self._latest = max(self._latest, int(slot.order))  # the clock may have been set back since
            # Also of slots that are done: a message whose answer is lost is looked for among the ids above known ones.
            for message in (slot.message, slot.place.reply_to):
                if message is not None:
                    self._transport.saw(slot.place.chat, message)
            if next_operation(slot) is not None:
                self._lane(slot.place.chat).slots[slot.key] = slot
        for lane in self._lanes.values():
            lane.wake()
        await self.tidy()

    async def tidy(self) -> bool:
        """Delete what is old and done. A step of `Housekeeping`: there is nothing more to do after it."""
        await self._tools.shelf.tidy()
        return False

    # -------------------------------------------------------------------------------------------- putting

    async def put(
        self, key: str, place: Place, content: Content, *, urgent: bool = False, about: str = "", document: str = ""
    ) -> None:
        """Have this stand there: a new message, or other content of the one that has the key. Kept before it returns.

        What is not urgent is kept when it is new; its later contents live in memory, the last one counts.
        """
        async with self._lock(key):
            slot = await self._find(key)
            if slot is None:
                slot = Slot(
                    key=key,
                    place=replace(place, chat=self._moved.get(place.chat, place.chat)),
                    order=self._next_place(),
                    wanted=content,
                    urgent=urgent,
                    about=about,
                    document=document,
                )
                if slot.place.reply_to is not None:
                    self._transport.saw(slot.place.chat, slot.place.reply_to)
                if self._marks and (content.keyboard or about):
                    slot.tag = await self._tags.give(slot.place.chat, key)
                await self._tools.shelf.keep(slot)
            elif slot.wanted == content or slot.wanted is None or slot.state == "gone":
                return  # what was taken away stays away
            else:
                slot.wanted = content
                slot.urgent = slot.urgent or urgent
                if slot.urgent:
                    await self._tools.shelf.keep(slot)
            self._hand_over(slot)

    async def remove(self, key: str, *, after: str = "") -> None:
        """Take it away, once the slot `after` stands there; what was never sent is not sent."""
        async with self._lock(key):
            slot = await self._find(key)
            if slot is None or slot.state in ("gone", "failed"):
                return
            slot.wanted, slot.after = None, after
            if slot.state == "new":
                slot.state = "gone"
            await self._tools.shelf.keep(slot)
            self._hand_over(slot)

    async def replace(self, key: str) -> None:
        """Take the message away, so that the next content of the key is a new one."""
        async with self._lock(key):
            slot = await self._find(key)
            if slot is None or slot.state in ("new", "sending"):
                return
            self._lane(slot.place.chat).slots.pop(key, None)
            await self._tools.shelf.forget(key)
            if slot.state == "shown":
                slot.key, slot.wanted, slot.after = f"{key}/{slot.message}", None, key
                await self._tools.shelf.keep(slot)
                self._hand_over(slot)

    async def seen(self, key: str) -> bool:
        """Whether the slot is known, whatever became of it."""
        return await self._find(key) is not None

    async def stands_at(self, key: str, message: Id) -> bool:
        """Whether the slot is the message of that id.

        A person may press a button before we know that the message was delivered, so a message that is being sent is
        waited for.
        """
        slot = await self._find(key)
        deadline = asyncio.get_running_loop().time() + CERTAIN_S
        while slot is not None and slot.state == "sending" and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(LOOK_S)
            slot = await self._find(key)
        return slot is not None and slot.message == message

    async def tagged(self, chat: Id, tag: int) -> Slot | None:
        """The message of a chat that has this mark, if it stands there."""
        key = await self._tags.key(chat, tag)
        slot = await self._find(key) if key else None
        return slot if slot is not None and slot.message is not None else None

    async def about(self, chat: Id, message: Id) -> str:
        """What a message of ours is about."""
        return await self._tools.shelf.about(chat, message)

    def learn(self, chat: Id, message: Id) -> None:
        """A message of somebody else came in: later ones of ours stand above it."""
        self._transport.saw(chat, message)

    async def revive(self, chat: Id) -> None:
        """The chat is open to us again: deliver what could not be."""
        for slot in await self._tools.shelf.failed(chat):
            slot.state, slot.plain = "new", False
            self._hand_over(slot)

    async def drain(self, patience_s: float) -> bool:
        """Wait until everything is delivered; False when that takes longer."""
        deadline = asyncio.get_running_loop().time() + patience_s
        while not all(lane.idle for lane in self._lanes.values()):
            if asyncio.get_running_loop().time() > deadline:
                return False
            await asyncio.sleep(LOOK_S)
        return True

    # --------------------------------------------------------------------------------------------- inside

    def _next_place(self) -> str:
        """A later place than any before, also within one tick of the clock."""
        self._latest = max(self._latest + 1, int(self._time() * 1e9))
        return f"{self._latest:020}"

    def _lock(self, key: str) -> asyncio.Lock:
        if len(self._putting) > 1000:
            self._putting = {name: lock for name, lock in self._putting.items() if lock.locked()}
        return self._putting.setdefault(key, asyncio.Lock())

    async def _find(self, key: str) -> Slot | None:
        for lane in self._lanes.values():
            if key in lane.slots:
                return lane.slots[key]
        return await self._tools.shelf.find(key)

    def _lane(self, chat: Id) -> Lane:
        if chat not in self._lanes:
            self._lanes[chat] = Lane(chat, self._tools, private=self._transport.is_private(chat))
        return self._lanes[chat]

    def _hand_over(self, slot: Slot) -> None:
        lane = self._lane(slot.place.chat)
        if next_operation(slot) is not None:
            lane.slots[slot.key] = slot
        elif slot.state == "gone":
            lane.slots.pop(slot.key, None)
        lane.wake()

    def _migrate(self, old: Id, new: Id) -> None:
        """A group has another id: everything of it moves there."""
        self._moved[old] = new
        moved, target = self._lane(old).slots, self._lane(new)
        for slot in moved.values():
            slot.place = replace(slot.place, chat=new, reply_to=None)
            target.slots[slot.key] = slot
        self._lane(old).slots = {}
        target.wake()
        self.chat_moved(old, new)
