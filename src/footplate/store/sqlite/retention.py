"""Removing what may go, a bounded number of rows and bytes at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from footplate.events.ids import SessionId
from footplate.store.projection import SessionRow
from footplate.store.sqlite.heads import load_index
from footplate.store.sqlite.logs import hide
from footplate.store.sqlite.rows import marks
from footplate.store.sqlite.transaction import Transaction
from footplate.store.values import Retained, RetentionPolicy

RecordDeletion = Callable[[SessionRow], bytes]
FREE_PAGES = 256
"""Free pages up to here are left for the next writes."""
JOURNALS = 64
"""So many journals are looked at in one step."""
ROW_BYTES = 4096
"""A row counts once more for each of these bytes: all its pages are put on the list of free pages."""
LAST = 2**63 - 1
"""No row has a higher id."""
PURGED = "session IS NULL AND epoch >= 0"
"""Which logs are being removed; an unfinished import has no session either, and the epoch -1."""

CLOSED = """SELECT session, log FROM session_rows CROSS JOIN log_ends USING (log)
WHERE archived IN (0, 1) AND state = 'closed' AND updated_at < ?1 AND time < ?1 LIMIT 1"""
"""Which session to remove; `archived` is there for the index, which begins with it."""


class Block(msgspec.Struct, frozen=True, gc=False):
    """A block of raw lines that may be removed."""

    id: int
    time: float
    size: int
    lines: int

    @property
    def cost(self) -> int:
        """What removing it takes of the budget."""
        return cost_of(self.size)


class Dated(msgspec.Struct, frozen=True, gc=False):
    """How old the blocks of raw lines up to this one are."""

    id: int
    time: float


def cost_of(size: int) -> int:
    """What removing a row of this size takes of the budget."""
    return 1 + size // ROW_BYTES


def choose_rows(rows: sqlite3.Cursor, budget: int) -> tuple[list[int], int]:
    """The first ids of `rows` (id, size) as far as the budget goes, and what is left of it."""
    chosen: list[int] = []
    for row, size in rows:
        if budget <= 0:
            break
        chosen.append(row)
        budget -= cost_of(size)
    rows.close()
    return chosen, budget


class Step:
    """One step: a budget of rows, spent in turn on whatever may go."""

    def __init__(self, tx: Transaction, budget: int, record: RecordDeletion | None = None) -> None:
        self._tx = tx
        self._left = budget
        self._record = record
        self.done = Retained()

    def run(self, policy: RetentionPolicy) -> Retained:
        """Do as much as the budget allows."""
        self._tx.flush()
        whole = (
            self.purge(),
            self._close_sessions(policy),
            self._cut_frames(policy),
            self._cut_journals(policy),
            self._forget_messages(policy),
            self._vacuum(),
        )
        return replace(self.done, more=not all(whole))

    def purge(self) -> bool:
        """Remove the rows of sessions and journals that were deleted; True when none is left."""
        return self._purge_logs() and self._purge_journals()

    def _purge_journals(self) -> bool:
        while self._left > 0:
            found = self._tx.connection.execute("SELECT num FROM journals_gone LIMIT 1").fetchone()
            if found is None:
                return True
            removed = self._remove("entries", "journal = ?", found[0])
            self.done = replace(self.done, journal=self.done.journal + removed)
            if self._left > 0:
                self._tx.connection.execute("DELETE FROM journals_gone WHERE num = ?", found)
        return False

    def _purge_logs(self) -> bool:
        while self._left > 0:
            found = self._tx.connection.execute(f"SELECT num FROM logs WHERE {PURGED} LIMIT 1").fetchone()
            if found is None:
                return True
            num = int(found[0])
            events = self._remove("events", "log = ?", num)
            self.done = replace(self.done, events=self.done.events + events)
            self._remove_blocks(self._blocks("WHERE log = ?", num))
            if self._left > 0:
                self._tx.connection.execute("DELETE FROM logs WHERE num = ?", (num,))
        return False

    def _close_sessions(self, policy: RetentionPolicy) -> bool:
        if policy.closed_sessions_age_s is None:
            return True
        before = self._tx.clock() - policy.closed_sessions_age_s
        while self._left > 0:
            found = self._tx.connection.execute(
                CLOSED,
                (before,),
            ).fetchone()
            if found is None:
                return True
            session, num = SessionId(found[0]), int(found[1])
            if self._record is not None:
                self._tx.add_records([self._record(load_index(self._tx.connection, num, session).session)])
            hide(self._tx, session)
            self._left -= 1
            self.done = replace(self.done, sessions=self.done.sessions + 1)
            self._purge_logs()
        return False

    def _cut_frames(self, policy: RetentionPolicy) -> bool:
        """Remove the oldest raw lines of all sessions. A block goes when its last line is too old."""
        now = self._tx.clock()
        too_old = now - (policy.frames_age_s or 0.0)
        size = self._frames_size()
        dated = Dated(0, 0.0)
        blocks: list[Block] = []
        for block in self._blocks("ORDER BY id"):
            if block.id > dated.id:
                dated = Dated(block.id, block.time) if block.time <= now else self._dated_after(block, now)
            old = policy.frames_age_s is not None and dated.time < too_old
            excess = policy.frames_bytes is not None and size > policy.frames_bytes
            if not (old or excess):
                break
            blocks.append(block)
            size -= block.size
        self._remove_blocks(blocks)
        return self._left > 0

    def _dated_after(self, block: Block, now: float) -> Dated:
        """The next block that the clock was right for: one from the future is as old as that, and must not stop it."""
        found = self._tx.connection.execute(
            "SELECT id, time FROM frame_blocks WHERE id > ? AND time <= ? ORDER BY id LIMIT 1", (block.id, now)
        ).fetchone()
        return Dated(*found) if found is not None else Dated(LAST, now)

    def _frames_size(self) -> int:
        if self._tx.frames_size is None:
            (size,) = self._tx.connection.execute("SELECT coalesce(sum(size), 0) FROM frame_blocks").fetchone()
            self._tx.frames_size = int(size)
        return self._tx.frames_size

    def _blocks(self, which: str, *values: int) -> list[Block]:
        """Blocks of raw lines, as many as the budget allows to remove; a large block counts as several rows."""
        blocks: list[Block] = []
        cost = 0
        query = f"SELECT id, time, size, last - first + 1 FROM frame_blocks {which}"
        for row in self._tx.connection.execute(query, values):
            if cost >= self._left:
                break
            blocks.append(block := Block(*row))
            cost += block.cost
        return blocks

    def _remove_blocks(self, blocks: list[Block]) -> None:
        for block in blocks:
            self._tx.connection.execute("DELETE FROM frame_blocks WHERE id = ?", (block.id,))
            self._left -= block.cost
            self.done = replace(self.done, frames=self.done.frames + block.lines)
            if self._tx.frames_size is not None:
                self._tx.frames_size -= block.size

    def _cut_journals(self, policy: RetentionPolicy) -> bool:
        """Look at some journals, and at the next ones in the next step."""
        journals = self._tx.connection.execute(
            "SELECT num FROM journals WHERE num > ? ORDER BY num LIMIT ?", (self._tx.swept_journal, JOURNALS)
        ).fetchall()
        for (num,) in journals:
            if self._left <= 0:
                return False
            self._cut_journal(num, policy)
            if self._left > 0:
                self._tx.swept_journal = num
        if len(journals) == JOURNALS:
            return False
        self._tx.swept_journal = 0
        return self._left > 0

    def _cut_journal(self, num: int, policy: RetentionPolicy) -> None:
        rows = self._tx.connection.execute(
            "SELECT number, time, total, length(body) FROM entries WHERE journal = ? ORDER BY number", (num,)
        )
        found = self._tx.connection.execute(
            "SELECT total FROM entries WHERE journal = ? ORDER BY number DESC LIMIT 1", (num,)
        ).fetchone()
        total = int(found[0]) if found else 0
        gone = self._outdated(rows, total, policy.journal_age_s, policy.journal_bytes)
        if gone:
            self._tx.connection.execute("UPDATE journals SET cut = ? WHERE num = ?", (gone[-1], num))
            self._tx.connection.execute("DELETE FROM entries WHERE journal = ? AND number <= ?", (num, gone[-1]))
            self.done = replace(self.done, journal=self.done.journal + len(gone))

    def _outdated(self, rows: sqlite3.Cursor, total: int, age_s: float | None, size: int | None) -> list[int]:
        """The entries, oldest first, that are too old or too far back, as far as the budget goes. Looks no further."""
        now = self._tx.clock()
        gone: list[int] = []
        for place, time, sum_here, length in rows:
            old = age_s is not None and time < now - age_s
            far = size is not None and total - sum_here >= size
            if self._left <= 0 or not (old or far):
                break
            gone.append(int(place))
            self._left -= cost_of(length)
        rows.close()
        return gone

    def _forget_messages(self, policy: RetentionPolicy) -> bool:
        if policy.queue_done_age_s is not None:
            removed = self._remove("messages", "done < ?", self._tx.clock() - policy.queue_done_age_s)
            self.done = replace(self.done, messages=removed)
        return self._left > 0

    def _remove(self, table: str, where: str, *values: float) -> int:
        """Remove rows as far as the budget goes; how many."""
        rows = self._tx.connection.execute(f"SELECT rowid, length(body) FROM {table} WHERE {where}", values)
        chosen, self._left = choose_rows(rows, self._left)
        if chosen:
            self._tx.connection.execute(f"DELETE FROM {table} WHERE rowid IN ({marks(len(chosen))})", chosen)
        return len(chosen)

    def _vacuum(self) -> bool:
        """Give a few free pages at the end of the file back to the system."""
        (free,) = self._tx.connection.execute("PRAGMA freelist_count").fetchone()
        spare = int(free) - FREE_PAGES
        pages = max(0, min(spare, self._left))
        for _ in range(pages):
            # However many are asked for, Python steps the statement once, and each step frees one page.
            self._tx.connection.execute("PRAGMA incremental_vacuum(1)")
        self.done = replace(self.done, pages=pages)
        return spare <= pages


def retain(tx: Transaction, policy: RetentionPolicy, budget: int, record: RecordDeletion | None = None) -> Retained:
    """One step of retention."""
    return Step(tx, budget, record).run(policy)


def purge(tx: Transaction, budget: int) -> bool:
    """Remove rows of deleted sessions and journals; True when none is left."""
    return Step(tx, budget).purge()
