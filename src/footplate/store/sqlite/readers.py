"""A few threads that read, each on a connection of its own: reading waits for no writing, the loop for no disk."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Final, TypeVar

from footplate.errors import StoreClosed, StoreCorrupt
from footplate.store.sqlite.faults import translate_fault
from footplate.store.sqlite.file import StoreFile
from footplate.store.sqlite.order import AnyOrder, Given, Order, Outbox, post

T = TypeVar("T")

STEPS: Final = 50_000
"""After so many steps of its virtual machine (a few ms) SQLite asks whether the caller still waits."""


class Readers:
    """At most so many threads; each is started when it is needed first and stays.

    A read whose caller is cancelled is not begun, or ends after a few more steps of SQLite.
    """

    def __init__(self, file: StoreFile, threads: int) -> None:
        self._file = file
        self._most = threads
        self._loop = asyncio.get_running_loop()
        self._orders: SimpleQueue[AnyOrder[sqlite3.Connection] | None] = SimpleQueue()
        self._outbox: Outbox[sqlite3.Connection] = Outbox(self._loop, self._count_done)
        self._threads: list[threading.Thread] = []
        self._busy = 0
        self._closing = False
        self._ended = 0
        self._all_ended: asyncio.Future[None] = self._loop.create_future()

    async def read(self, action: Callable[[sqlite3.Connection, *Given], T], *given: *Given) -> T:
        """Carry out something that only reads."""
        return await self.order(action, *given)

    def order(self, action: Callable[[sqlite3.Connection, *Given], T], *given: *Given) -> asyncio.Future[T]:
        """As `read`, to be waited for later."""
        if self._closing:
            raise StoreClosed(str(self._file.path))
        future: asyncio.Future[T] = self._loop.create_future()
        self._busy += 1
        if self._busy > len(self._threads) and len(self._threads) < self._most:
            self._start()
        self._orders.put(Order(action, given, future))
        return future

    async def stop(self) -> None:
        """Carry out what was ordered, and end."""
        if not self._closing:
            self._closing = True
            for _ in self._threads:
                self._orders.put(None)
            if not self._threads:
                self._all_ended.set_result(None)
        await asyncio.shield(self._all_ended)
        for thread in self._threads:
            thread.join()

    def _count_done(self, count: int) -> None:
        self._busy -= count

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name=f"footplate-store-read-{len(self._threads)}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run(self) -> None:
        connection: sqlite3.Connection | None = None
        try:
            while (order := self._orders.get()) is not None:
                if not order.abandoned:
                    try:
                        connection = connection or self._file.open_reader()
                        connection.set_progress_handler(partial(getattr, order, "abandoned"), STEPS)
                        order.carry_out(connection)
                    except Exception as error:  # noqa: BLE001 - it is told to the caller; the thread must go on
                        fault = translate_fault(error, self._file.path)
                        if isinstance(fault, StoreCorrupt):
                            self._file.damage = fault
                        order.fail(fault)
                self._outbox.put(order)
        finally:
            if connection is not None:
                connection.close()
            post(self._loop, self._count_ended)

    def _count_ended(self) -> None:
        self._ended += 1
        if self._ended == len(self._threads) and not self._all_ended.done():
            self._all_ended.set_result(None)
