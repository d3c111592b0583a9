"""Live drafts: text as it is written, in private chats. Not kept, not owed; where it is refused, it is given up."""

from __future__ import annotations

import asyncio
import logging

from footplate.chat.model import Id, Place
from footplate.chat.transport import Transport
from footplate.errors import BotError, BotRefused, RetryAfter
from footplate.runtime.surroundings import Surroundings
from footplate.tasks import spawn

log = logging.getLogger(__name__)


class Drafts:
    """At most one call per chat at a time, the newest text only."""

    def __init__(self, transport: Transport, surroundings: Surroundings) -> None:
        self._transport = transport
        self._monotonic = surroundings.monotonic
        self._wanted: dict[Id, tuple[Place, int, str]] = {}
        self._workers: dict[Id, asyncio.Task[None]] = {}
        self._refused: set[Id] = set()

    def offered(self, place: Place) -> bool:
        """Whether drafts work there, as far as is known."""
        if not self._transport.capabilities.drafts or place.chat in self._refused:
            return False
        return self._transport.is_private(place.chat)

    def show(self, place: Place, draft: int, text: str) -> None:
        """Have this text stand in the draft soon."""
        if not text.strip() or not self.offered(place):
            return
        self._wanted[place.chat] = (place, draft, text[-self._transport.capabilities.text_limit // 2 :])
        if place.chat not in self._workers:
            self._workers[place.chat] = spawn(self._work(place.chat), name=f"drafts {place.chat}")

    def forget(self, chat: Id) -> None:
        """The message itself comes now."""
        self._wanted.pop(chat, None)

    async def close(self) -> None:
        """No more drafts."""
        workers = tuple(self._workers.values())
        for worker in workers:
            worker.cancel()
        if workers:
            await asyncio.wait(workers)

    async def _work(self, chat: Id) -> None:
        try:
            while chat in self._wanted:
                place, draft, text = self._wanted.pop(chat)
                begun = self._monotonic()
                try:
                    await self._transport.draft(place, draft, text)
                except RetryAfter as problem:
                    await asyncio.sleep(problem.seconds)
                except BotRefused as problem:
                    log.info("no drafts in chat %s: %s", chat, problem)
                    self._refused.add(chat)
                    self._wanted.pop(chat, None)
                except BotError as problem:
                    log.info("a draft in chat %s is left out: %s", chat, problem)
                await asyncio.sleep(max(0.0, self._transport.pace.draft_s - (self._monotonic() - begun)))
        finally:
            self._workers.pop(chat, None)
