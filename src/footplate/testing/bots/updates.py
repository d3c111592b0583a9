"""The updates that wait for a bot, and who polls for them."""

from __future__ import annotations

import asyncio
import time

from footplate.testing.bots.faults import Refusal


class Updates:
    """The updates of one bot: kept until a poll asks for later ones; of two pollers the older is sent away."""

    def __init__(self) -> None:
        self._waiting: list[dict[str, object]] = []
        self._number = 1000
        self._bell = asyncio.Condition()
        self._poll = 0

    @property
    def polls(self) -> int:
        """How many polls have begun."""
        return self._poll

    @property
    def unread(self) -> int:
        """How many nobody has confirmed."""
        return len(self._waiting)

    async def push(self, kind: str, body: dict[str, object]) -> int:
        """One more update; its number."""
        async with self._bell:
            self._number += 1
            self._waiting.append({"update_id": self._number, kind: body})
            self._bell.notify_all()
            return self._number

    async def repeat(self, number: int, kind: str, body: dict[str, object]) -> None:
        """The same update again."""
        async with self._bell:
            self._waiting.append({"update_id": number, kind: body})
            self._bell.notify_all()

    async def poll(self, *, offset: int | None, limit: int, timeout_s: float) -> list[dict[str, object]]:
        """What waits from that number on; older ones are forgotten. Waits up to the timeout."""
        async with self._bell:
            self._poll += 1
            mine = self._poll
            self._bell.notify_all()
            self._forget(offset)
            deadline = time.monotonic() + timeout_s
            while not self._waiting:
                rest = deadline - time.monotonic()
                if rest <= 0:
                    break
                try:
                    async with asyncio.timeout(rest):
                        await self._bell.wait()
                except TimeoutError:
                    break
                if self._poll != mine:
                    words = (
                        "Conflict: terminated by other getUpdates request; make sure only one bot instance is running"
                    )
                    raise Refusal(409, words)
            return self._waiting[:limit]

    def _forget(self, offset: int | None) -> None:
        if offset is None:
            return
        if offset < 0:
            self._waiting = self._waiting[offset:]
        else:
            self._waiting = [each for each in self._waiting if int(str(each["update_id"])) >= offset]
