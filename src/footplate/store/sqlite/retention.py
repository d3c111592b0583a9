"""Removing what may go, a bounded number of rows at a time."""

from __future__ import annotations

import sqlite3

from msgspec.structs import replace

from footplate.events.ids import SessionId
from footplate.store.sqlite.logs import hide
from footplate.store.sqlite.rows import marks
from footplate.store.sqlite.transaction import Transaction
from footplate.store.values import Retained, RetentionPolicy

FREE_PAGES = 256
"""Free pages up to here are left for the next writes."""
JOURNALS = 64
"""So many journals are looked at in one step."""
PURGED = "session IS NULL AND epoch >= 0"
"""Which logs are being removed; an unfinished import has no session either, and the epoch -1."""

CLOSED = """SELECT session FROM session_rows CROSS JOIN log_ends USING (log)
WHERE archived IN (0, 1) AND state = 'closed' AND updated_at < ?1 AND time < ?1 LIMIT 1"""
"""Which session to remove; `archived` is there for the index, which begins with it."""


class Step:
    """One step: a budget of rows, spent in turn on whatever may go."""

    def __init__(self, tx: Transaction, budget: int) -> None:
        self._tx = tx
        self._left = budget
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
            frames = self._remove("frames", "log = ?", num)
            self.done = replace(self.done, events=self.done.events + events, frames=self.done.frames + frames)
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
            hide(self._tx, SessionId(found[0]))
            self._left -= 1
            self.done = replace(self.done, sessions=self.done.sessions + 1)
            self._purge_logs()
        return False

    def _cut_frames(self, policy: RetentionPolicy) -> bool:
        rows = self._tx.connection.execute("SELECT id, time, total FROM frames ORDER BY id LIMIT ?", (self._left,))
        found = self._tx.connection.execute("SELECT total FROM frames ORDER BY id DESC LIMIT 1").fetchone()
        total = int(found[0]) if found else 0
        gone = self._outdated(rows, total, policy.frames_age_s, policy.frames_bytes)
        removed = self._remove("frames", "id <= ?", gone) if gone else 0
        self.done = replace(self.done, frames=self.done.frames + removed)
        return self._left > 0

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
            "SELECT number, time, total FROM entries WHERE journal = ? ORDER BY number LIMIT ?", (num, self._left)
        )
        found = self._tx.connection.execute(
            "SELECT total FROM entries WHERE journal = ? ORDER BY number DESC LIMIT 1", (num,)
        ).fetchone()
        total = int(found[0]) if found else 0
        gone = self._outdated(rows, total, policy.journal_age_s, policy.journal_bytes)
        if gone:
            self._tx.connection.execute("UPDATE journals SET cut = ? WHERE num = ?", (gone, num))
            removed = self._remove("entries", "journal = ? AND number <= ?", num, gone)
            self.done = replace(self.done, journal=self.done.journal + removed)

    def _outdated(self, rows: sqlite3.Cursor, total: int, age_s: float | None, size: int | None) -> int:
        """The last of the rows, oldest first, that is too old or too far back; 0 when none is. Looks no further."""
        now = self._tx.clock()
        gone = 0
        for place, time, sum_here in rows:
            old = age_s is not None and time < now - age_s
            far = size is not None and total - sum_here >= size
            if not (old or far):
                break
            gone = int(place)
        rows.close()
        return gone

    def _forget_messages(self, policy: RetentionPolicy) -> bool:
        if policy.queue_done_age_s is not None:
            removed = self._remove("messages", "done < ?", self._tx.clock() - policy.queue_done_age_s)
            self.done = replace(self.done, messages=removed)
        return self._left > 0

    def _remove(self, table: str, where: str, *values: float) -> int:
        """Remove rows as far as the budget goes; how many."""
        chosen = self._tx.connection.execute(
            f"SELECT rowid FROM {table} WHERE {where} LIMIT ?", (*values, max(0, self._left))
        ).fetchall()
        if chosen:
            self._tx.connection.execute(
                f"DELETE FROM {table} WHERE rowid IN ({marks(len(chosen))})", [row[0] for row in chosen]
            )
        self._left -= len(chosen)
        return len(chosen)

    def _vacuum(self) -> bool:
        """Give a few free pages at the end of the file back to the system."""
        (free,) = self._tx.connection.execute("PRAGMA freelist_count").fetchone()
        spare = int(free) - FREE_PAGES
        pages = max(0, min(spare, self._left))
        if pages:
            self._tx.connection.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()
            self.done = replace(self.done, pages=pages)
        return spare <= pages


def retain(tx: Transaction, policy: RetentionPolicy, budget: int) -> Retained:
    """One step of retention."""
    return Step(tx, budget).run(policy)


def purge(tx: Transaction, budget: int) -> bool:
    """Remove rows of deleted sessions and journals; True when none is left."""
    return Step(tx, budget).purge()
