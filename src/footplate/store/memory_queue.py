"""Queues in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import msgspec

from footplate.store.bells import Bells, queue_bell
from footplate.store.entries import check_limit
from footplate.store.follow import wait_for_messages
from footplate.store.values import Message, Put


class Waiting(msgspec.Struct):
    """A message as its queue holds it. `done` is when that was."""

    message: Message
    due: float
    done: float | None = None


class Line:
    """What is kept of one queue, in order of arrival, and the keys that are known."""

    def __init__(self) -> None:
        self.waiting: dict[int, Waiting] = {}
        self.keys: dict[str, int] = {}

    def heads(self) -> Iterator[Waiting]:
        """Those that are not done and not behind another of their lane."""
        lanes: set[str] = set()
        for held in self.waiting.values():
            if held.done is not None or held.message.lane in lanes:
                continue
            if held.message.lane:
                lanes.add(held.message.lane)
            yield held

    def forget(self, before: float, budget: int) -> int:
        """Remove messages that were done before that time; how many."""
        old = [held.message for held in self.waiting.values() if held.done is not None and held.done < before]
        for message in old[:budget]:
            del self.waiting[message.id]
            if message.key is not None:
                del self.keys[message.key]
        return len(old[:budget])


class MemoryQueue:
    """The queue of one namespace."""

    def __init__(
        self, namespace: str, line: Line, ids: Iterator[int], clock: Callable[[], float], bells: Bells
    ) -> None:
        self._bell = queue_bell(namespace)
        self._line = line
        self._ids = ids
        self._clock = clock
        self._bells = bells

    async def put(
        self, body: bytes, *, key: str | None = None, lane: str = "", delay_s: float = 0.0, durable: bool = True
    ) -> Put:
        """Add a message, unless its key is known."""
        if key is not None and key in self._line.keys:
            return Put(self._line.keys[key], added=False)
        message = Message(id=next(self._ids), body=body, attempts=0, key=key, lane=lane)
        self._line.waiting[message.id] = Waiting(message, self._clock() + delay_s)
        if key is not None:
            self._line.keys[key] = message.id
        self._bells.ring((self._bell,))
        await asyncio.sleep(0)
        return Put(message.id, added=True)

    async def claim(self, limit: int = 1, *, visibility_s: float = 30.0) -> list[Message]:
        """Hand out what is due, oldest first."""
        check_limit(limit)
        now = self._clock()
        claimed: list[Message] = []
        for held in self._line.heads():
            if held.due <= now and len(claimed) < limit:
                held.message = msgspec.structs.replace(held.message, attempts=held.message.attempts + 1)
                held.due = now + visibility_s
                claimed.append(held.message)
        return claimed

    async def take(self, limit: int = 1, *, visibility_s: float = 30.0) -> list[Message]:
        """As `claim`, and wait until there is at least one."""
        return await wait_for_messages(
            self._bells, self._bell, lambda: self.claim(limit, visibility_s=visibility_s), self._next_due_s
        )

    async def ack(self, message: Message, *, durable: bool = True) -> bool:
        """It is done."""
        held = self._mine(message)
        if held is None:
            return False
        if message.key is None:
            del self._line.waiting[message.id]
        else:
            held.done = self._clock()
        self._bells.ring((self._bell,))
        return True

    async def nack(self, message: Message, *, delay_s: float = 0.0) -> bool:
        """It is not done: hand it out again after the delay."""
        held = self._mine(message)
        if held is None:
            return False
        held.due = self._clock() + delay_s
        self._bells.ring((self._bell,))
        return True

    async def size(self) -> int:
        """How many are not done."""
        return sum(held.done is None for held in self._line.waiting.values())

    async def _next_due_s(self) -> float | None:
        due = min((held.due for held in self._line.heads()), default=None)
        return None if due is None else max(0.0, due - self._clock())

    def _mine(self, message: Message) -> Waiting | None:
        held = self._line.waiting.get(message.id)
        if held is None or held.done is not None or held.message.attempts != message.attempts:
            return None
        return held
