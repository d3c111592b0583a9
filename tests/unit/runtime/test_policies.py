"""Policies of the operator: a deadline for requests; a pause at a usage limit and a bounded resume."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from footplate.config.settings import RuntimeSettings, Settings
from footplate.errors import AlreadyAnswered
from footplate.events import model as m
from footplate.events.ids import TurnId
from footplate.events.requests import Allow
from footplate.host.process import Keeper
from footplate.runtime.conductor import GO_ON
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.runtime.spec import SessionSpec
from footplate.store.memory import MemoryStore
from tests.unit.runtime.following import until, until_asked, until_ended, until_state


@pytest.fixture
def runtime() -> RuntimeSettings:
    return RuntimeSettings(request_timeout_s=0.05, resume_at_reset=1)


@pytest.fixture
async def hub(tmp_path: Path, runtime: RuntimeSettings) -> AsyncIterator[Hub]:
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    store = MemoryStore()
    async with Keeper.start() as keeper:
        services = Services(store, keeper, settings=Settings(runtime=runtime), environ=environ, data=tmp_path / "data")
        async with Hub.open(services) as made:
            yield made
    await store.close()


async def test_a_request_past_its_deadline_ends_unanswered_and_the_agent_is_not_given_an_answer(
    hub: Hub, tmp_path: Path
) -> None:
    session = await hub.create(SessionSpec(engine="mock", cwd=str(tmp_path)))
    await session.prompt("permission")
    request = await until_asked(session)
    ended = await until_ended(session)
    assert "permission: reject" in ended.answer
    (closed,) = session.view().closed_requests
    assert (closed.state, closed.answered_by) == ("unanswered", "")
    with pytest.raises(AlreadyAnswered, match="unanswered"):
        await session.answer(request, Allow(), by="late", surface="test")
    (row,) = await hub._services.store.audit.read()
    record = msgspec.json.decode(row.body)
    assert (record["act"], record["target"], record["by"]) == ("request.expire", request, "runtime.request_timeout_s")
    assert record["detail"]["title"]


async def test_at_a_usage_limit_the_session_parks_and_goes_on_as_often_as_it_may(hub: Hub, tmp_path: Path) -> None:
    session = await hub.create(SessionSpec(engine="mock", cwd=str(tmp_path)))
    await session.prompt("hello")
    await until_ended(session)
    before = session.view().last_seq
    for turn in ("limit-1", "limit-2"):
        await session._take_batch(
            [
                m.TurnStarted(turn=TurnId(turn)),
                m.LimitReached(kind="usage", status="reached", resets_at=time.time() + 0.2, name="five_hour"),
                m.TurnEnded(turn=TurnId(turn), ok=False, error="limit", stop_reason="error"),
            ]
        )
        if turn == "limit-1":
            ended = await until(
                session, lambda event: isinstance(event, m.TurnEnded) and event.turn == "turn-2", after=before
            )
            assert ended[-1].answer == f"mock: {GO_ON}"  # type: ignore[union-attr]
    parked = [event for event in await _events(hub, session.id) if isinstance(event, m.Parked)]
    assert ["goes on by itself" in event.reason for event in parked] == [True, False]
    await until_state(session, "idle")


async def _events(hub: Hub, session: object) -> list[object]:
    found = await hub.get(session)  # type: ignore[arg-type]
    reader = found.subscribe(0)
    last = found.view().last_seq
    seen: list[object] = []
    async for delivery in reader:
        seen.append(delivery.envelope().event)
        if delivery.seq >= last:
            break
    reader.close()
    return seen
