"""Unused connections are deleted with all that was sent on them; those in use stay."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from footplate.config.retention import RetentionSettings
from footplate.config.settings import Settings
from footplate.host.process import Keeper
from footplate.runtime.acp.client import Manner
from footplate.runtime.acp.connections import Connections
from footplate.runtime.acp.tape import Message
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.runtime.surroundings import Surroundings
from footplate.store.memory import MemoryStore

DAY_S = 86_400.0
DOCUMENTS = "acp-connections-servers"


class Clock(Surroundings):
    """The machine with a wall clock that a test sets forward."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead_s = 0.0

    def time(self) -> float:
        return time.time() + self.ahead_s


class Door:
    """One door, its store and its clock."""

    def __init__(self, hub: Hub, services: Services, store: MemoryStore, clock: Clock) -> None:
        self.connections = Connections("servers", hub, services, Manner(surface="acp", adapter=True))
        self.store = store
        self.clock = clock

    async def names(self) -> list[str]:
        """The connections that have a record, and those that have a journal: both must be the same."""
        records = [document.key for document in (await self.store.documents(DOCUMENTS).list()).items]
        journals = [row.name.removeprefix("acp/servers/") for row in (await self.store.journals("acp/")).items]
        assert records == journals
        return records

    async def open(self, *names: str) -> None:
        for name in names:
            connection = await self.connections.open(name, "mock")
            await connection.tape.write([Message(b"{}")])

    async def sweep(self) -> None:
        while await self.connections.sweep():
            pass


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    clock = Clock()
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "FOOTPLATE_MOCK_PACE_MS": "0"}
    settings = Settings(retention=RetentionSettings(connection_days=7))
    async with MemoryStore(clock=clock.time) as store, Keeper.start() as keeper:
        services = Services(
            store, keeper, settings=settings, environ=environ, data=tmp_path / "data", surroundings=clock
        )
        async with Hub.open(services) as hub:
            made = Door(hub, services, store, clock)
            yield made
            await made.connections.close()


async def test_a_connection_that_was_not_used_for_long_is_deleted_with_its_journal(door: Door) -> None:
    await door.open("old", "used")
    door.connections.idle_s = -1.0  # everything in memory is idle at once
    await door.sweep()
    assert await door.names() == ["old", "used"]
    door.clock.ahead_s += 6 * DAY_S
    door.connections.idle_s = 3600.0
    await door.open("used")
    await door.sweep()
    door.connections.idle_s = -1.0
    door.clock.ahead_s += 2 * DAY_S
    await door.sweep()
    assert await door.names() == ["used"]
    door.clock.ahead_s += 6 * DAY_S
    await door.sweep()
    assert await door.names() == []
    assert door.connections._locks == {}


async def test_a_connection_in_memory_stays_however_old_its_record_is(door: Door) -> None:
    await door.open("live")
    door.clock.ahead_s += 100 * DAY_S
    await door.sweep()
    assert await door.names() == ["live"]
    (record,) = await door.connections.list()
    assert record.name == "live"


async def test_many_connections_are_looked_at_a_page_at_a_time(door: Door) -> None:
    await door.open(*(f"c{number:03}" for number in range(150)))
    door.connections.idle_s = -1.0
    assert await door.connections.sweep() is True
    assert await door.connections.sweep() is False
    door.clock.ahead_s += 8 * DAY_S
    assert await door.connections.sweep() is True
    assert len(await door.names()) == 50
    assert await door.connections.sweep() is False
    assert await door.names() == []


async def test_names_that_were_only_asked_for_leave_nothing_in_memory(door: Door) -> None:
    for number in range(50):
        assert await door.connections.find(f"nobody {number}") is None
    await door.sweep()
    assert door.connections._locks == {}
