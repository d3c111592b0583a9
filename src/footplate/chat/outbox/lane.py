"""One chat's worker: takes its steps one at a time, as fast as its bucket allows, and knows how to wait."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from footplate.chat.model import Content, Id
from footplate.chat.outbox.buckets import RESERVE, Bucket, Pace, chat_bucket
from footplate.chat.outbox.delivery import Delivery
from footplate.chat.outbox.shelf import Shelf
from footplate.chat.outbox.slots import Slot, Step, choose_step, next_operation
from footplate.errors import BotUnreachable, ChatMigrated, RetryAfter
from footplate.runtime.surroundings import Surroundings
from footplate.tasks import spawn

log = logging.getLogger(__name__)
DONE: Final = ("shown", "gone", "failed")


class Tools:
    """What all lanes share."""

    def __init__(self, delivery: Delivery, shelf: Shelf, pace: Pace, surroundings: Surroundings) -> None:
        self.delivery = delivery
        self.shelf = shelf
        self.pace = pace
        self.monotonic = surroundings.monotonic
        self.overall = Bucket(pace.overall_per_s, pace.overall_per_s)
        self.migrated: Callable[[Id, Id], None] = lambda _old, _new: None


class Lane:
    """The slots of one chat that have something to do."""

    def __init__(self, chat: Id, tools: Tools, *, private: bool) -> None:
        self.chat = chat
        self.slots: dict[str, Slot] = {}
        self._tools = tools
        self._bucket = chat_bucket(tools.pace, private=private)
        self._not_before = 0.0
        self._trouble = 0
        self._bell = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Look again at what is to be done."""
        self._bell.set()
        if self._worker is None or self._worker.done():
            self._worker = spawn(self._work(), name=f"chat {self.chat}")

    @property
    def idle(self) -> bool:
        """Whether nothing is left to do."""
        return self._worker is None or self._worker.done()

    async def stop(self) -> None:
        """Leave the rest to the next start."""
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.wait((self._worker,))

    async def _work(self) -> None:
        while (step := choose_step(self.slots.values(), self._is_shown)) is not None:
            now = self._tools.monotonic()
            wait = max(self._not_before - now, self._wait(step, now))
            if wait > 0:
                await self._pause(wait)
                continue
            if step.operation != "delete":
                self._bucket.take(now)
                self._tools.overall.take(now)
            await self._take(self._without_edits(step))

    def _without_edits(self, step: Step) -> Step:
        """Where no message can be changed, other content is said anew."""
        if step.operation != "edit" or self._tools.delivery.edits:
            return step
        step.slot.state = "new"
        return Step(step.slot, "send")

    def _wait(self, step: Step, now: float) -> float:
        if step.operation == "delete":
            return 0.0
        reserve = 0.0 if step.slot.urgent or step.operation in ("send", "probe") else RESERVE
        return max(self._bucket.wait(now, reserve=reserve), self._tools.overall.wait(now))

    async def _pause(self, seconds: float) -> None:
        """Wait, but not longer than until something new is wanted: it may be more urgent."""
        self._bell.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):  # wait_for may swallow a cancel
                await self._bell.wait()

    async def _take(self, step: Step) -> None:
        slot = step.slot
        try:
            await self._carry_out(step)
        except RetryAfter as problem:
            if slot.state == "sending" and step.operation == "send":
                slot.state, slot.shown = "new", None
            self._not_before = self._tools.monotonic() + problem.seconds
        except ChatMigrated as problem:
            slot.state = "new" if step.operation == "send" else slot.state
            self._tools.migrated(self.chat, problem.chat)
            return
        except BotUnreachable as problem:
            self._struck(step, problem)
        else:
            self._trouble = 0
        if next_operation(slot) != "edit" or slot.urgent:
            await self._tools.shelf.keep(slot)
        if slot.state in DONE and next_operation(slot) is None:
            self.slots.pop(slot.key, None)

    async def _carry_out(self, step: Step) -> None:
        slot, tools = step.slot, self._tools
        match step.operation:
            case "send":
                tools.delivery.begin(slot, "send")
                await tools.shelf.keep(slot)
                await tools.delivery.send(slot, slot.shown or _nothing())
                await tools.shelf.remember(slot)
            case "probe":
                await tools.delivery.probe(slot)
                await tools.shelf.remember(slot)
            case "edit":
                await tools.delivery.edit(slot, slot.wanted or _nothing())
            case "delete":
                await tools.delivery.delete(slot)

    def _struck(self, step: Step, problem: BotUnreachable) -> None:
        """No answer: what surely was not done is done again, the rest is looked for first."""
        log.warning("chat %s: %s", self.chat, problem)
        pace = self._tools.pace
        backoff = min(pace.retry_s * 2**self._trouble, pace.longest_retry_s)
        self._trouble += 1
        if step.operation == "send" and problem.certain:
            step.slot.state, step.slot.shown = "new", None
        settle = pace.settle_s if step.operation == "send" and not problem.certain else 0.0
        self._not_before = self._tools.monotonic() + max(backoff if self._trouble > 1 or not settle else settle, settle)

    def _is_shown(self, key: str) -> bool:
        """Whether a slot is on the screen, or never will be."""
        slot = self.slots.get(key)
        return slot is None or slot.state in DONE


def _nothing() -> Content:
    raise RuntimeError("a slot without content was chosen")
