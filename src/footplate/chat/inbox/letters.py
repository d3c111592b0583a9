"""The updates that are not dealt with yet, in the store, and the number up to which all were taken in."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.chat.model import Update
from footplate.runtime.surroundings import Surroundings
from footplate.store.base import Documents, Store

OFFSET: Final = "offset"


class Letters:
    """The inbox of one account. After a silence of `anew_s` the service may begin its numbers anew."""

    def __init__(self, store: Store, account: str, surroundings: Surroundings, *, anew_s: float | None = None) -> None:
        self._time = surroundings.time
        self._letters: Documents = store.documents(f"{account}/inbox")
        self._facts: Documents = store.documents(f"{account}/facts")
        self._anew_s = anew_s
        self._taken = 0
        self._taken_at = 0.0

    @property
    def taken(self) -> int:
        """The number up to which all was taken in; 0 when an old one means nothing any more."""
        old = self._anew_s is not None and self._time() - self._taken_at >= self._anew_s
        return 0 if old else self._taken

    async def load(self) -> list[Update]:
        """What was taken in and not dealt with, in order."""
        known = await self._facts.get(OFFSET)
        if known is not None:
            self._taken, self._taken_at = int(known.body), known.time
        found, after = [], None
        while True:
            page = await self._letters.list(after=after)
            found += [msgspec.json.decode(document.body, type=Update) for document in page.items]
            after = page.after
            if after is None:
                return [update for update in found if update.update_id <= self._taken]

    async def take_in(self, updates: list[Update]) -> list[Update]:
        """Keep what is new, and the number with it; only then may it be confirmed, or dealt with."""
        taken = self.taken
        fresh = [update for update in updates if update.update_id > taken]
        if not fresh:
            return []
        for update in fresh:
            await self._letters.put(f"{update.update_id:020}", msgspec.json.encode(update), durable=False)
        self._taken, self._taken_at = max(update.update_id for update in fresh), self._time()
        await self._facts.put(OFFSET, str(self._taken).encode(), durable=True)
        return fresh

    async def done(self, update: Update) -> None:
        """It is dealt with."""
        await self._letters.delete(f"{update.update_id:020}", durable=False)
