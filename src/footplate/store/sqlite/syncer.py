"""The thread that makes commits safe from a power cut: at once when somebody waits, else in groups."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final

from footplate.errors import StoreFailed
from footplate.store.sqlite.faults import repeat_fault
from footplate.store.sqlite.order import AnyOrder, post, settle_all
from footplate.store.sqlite.transaction import Transaction

Orders = Sequence[AnyOrder[Transaction]]

PERIOD_S: Final = 0.05


class Syncer:
    """Syncs what the writer committed. The writer goes on meanwhile: readers never wait for a disk."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        path: Path,
        sync: Callable[[], None],
        on_fault: Callable[[StoreFailed], None],
        period_s: float,
    ) -> None:
        self._loop = loop
        self._path = path
        self._sync = sync
        self._on_fault = on_fault
        self._period_s = period_s
        self._handed: SimpleQueue[Orders | None] = SimpleQueue()
        self._dirty = False
        self._syncing = False
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="footplate-store-sync", daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether a sync is under way or about to be: a write may then have to wait for the disk."""
        return self._syncing or not self._handed.empty()

    def committed(self, waiting: Orders) -> None:
        """A commit is in the write-ahead log; these orders are done once it is synced. From one thread at a time."""
        if waiting or not self._dirty:
            self._dirty = True
            self._handed.put(waiting)

    def stop(self) -> None:
        """Sync what is left and end; returns when the thread is gone."""
        self._handed.put(None)
        self._thread.join()

    def _run(self) -> None:
        """After a sync that failed none counts any more: what it should have written may be lost (fsync(2))."""
        fault: StoreFailed | None = None
        while (due := self._next()) is not None:
            if fault is None:
                try:
                    self._sync()
                except OSError as error:
                    # Not `StoreFull`, whatever the reason: trying again cannot help.
                    fault = StoreFailed(str(self._path), os.strerror(error.errno) if error.errno else str(error))
                    self._on_fault(fault)
            self._syncing = False
            if fault is not None:
                for order in due:
                    order.fail(repeat_fault(fault))
            if due:
                post(self._loop, partial(settle_all, due))

    def _next(self) -> list[AnyOrder[Transaction]] | None:
        """Wait until a sync is due; the orders that it is for, or None when all is done."""
        due: list[AnyOrder[Transaction]] = []
        until: float | None = None
        while not self._stopping:
            left = None if until is None else 0.0 if due else max(until - time.monotonic(), 0.0)
            try:
                handed = self._handed.get(timeout=left)
            except Empty:
                break
            if handed is None:
                self._stopping = True
                break
            due += handed
            if until is None:
                until = time.monotonic() + self._period_s
        if until is None:
            return None
        self._syncing = True
        self._dirty = False  # before the sync: what is committed from here on may not be in it
        return due
