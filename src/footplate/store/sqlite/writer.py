"""What writes: the orders of a moment are committed as one group, on the loop when they are few, else in a thread.

A commit of a few small appends takes less time than to wake a thread and be woken by it. It waits for no disk: what
does (a sync, folding the log into the file, a lock that a stranger has) is left to the threads.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from functools import partial
from queue import SimpleQueue
from typing import Final, TypeVar

from footplate.errors import StoreBusy, StoreClosed, StoreFailed
from footplate.store.bells import Bells
from footplate.store.sqlite.faults import repeat_fault, translate_fault
from footplate.store.sqlite.file import StoreFile
from footplate.store.sqlite.order import AnyOrder, Given, Order, post, settle_all
from footplate.store.sqlite.syncer import Syncer
from footplate.store.sqlite.transaction import Transaction

log = logging.getLogger(__name__)

T = TypeVar("T")
Orders = Sequence[AnyOrder[Transaction]]

GROUP: Final = 512
"""With so many orders a group is large enough: the first of them should not wait for ever."""

FEW: Final = 16
SMALL: Final = 64 * 1024
"""So many orders, of so many bytes together, are committed on the loop at most."""

QUIET_S: Final = 0.001
"""An order that comes so long after the one before is not left to wait for others, unless it waits for a sync."""

UNFOLDED: Final = 1024 * 1024
OVERHEAD: Final = 4096
"""After so many bytes committed on the loop, so many more for each commit, the thread has a turn: it folds the log."""


class Writer:
    """Takes orders on the loop, carries them out there or in its thread.

    `failed` is why nothing can be written now. When there was no space, SQLite has undone the group cleanly: each later
    group tries again. After any other failure of the file, and after a sync that failed, nothing more is written: the
    file may not be what we think it is, and only opening it again reads it anew.
    """

    def __init__(self, file: StoreFile, bells: Bells, clock: Callable[[], float], sync_period_s: float) -> None:
        self.failed: StoreFailed | None = None
        self.on_fault: Callable[[], None] = lambda: None
        """Called on the loop when nothing can be written from now on."""

        self._loop = asyncio.get_running_loop()
        self._file = file
        self._bells = bells
        self._gathered: list[AnyOrder[Transaction]] = []
        self._handed: SimpleQueue[list[AnyOrder[Transaction]] | None] = SimpleQueue()
        self._given = 0
        self._done = 0
        self._taken = 0
        self._unfolded = 0
        self._asked_at = 0.0
        self._transaction = Transaction(file.writer, clock)
        self._stopped: asyncio.Future[None] = self._loop.create_future()
        self._closing = False
        self._syncer = Syncer(self._loop, file.path, file.sync, self._fail, sync_period_s)
        self._thread = threading.Thread(target=self._run, name="footplate-store-write", daemon=True)
        self._thread.start()

    def write(
        self,
        action: Callable[[Transaction, *Given], T],
        *given: *Given,
        durable: bool = False,
        size: int | None = None,
    ) -> asyncio.Future[T]:
        """Order an action; done when it is committed, or synced too. `size`: about how much it writes, if known."""
        if self._closing:
            raise StoreClosed(str(self._file.path))
        future: asyncio.Future[T] = self._loop.create_future()
        order = Order(action, given, future, durable=durable, size=size)
        if self._gathered:
            self._gathered.append(order)
        elif durable or not (self._is_quiet() and self._may_write_here((order,)) and self._write_here((order,))):
            self._gathered.append(order)
            self._loop.call_soon(self._hand_over)
        return future

    def _is_quiet(self) -> bool:
        """Whether no other order is likely to come in this round of the loop, as none came lately."""
        before, self._asked_at = self._asked_at, self._loop.time()
        return self._asked_at - before > QUIET_S

    def _hand_over(self) -> None:
        """Carry out all that was ordered in this round of the loop as one group, or give it to the thread as one."""
        orders, self._gathered = self._gathered, []
        if orders and not (self._may_write_here(orders) and self._write_here(orders)):
            self._given += 1
            self._handed.put(orders)

    def _may_write_here(self, orders: Orders) -> bool:
        """Whether nobody else writes or syncs, and it is little."""
        if self._given != self._done or self._syncer.busy or self.failed is not None or len(orders) > FEW:
            return False
        size = 0
        for order in orders:
            if order.size is None:
                return False
            size += order.size
        self._unfolded += size + OVERHEAD
        return size <= SMALL and self._unfolded <= UNFOLDED

    def _write_here(self, orders: Orders) -> bool:
        """Whether it went well. If not, nothing was done: the thread may wait, and take the group apart."""
        try:
            ready, rung = self._attempt(orders)
        except Exception:  # noqa: BLE001 - the thread meets it again
            return False
        self._announce(ready, rung)
        return True

    async def stop(self) -> None:
        """Carry out what was ordered, sync it, and end."""
        if not self._closing:
            self._closing = True
            self._hand_over()
            self._handed.put(None)
        await asyncio.shield(self._stopped)
        self._thread.join()

    # ------------------------------------------------------------------------------------- in the thread

    def _run(self) -> None:
        try:
            while orders := self._take():
                self._write_at_leisure(orders)
                self._unfolded = 0
                self._done += self._taken
        finally:
            self._syncer.stop()
            post(self._loop, self._tell_stopped)

    def _tell_stopped(self) -> None:
        if not self._stopped.done():
            self._stopped.set_result(None)

    def _take(self) -> list[AnyOrder[Transaction]]:
        """What is ordered, at least one; nothing when it is time to end."""
        orders: list[AnyOrder[Transaction]] = []
        self._taken = 0
        while not orders or (len(orders) < GROUP and not self._handed.empty()):
            handed = self._handed.get()
            if handed is None:
                self._handed.put(None)  # for the next time
                break
            orders += handed
            self._taken += 1
        return orders

    def _write_at_leisure(self, orders: Orders) -> None:
        try:
            with self._file.at_leisure():
                self._write_group(orders)
        except sqlite3.Error as error:  # of folding: what was ordered is done
            fault = translate_fault(error, self._file.path)
            if isinstance(fault, StoreFailed):
                self._fail(fault)

    def _write_group(self, orders: Orders) -> None:
        if self.failed is not None and not self._recover():
            self._refuse(orders)
            return
        try:
            ready, rung = self._attempt(orders)
        except Exception as error:  # noqa: BLE001 - it is told to whom it concerns; the thread must go on
            fault = translate_fault(error, self._file.path)
            if isinstance(fault, StoreFailed):
                self._fail(fault)
                self._refuse(orders)
            elif len(orders) > 1 and not isinstance(fault, StoreBusy):
                for order in orders:  # one of them cannot be done; the others can
                    self._write_group((order,))
            else:
                for order in orders:
                    order.fail(fault)
                post(self._loop, partial(settle_all, orders))
        else:
            if ready or rung:
                post(self._loop, partial(self._announce, ready, rung))

    def _attempt(self, orders: Orders) -> tuple[Orders, list[str]]:
        """Commit them. The orders that are done with that, and the bells to ring; the others wait for a sync."""
        transaction = self._transaction
        try:
            transaction.begin()
            for order in orders:
                order.carry_out(transaction)
            transaction.commit()
        except BaseException:
            transaction.roll_back()
            raise
        waiting: list[AnyOrder[Transaction]] = []
        ready: list[AnyOrder[Transaction]] = []
        for order in orders:
            (waiting if order.durable and order.error is None else ready).append(order)
        self._syncer.committed(waiting)
        return ready, self._bells.heard(transaction.take_rung())

    def _announce(self, orders: Orders, rung: list[str]) -> None:
        settle_all(orders)
        self._bells.ring(rung)

    def _recover(self) -> bool:
        """Whether the file can be written again; a small write that reaches it must succeed first."""
        if self.failed is None or not self.failed.retryable:
            return False
        try:
            self._file.try_to_write()
        except sqlite3.Error as error:
            fault = translate_fault(error, self._file.path)
            if isinstance(fault, StoreFailed) and not fault.retryable:
                self.failed = fault
            return False
        self.failed = None
        log.warning("the store %s can be written again", self._file.path)
        return True

    def _refuse(self, orders: Orders) -> None:
        if self.failed is not None and orders:
            for order in orders:
                order.fail(repeat_fault(self.failed))
            post(self._loop, partial(settle_all, orders))

    def _fail(self, fault: StoreFailed) -> None:
        """The first fault is the one to tell, unless it may pass and this one does not."""
        if self.failed is None or (self.failed.retryable and not fault.retryable):
            self.failed = fault
            log.error("nothing can be stored: %s", fault)
            post(self._loop, self.on_fault)
