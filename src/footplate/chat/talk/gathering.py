"""Messages that belong together: the files of an album. Kept in the store until they are complete."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from footplate.chat.model import Message
from footplate.chat.talk.kit import Kit
from footplate.tasks import spawn

Handler = Callable[[list[Message]], Awaitable[None]]


class Albums:
    """Albums on their way; each is handed over when nothing more came for a while."""

    def __init__(self, kit: Kit, handle: Handler) -> None:
        self._kit = kit
        self._handle = handle
        self._timers: dict[str, asyncio.Task[None]] = {}

    async def start(self) -> None:
        """Go on with those that were on their way."""
        for key in await self._kit.records.albums.all():
            self._wait_for_more(key)

    async def stop(self) -> None:
        """Leave the rest to the next start."""
        timers = tuple(self._timers.values())
        for timer in timers:
            timer.cancel()
        if timers:
            await asyncio.wait(timers)

    async def add(self, message: Message) -> None:
        """One more of an album."""
        key = f"{message.chat.id}/{message.media_group_id}"
        known = await self._kit.records.albums.get(key) or ()
        if all(each.message_id != message.message_id for each in known):
            await self._kit.records.albums.put(key, (*known, message))
        self._wait_for_more(key)

    def _wait_for_more(self, key: str) -> None:
        waiting = self._timers.pop(key, None)
        if waiting is not None:
            waiting.cancel()
        self._timers[key] = spawn(self._hand_over(key), name=f"chat album {key}")

    async def _hand_over(self, key: str) -> None:
        await asyncio.sleep(self._kit.settings.media_group_debounce_s)
        album = await self._kit.records.albums.get(key)
        if album:
            await asyncio.shield(self._handle(list(album)))
            await self._kit.records.albums.drop(key)
        self._timers.pop(key, None)
