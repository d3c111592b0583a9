"""The thread that makes commits safe from a power cut: at once when somebody waits, else in groups."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from footplate.errors import StoreFailed
from footplate.store.sqlite.faults import fault_of_system, repeat_fault
from footplate.store.sqlite.order import AnyOrder, post, settle_all
from footplate.store.sqlite.transaction import Transaction

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
        self._changed = threading.Condition()
        self._waiting: list[AnyOrder[Transaction]] = []
        self._dirty_since: float | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="footplate-store-sync", daemon=True)
        self._thread.start()

    def committed(self, waiting: Sequence[AnyOrder[Transaction]]) -> None:
        """A commit is in the write-ahead log; these orders are done once it is synced. From the writer's thread."""
        with self._changed:
            fresh = self._dirty_since is None
            if fresh:
                self._dirty_since = time.monotonic()
            self._waiting.extend(waiting)
            if waiting or fresh:
                self._changed.notify()

    def stop(self) -> None:
        """Sync what is left and end; returns when the thread is gone."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        """After a sync that failed none counts any more: what it should have written may be lost (fsync(2))."""
        fault: StoreFailed | None = None
        while (due := self._next()) is not None:
            if fault is None:
                try:
                    self._sync()
                except OSError as error:
                    fault = fault_of_system(error, self._path)
                    self._on_fault(fault)
            if fault is not None:
                for order in due:
                    order.fail(repeat_fault(fault))
            if due:
                post(self._loop, partial(settle_all, due))

    def _next(self) -> list[AnyOrder[Transaction]] | None:
        """Wait until a sync is due; the orders that it is for, or None when all is done."""
        with self._changed:
            while not self._stopping and not self._waiting:
                if self._dirty_since is None:
                    self._changed.wait()
                    continue
                left = self._dirty_since + self._period_s - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            if self._dirty_since is None and not self._waiting:
                return None
            due, self._waiting, self._dirty_since = self._waiting, [], None
            return due
