"""Live drafts: text as it is written, in private chats. Not kept, not owed; where it is refused, it is given up."""

from __future__ import annotations

import asyncio
import logging
import time

from footplate.errors import BotError, BotRefused, RetryAfter
from footplate.interfaces.telegram.bot.client import BotClient
from footplate.interfaces.telegram.bot.content import Place
from footplate.interfaces.telegram.drawing.rich import TEXT_LIMIT
from footplate.interfaces.telegram.outbox.buckets import Pace

log = logging.getLogger(__name__)


class Drafts:
    """At most one call per chat at a time, the newest text only."""

    def __init__(self, client: BotClient, pace: Pace) -> None:
        self._client = client
        self._pace = pace
        self._wanted: dict[int, tuple[Place, int, str]] = {}
        self._workers: dict[int, asyncio.Task[None]] = {}
        self._refused: set[int] = set()

    def offered(self, place: Place) -> bool:
        """Whether drafts work there, as far as is known."""
        return place.chat > 0 and place.chat not in self._refused

    def show(self, place: Place, draft: int, text: str) -> None:
        """Have this text stand in the draft soon."""
        if not text.strip() or not self.offered(place):
            return
        self._wanted[place.chat] = (place, draft, text[-TEXT_LIMIT // 2 :])
        if place.chat not in self._workers:
            self._workers[place.chat] = asyncio.create_task(self._work(place.chat), name=f"drafts {place.chat}")

    def forget(self, chat: int) -> None:
        """The message itself comes now."""
        self._wanted.pop(chat, None)

    async def close(self) -> None:
        """No more drafts."""
        workers = tuple(self._workers.values())
        for worker in workers:
            worker.cancel()
        if workers:
            await asyncio.wait(workers)

    async def _work(self, chat: int) -> None:
        try:
            while chat in self._wanted:
                place, draft, text = self._wanted.pop(chat)
                begun = time.monotonic()
                try:
                    await self._client.send_draft(chat, draft, text, topic=place.topic)
                except RetryAfter as problem:
                    await asyncio.sleep(problem.seconds)
                except BotRefused as problem:
                    log.info("no drafts in chat %s: %s", chat, problem)
                    self._refused.add(chat)
                    self._wanted.pop(chat, None)
                except BotError as problem:
                    log.info("a draft in chat %s is left out: %s", chat, problem)
                await asyncio.sleep(max(0.0, self._pace.draft_s - (time.monotonic() - begun)))
        finally:
            self._workers.pop(chat, None)
