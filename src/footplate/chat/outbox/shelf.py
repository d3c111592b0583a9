"""Where slots are kept: the store's documents, with those in memory that have something to do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import msgspec

from footplate.chat.model import Id
from footplate.chat.outbox.slots import Slot, next_operation
from footplate.runtime.surroundings import Surroundings
from footplate.store.base import Documents, Store
from footplate.store.values import Document

KEEP_SLOTS_S: Final = 3 * 86_400.0
KEEP_MESSAGES_S: Final = 60 * 86_400.0
"""How long a message of ours is known as one that can be replied to."""


class Shelf:
    """The slots of one bot, and what each message of ours is about."""

    def __init__(self, store: Store, account: str, surroundings: Surroundings) -> None:
        self._time = surroundings.time
        self._slots: Documents = store.documents(f"{account}/slots")
        self._messages: Documents = store.documents(f"{account}/messages")

    async def load(self) -> AsyncIterator[Slot]:
        """Every slot; what is old and done is deleted instead."""
        async for document in _list(self._slots):
            if not await self._expire(document):
                yield msgspec.json.decode(document.body, type=Slot)

    async def _expire(self, document: Document) -> bool:
        """Delete a slot that is old and done."""
        slot = msgspec.json.decode(document.body, type=Slot)
        expired = next_operation(slot) is None and self._time() - document.time > KEEP_SLOTS_S
        if expired:
            await self._slots.delete(document.key, durable=False)
        return expired

    async def find(self, key: str) -> Slot | None:
        """A slot, whatever became of it."""
        document = await self._slots.get(key)
        return msgspec.json.decode(document.body, type=Slot) if document is not None else None

    async def failed(self, chat: Id) -> list[Slot]:
        """What could not be delivered to the chat and somebody waits for."""
        found, after = [], None
        while True:
            page = await self._slots.list(after=after)
            slots = (msgspec.json.decode(document.body, type=Slot) for document in page.items)
            found += [each for each in slots if each.state == "failed" and each.urgent and each.place.chat == chat]
            after = page.after
            if after is None:
                return found

    async def keep(self, slot: Slot) -> None:
        """Write it down; one that is gone is forgotten."""
        if slot.state == "gone":
            await self._slots.delete(slot.key, durable=False)
        else:
            await self._slots.put(slot.key, msgspec.json.encode(slot), durable=slot.urgent)

    async def forget(self, key: str) -> None:
        """It is another one from now on."""
        await self._slots.delete(key, durable=False)

    async def remember(self, slot: Slot) -> None:
        """Know by its id what a message is about."""
        if slot.message is not None and slot.about:
            await self._messages.put(f"{slot.place.chat}/{slot.message}", slot.about.encode(), durable=False)

    async def about(self, chat: Id, message: Id) -> str:
        """What a message of ours is about; empty when it is not ours, or too old."""
        document = await self._messages.get(f"{chat}/{message}")
        return document.body.decode() if document is not None else ""

    async def tidy(self) -> None:
        """Delete slots that are old and done, and what old messages were about."""
        async for document in _list(self._slots):
            await self._expire(document)
        async for document in _list(self._messages):
            if self._time() - document.time > KEEP_MESSAGES_S:
                await self._messages.delete(document.key, durable=False)


async def _list(documents: Documents) -> AsyncIterator[Document]:
    after: str | None = None
    while True:
        page = await documents.list(after=after)
        for document in page.items:
            yield document
        after = page.after
        if after is None:
            return
