"""The updates that are not dealt with yet, in the store, and the number up to which all were taken in."""

from __future__ import annotations

import time
from typing import Final

import msgspec

from footplate.interfaces.telegram.bot.wire import Update
from footplate.store.base import Documents, Store

OFFSET: Final = "offset"
NUMBERS_ANEW_S: Final = 6 * 86_400.0
"""After a week of silence the Bot API begins its numbers anew: an old one means nothing then."""


class Letters:
    """The inbox of one bot."""

    def __init__(self, store: Store, bot: int) -> None:
        self._letters: Documents = store.documents(f"telegram/{bot}/inbox")
        self._facts: Documents = store.documents(f"telegram/{bot}/facts")
        self._taken = 0

    async def load(self) -> list[Update]:
        """What was taken in and not dealt with, in order."""
        known = await self._facts.get(OFFSET)
        if known is not None and time.time() - known.time < NUMBERS_ANEW_S:
            self._taken = int(known.body)
        found, after = [], None
        while True:
            page = await self._letters.list(after=after)
            found += [msgspec.json.decode(document.body, type=Update) for document in page.items]
            after = page.after
            if after is None:
                return [update for update in found if update.update_id <= self._taken]

    async def take_in(self, updates: list[Update]) -> list[Update]:
        """Keep what is new, and the number with it; only then may it be confirmed, or dealt with."""
        fresh = [update for update in updates if update.update_id > self._taken]
        if not fresh:
            return []
        for update in fresh:
            await self._letters.put(f"{update.update_id:020}", msgspec.json.encode(update), durable=False)
        self._taken = max(update.update_id for update in fresh)
        await self._facts.put(OFFSET, str(self._taken).encode(), durable=True)
        return fresh

    async def done(self, update: Update) -> None:
        """It is dealt with."""
        await self._letters.delete(f"{update.update_id:020}", durable=False)
