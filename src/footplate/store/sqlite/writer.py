"""The one thread that writes: it takes what was ordered meanwhile and commits it as one group."""

from __future__ import annotations

import asyncio
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

T = TypeVar("T")
Orders = Sequence[AnyOrder[Transaction]]

GROUP: Final = 512
"""With so many orders a group is large enough: the first of them should not wait for ever."""


class Writer:
    """Takes orders on the loop, carries them out in its thread. Stops for good at the first failure of the file."""

    def __init__(self, file: StoreFile, bells: Bells, clock: Callable[[], float], sync_period_s: float) -> None:
        self.failed: StoreFailed | None = None
        self._loop = asyncio.get_running_loop()
        self._file = file
        self._bells = bells
        self._gathered: list[AnyOrder[Transaction]] = []
        self._handed: SimpleQueue[list[AnyOrder[Transaction]] | None] = SimpleQueue()
        self._transaction = Transaction(file.writer, clock)
        self._stopped: asyncio.Future[None] = self._loop.create_future()
        self._closing = False
        self._syncer = Syncer(self._loop, file.path, file.sync, self._fail, sync_period_s)
        self._thread = threading.Thread(target=self._run, name="footplate-store-write", daemon=True)
        self._thread.start()

    def write(
        self, action: Callable[[Transaction, *Given], T], *given: *Given, durable: bool = False
    ) -> asyncio.Future[T]:
        """Order an action; done when it is committed, or when it is synced too."""
        if self._closing:
            raise StoreClosed(str(self._file.path))
        future: asyncio.Future[T] = self._loop.create_future()
        if not self._gathered:
            self._loop.call_soon(self._hand_over)
        self._gathered.append(Order(action, given, future, durable=durable))
        return future

    def _hand_over(self) -> None:
        """Give the thread all that was ordered in this round of the loop: one wake-up, one group."""
        if self._gathered:
            self._handed.put(self._gathered)
            self._gathered = []

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
                self._write_group(orders)
        finally:
            self._syncer.stop()
            post(self._loop, self._tell_stopped)

    def _tell_stopped(self) -> None:
        if not self._stopped.done():
            self._stopped.set_result(None)

    def _take(self) -> list[AnyOrder[Transaction]]:
        """What is ordered, at least one; nothing when it is time to end."""
        orders: list[AnyOrder[Transaction]] = []
        while not orders or (len(orders) < GROUP and not self._handed.empty()):
            handed = self._handed.get()
            if handed is None:
                self._handed.put(None)  # for the next time
                break
            orders += handed
        return orders

    def _write_group(self, orders: Orders) -> None:
        if self.failed is not None:
            self._refuse(orders)
            return
        try:
            self._attempt(orders)
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

    def _attempt(self, orders: Orders) -> None:
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
        rung = self._bells.heard(transaction.take_rung())
        if ready or rung:
            post(self._loop, partial(self._announce, ready, rung))

    def _announce(self, orders: Orders, rung: list[str]) -> None:
        settle_all(orders)
        self._bells.ring(rung)

    def _refuse(self, orders: Orders) -> None:
        if self.failed is not None and orders:
            for order in orders:
                order.fail(repeat_fault(self.failed))
            post(self._loop, partial(settle_all, orders))

    def _fail(self, fault: StoreFailed) -> None:
        """The first fault is the one to tell."""
        if self.failed is None:
            self.failed = fault
