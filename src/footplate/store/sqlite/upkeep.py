"""Background work that keeps lists and searches cheap: the full-text index, and the order of the lists.

An append only notes which logs are ahead of them (`search_due`, `unsettled`). `Upkeep` catches up in small steps
between other writes, also after a restart. Lists and searches are right at any time: they read what is ahead as well.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from footplate.errors import StoreClosed, StoreError
from footplate.store.sqlite.rows import marks
from footplate.store.sqlite.transaction import Transaction
from footplate.store.sqlite.writer import Writer
from footplate.tasks import spawn

STEP: Final = 100
DELAY_S: Final = 2.0
PAUSE_S: Final = 0.02
QUIET_S: Final = 10.0
"""A log that had an event since then will soon have another, and is left unsettled."""

log = logging.getLogger(__name__)


def index_step(tx: Transaction) -> bool:
    """Bring a few logs up to date in the full-text index; False when none is due."""
    tx.flush()
    due = [int(num) for (num,) in tx.connection.execute("SELECT log FROM search_due LIMIT ?", (STEP,))]
    if due:
        some = marks(len(due))
        tx.connection.execute(f"DELETE FROM search WHERE rowid IN ({some})", due)
        tx.connection.execute(
            f"INSERT INTO search (rowid, text) SELECT log, text FROM session_rows WHERE log IN ({some})", due
        )
        tx.connection.execute(f"DELETE FROM search_due WHERE log IN ({some})", due)
    return bool(due)


def settle_step(tx: Transaction) -> bool:
    """Bring `updated_at`, by which lists are ordered, up to date for a few quiet logs; False when none is left."""
    tx.flush()  # an append of the same group may have made a log unquiet
    quiet = tx.connection.execute(
        "SELECT log, time FROM unsettled JOIN log_ends USING (log) WHERE time < ? LIMIT ?", (tx.clock() - QUIET_S, STEP)
    ).fetchall()
    for num, time in quiet:
        tx.connection.execute("UPDATE session_rows SET updated_at = ? WHERE log = ?", (time, num))
    settled = [int(num) for num, _ in quiet]
    tx.connection.execute(f"DELETE FROM unsettled WHERE log IN ({marks(len(settled))})", settled)
    tx.heads.settle(settled)
    return bool(quiet)


class Upkeep:
    """The task that catches up some time after each change. `wake` says that there was one."""

    def __init__(self, writer: Writer, *, has_index: bool) -> None:
        self._writer = writer
        self._steps = (index_step, settle_step) if has_index else (settle_step,)
        self._changed = asyncio.Event()
        self._changed.set()  # what an earlier process left
        self._task = spawn(self._run(), name="footplate-store-upkeep")

    def wake(self) -> None:
        """A log or a row has changed."""
        if not self._changed.is_set():
            self._changed.set()

    async def stop(self) -> None:
        """End; what is left is done by the next process."""
        self._task.cancel()
        await asyncio.wait((self._task,))

    async def _run(self) -> None:
        while True:
            await self._changed.wait()
            await asyncio.sleep(DELAY_S)
            self._changed.clear()
            try:
                await self.catch_up()
            except StoreClosed:
                return
            except StoreError as problem:
                if not problem.retryable:
                    log.error("lists and searches are no longer indexed: %s", problem)  # noqa: TRY400
                    return
                self._changed.set()  # trying again also finds out that there is space when nothing else is written
            except Exception:
                log.exception("lists and searches could not be indexed; tried again with the next change")

    async def catch_up(self) -> None:
        """Do all that is due now, in small steps."""
        for step in self._steps:
            while await self._writer.write(step):  # noqa: ASYNC110 - a pause for other writers, not a wait
                await asyncio.sleep(PAUSE_S)
