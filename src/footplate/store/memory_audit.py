"""The audit log in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from footplate.store.base import BUDGET, READ_LIMIT
from footplate.store.bells import AUDIT_BELL, Bells
from footplate.store.chain import AuditHead, AuditRow, link
from footplate.store.entries import check_limit, check_range


class MemoryAudit:
    """The audit log of one store. `now` refuses once the store is closed."""

    def __init__(self, now: Callable[[], float], bells: Bells) -> None:
        self._now = now
        self._bells = bells
        self._rows: list[AuditRow] = []
        self._times: list[float] = []
        self._removed = 0

    def add(self, records: Sequence[bytes]) -> AuditHead:
        """Add records in order; the newest."""
        head = self._rows[-1].head if self._rows else AuditHead()
        for record in records:
            self._times.append(self._now())
            self._rows.append(link(head, record))
            head = self._rows[-1].head
        if records:
            self._bells.ring((AUDIT_BELL,))
        return head

    async def append(self, records: Sequence[bytes]) -> AuditHead:
        """Add records in order; the newest."""
        self._now()
        head = self.add(records)
        await asyncio.sleep(0)
        return head

    async def head(self) -> AuditHead:
        """The newest record."""
        self._now()
        return self._rows[-1].head if self._rows else AuditHead()

    async def wait(self, after: int) -> AuditHead:
        """Wait until there is a record after that number; the newest then."""
        while True:
            with self._bells.listen(AUDIT_BELL) as bell:
                head = await self.head()
                if head.number > after:
                    return head
                await bell

    async def read(self, after: int = 0, limit: int = READ_LIMIT) -> list[AuditRow]:
        """The records after a number."""
        check_range(after, limit)
        self._now()
        first = max(after - self._removed, 0)
        return self._rows[first : first + limit]

    async def find_last(self, before: float) -> AuditRow | None:
        """The last record that was written before that time."""
        self._now()
        older = next((place for place, time in enumerate(self._times) if time >= before), len(self._times))
        return self._rows[older - 1] if older else None

    async def cut(self, through: int, budget: int = BUDGET) -> int:
        """Remove the oldest records, up to that number and at most `budget`; how many."""
        check_limit(budget)
        self._now()
        count = max(min(through - self._removed, len(self._rows) - 1, budget), 0)
        del self._rows[:count], self._times[:count]
        self._removed += count
        return count
