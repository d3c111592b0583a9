"""The simulated store keeps the promises of every store, and its disk those of a disk."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from footplate.events.ids import SessionId
from footplate.events.model import Envelope, Notice
from footplate.store.base import Store
from footplate.store.conformance import ManualClock, StoreConformance
from tests.simulation.disk import Disk, finish
from tests.simulation.store import SimStore


class TestSimStore(StoreConformance):
    @asynccontextmanager
    async def make_store(self, clock: ManualClock) -> AsyncIterator[Store]:
        async with SimStore(Disk(clock)) as store:
            yield store


NAME = SessionId("s")


def append(disk: Disk, seq: int) -> None:
    event = Envelope(seq=seq, time=0.0, session=NAME, epoch=1, event=Notice(level="info", text=str(seq)))
    disk.carry_out(lambda memory: memory.append(NAME, 1, seq - 1, [event]))


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_power_cut_loses_a_suffix_of_what_was_not_synced(kept: int) -> None:
    disk = Disk(lambda: 0.0)
    disk.carry_out(lambda memory: memory.claim(NAME))
    append(disk, 1)
    disk.sync()
    append(disk, 2)
    append(disk, 3)
    lost = disk.cut_power(lambda bound: kept)
    assert lost == 2 - kept
    assert finish(disk.memory.last_seq(NAME)) == 1 + kept


def test_what_is_old_enough_is_synced() -> None:
    now = 0.0
    disk = Disk(lambda: now)
    disk.carry_out(lambda memory: memory.claim(NAME))
    append(disk, 1)
    now = 5.0
    append(disk, 2)
    assert disk.cut_power(lambda bound: 0) == 1
    assert finish(disk.memory.last_seq(NAME)) == 1
