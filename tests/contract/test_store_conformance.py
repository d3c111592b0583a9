"""The conformance suite of the store, on every store that we ship."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from footplate.store.base import Store
from footplate.store.conformance import ManualClock, StoreConformance
from footplate.store.memory import MemoryStore
from footplate.store.sqlite import SqliteStore


class TestMemoryStore(StoreConformance):
    @asynccontextmanager
    async def make_store(self, clock: ManualClock) -> AsyncIterator[Store]:
        async with MemoryStore(clock=clock) as store:
            yield store


class TestSqliteStore(StoreConformance):
    folder: Path

    @pytest.fixture(autouse=True)
    def in_folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    @asynccontextmanager
    async def make_store(self, clock: ManualClock) -> AsyncIterator[Store]:
        async with await SqliteStore.open(self.folder, clock=clock) as store:
            yield store
