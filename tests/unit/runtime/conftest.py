"""A hub with the in-process mock agent on a memory store: the whole runtime without a child process but the keeper."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from footplate.config.rules import Rule
from footplate.config.settings import Settings
from footplate.host.process import Keeper
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.store.memory import MemoryStore


@pytest.fixture
def rules() -> tuple[Rule, ...]:
    """The operator's rules; a test that wants some overrides this."""
    return ()


@pytest.fixture
async def services(tmp_path: Path, rules: tuple[Rule, ...]) -> AsyncIterator[Services]:
    """A memory store and a keeper."""
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "FOOTPLATE_MOCK_PACE_MS": "0"}
    store = MemoryStore()
    async with Keeper.start() as keeper:
        yield Services(store, keeper, settings=Settings(), environ=environ, data=tmp_path / "data", rules=rules)
    await store.close()


@pytest.fixture
async def hub(services: Services) -> AsyncIterator[Hub]:
    """A hub over them."""
    async with Hub.open(services) as made:
        yield made
