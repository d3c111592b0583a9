"""Journals in memory."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from itertools import islice

from footplate.errors import CursorLost
from footplate.store.base import READ_LIMIT
from footplate.store.bells import Bells, journal_bell
from footplate.store.entries import check_range
from footplate.store.follow import follow_pages
from footplate.store.values import JournalEntry, JournalPage, JournalRow, RetentionPolicy


class Sheets:
    """What is kept of one journal."""

    def __init__(self) -> None:
        self.entries: deque[JournalEntry] = deque()
        self.cut = 0
        self.size = 0

    @property
    def last(self) -> int:
        """The number of the last entry there ever was."""
        return self.entries[-1].number if self.entries else self.cut

    def row(self, name: str) -> JournalRow:
        """What a list tells."""
        return JournalRow(name=name, last=self.last, time=self.entries[-1].time if self.entries else None)

    def add(self, time: float, body: bytes) -> None:
        """Write down the next entry."""
        self.entries.append(JournalEntry(self.last + 1, time, body))
        self.size += len(body)

    def cut_old(self, policy: RetentionPolicy, now: float, budget: int) -> int:
        """Remove entries that are too old or too many, oldest first; how many."""
        removed = 0
        while self.entries and removed < budget:
            first = self.entries[0]
            old = policy.journal_age_s is not None and first.time < now - policy.journal_age_s
            far = policy.journal_bytes is not None and self.size - len(first.body) >= policy.journal_bytes
            if not (old or far):
                break
            self.entries.popleft()
            self.cut, self.size, removed = first.number, self.size - len(first.body), removed + 1
        return removed


class MemoryJournal:
    """One journal, by its name."""

    def __init__(
        self, name: str, journals: Callable[[], dict[str, Sheets]], bells: Bells, clock: Callable[[], float]
    ) -> None:
        self._name = name
        self._journals = journals
        self._bells = bells
        self._clock = clock

    async def append(self, bodies: Sequence[bytes], *, durable: bool = False) -> int:
        """Write them down in order; the number of the last."""
        sheets = self._journals().setdefault(self._name, Sheets())
        for body in bodies:
            sheets.add(self._clock(), body)
        last = sheets.last
        self._bells.ring((journal_bell(self._name),))
        await asyncio.sleep(0)
        return last

    async def read(self, after: int = 0, limit: int = READ_LIMIT) -> JournalPage:
        """The entries after a number, and which of those asked for are lost."""
        check_range(after, limit)
        sheets = self._journals().get(self._name, Sheets())
        if after > sheets.last:
            raise CursorLost(f"journal {self._name}", after, sheets.last, 0)
        start = max(0, after - sheets.cut)
        return JournalPage(
            entries=tuple(islice(sheets.entries, start, start + limit)),
            last=sheets.last,
            lost=(after + 1, sheets.cut) if sheets.cut > after else None,
        )

    async def tail(self, after: int = 0, limit: int = READ_LIMIT) -> AsyncGenerator[JournalPage, None]:
        """The entries after a number, and then new ones as they come."""
        check_range(after, limit)
        key = journal_bell(self._name)
        async for page in follow_pages(self._bells, key, after, lambda at: self.read(at, limit)):
            yield page

    async def delete(self) -> None:
        """Forget the journal."""
        self._journals().pop(self._name, None)
        self._bells.ring((journal_bell(self._name),))
