"""Which message has which mark, in chats where messages are answered by typing a mark. Kept in the store."""

from __future__ import annotations

from typing import Final

from footplate.chat.model import Id
from footplate.store.base import Documents, Store

HIGHEST: Final = 999
"""Marks are short: after so many they begin anew, and an old message loses its own."""


class Tags:
    """The marks of one account, counted per chat."""

    def __init__(self, store: Store, account: str) -> None:
        self._tags: Documents = store.documents(f"{account}/tags")

    async def give(self, chat: Id, key: str) -> int:
        """The next mark of the chat, for the slot of this key."""
        last = await self._tags.get(f"last/{chat}")
        tag = int(last.body) % HIGHEST + 1 if last is not None else 1
        await self._tags.put(f"tag/{chat}/{tag}", key.encode(), durable=False)
        await self._tags.put(f"last/{chat}", str(tag).encode(), durable=False)
        return tag

    async def key(self, chat: Id, tag: int) -> str:
        """The slot that has the mark; empty when none has."""
        found = await self._tags.get(f"tag/{chat}/{tag}")
        return found.body.decode() if found is not None else ""
