"""A store that is full under a running session: a clear error, the agent is stopped, nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from footplate.config.settings import Settings
from footplate.errors import SessionFailed, StoreFull
from footplate.host.process import Keeper
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from footplate.runtime.surroundings import Bounds, Surroundings
from footplate.store.sqlite import SqliteStore
from tests.unit.runtime.following import until_ended


async def _fill(session: Session) -> None:
    """Let the agent talk until its words find no room."""
    for _ in range(20):
        before = session.view().last_seq
        await session.prompt("big 400000")
        await asyncio.wait_for(until_ended(session, after=before), 5)


async def test_a_full_store_stops_the_agent_and_says_what_to_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = await SqliteStore.open(tmp_path / "store", max_bytes=2_000_000)
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    settings = Settings(engines={"mock": {"form": "stdio"}})
    async with Keeper.start() as keeper:
        surroundings = Surroundings(Bounds(store_retry_s=0.5))
        services = Services(
            store, keeper, settings=settings, environ=environ, data=tmp_path / "data", surroundings=surroundings
        )
        async with Hub.open(services) as hub:
            session = await hub.create(SessionSpec(engine="mock", cwd=str(tmp_path)))
            with pytest.raises((StoreFull, SessionFailed, TimeoutError, AssertionError)):
                await _fill(session)
            with pytest.raises(StoreFull, match="free some space"):
                await (await hub.get(session.id)).prompt("x" * 1_000_000)
            async with asyncio.timeout(10):
                while await keeper.agents():  # noqa: ASYNC110 - the keeper tells when asked
                    await asyncio.sleep(0)
            numbers = [row.seq for row in await store.read(session.id)]
            assert numbers == list(range(1, len(numbers) + 1))
            assert f"session {session.id} failed: StoreFull" in caplog.text
    await store.close()
