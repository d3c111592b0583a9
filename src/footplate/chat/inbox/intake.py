"""Hands out updates: those of one chat strictly one after the other, presses of buttons beside them."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from footplate.chat.inbox.letters import Letters
from footplate.chat.model import Id, Update
from footplate.tasks import spawn

log = logging.getLogger(__name__)
Handler = Callable[[list[Update]], Coroutine[Any, Any, None]]
"""Deals with an update, and with those behind it that belong to it."""
Joins = Callable[[Update, Update], bool]
Lane = tuple[Id, Id, bool]


class Intake:
    """One task per chat (and topic) that has something to do. Nobody waits for another chat."""

    def __init__(self, letters: Letters, handle: Handler, joins: Joins = lambda _first, _following: False) -> None:
        self._letters = letters
        self._handle = handle
        self._joins = joins
        self._waiting: dict[Lane, deque[Update]] = {}
        self._workers: dict[Lane, asyncio.Task[None]] = {}

    def give(self, updates: list[Update]) -> None:
        """Have them dealt with."""
        for update in updates:
            lane = lane_of(update)
            self._waiting.setdefault(lane, deque()).append(update)
            if lane not in self._workers:
                self._workers[lane] = spawn(self._work(lane), name=f"chat inbox {lane}")

    async def stop(self, patience_s: float) -> None:
        """Let what is being dealt with come to an end; the rest is kept for the next start."""
        for waiting in self._waiting.values():
            waiting.clear()
        workers = tuple(self._workers.values())
        if workers:
            _, left = await asyncio.wait(workers, timeout=patience_s)
            for worker in left:
                worker.cancel()
            if left:
                await asyncio.wait(left)

    async def _work(self, lane: Lane) -> None:
        waiting = self._waiting[lane]
        try:
            while waiting:
                updates = [waiting.popleft()]
                while waiting and self._joins(updates[0], waiting[0]):
                    updates.append(waiting.popleft())
                await self._deal_with(updates)
        finally:
            self._workers.pop(lane, None)
            if not waiting:
                self._waiting.pop(lane, None)

    async def _deal_with(self, updates: list[Update]) -> None:
        """An update that cannot be dealt with is told in the log, and does not stand in the way of the next."""
        task = spawn(self._handle(updates), name=f"chat update {updates[0].update_id}", awaited=True)
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait((task,))
            raise
        problem = task.exception()
        if problem is not None:
            log.error("update %s failed", updates[0].update_id, exc_info=problem)
        for update in updates:
            await self._letters.done(update)


def lane_of(update: Update) -> Lane:
    """What must keep its order: the messages of a chat and topic; presses stand beside them."""
    if update.message is not None:
        return (update.message.chat.id, update.message.topic or 0, False)
    pressed = update.callback_query
    message = pressed.message if pressed is not None else None
    return (message.chat.id if message is not None else 0, 0, True)
