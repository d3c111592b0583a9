"""Housekeeping: jobs run in small steps, again and again, and a failure of one is no failure of the others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from footplate.config.retention import RetentionSettings
from footplate.config.settings import Settings
from footplate.errors import StoreFull
from footplate.events.ids import SessionId
from footplate.host.process import Keeper
from footplate.runtime import housekeeping as housekeepings
from footplate.runtime.audit import SERVICE, Audit
from footplate.runtime.housekeeping import Housekeeping, audit_step, policy_of, retention_step
from footplate.runtime.service import open_runtime
from footplate.runtime.services import Services
from footplate.runtime.surroundings import Bounds, Surroundings
from footplate.store.conformance.scene import ManualClock
from footplate.store.memory import MemoryStore
from footplate.store.values import FrameQuery, RawLines, RetentionPolicy

QUICK = Bounds(housekeeping_first_s=0.01, housekeeping_every_s=0.02)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeepings, "PAUSE_S", 0.001)


@pytest.fixture
async def housekeeping() -> AsyncIterator[Housekeeping]:
    made = Housekeeping(QUICK)
    yield made
    await made.close()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - a job has no event
            await asyncio.sleep(0.002)


async def test_a_job_is_repeated_while_there_is_more_and_then_after_its_time(housekeeping: Housekeeping) -> None:
    steps: list[str] = []

    async def step() -> bool:
        steps.append("step")
        return len(steps) < 5

    remove = housekeeping.add("job", step, every_s=3600.0)
    await asyncio.sleep(0.03)
    assert steps == []
    housekeeping.start()
    await until(lambda: len(steps) == 5)
    await asyncio.sleep(0.05)
    assert len(steps) == 5
    housekeeping.hurry()
    await until(lambda: len(steps) == 6)
    remove()
    housekeeping.hurry()
    await asyncio.sleep(0.05)
    assert len(steps) == 6


async def test_a_job_that_is_added_later_is_run(housekeeping: Housekeeping) -> None:
    steps: list[str] = []

    async def step() -> bool:
        steps.append("step")
        return False

    housekeeping.add("first", step, every_s=3600.0)
    housekeeping.start()
    await until(lambda: steps)
    housekeeping.add("second", step, every_s=3600.0)
    await until(lambda: len(steps) == 2)


async def test_a_job_with_too_much_to_do_keeps_nobody_waiting(
    housekeeping: Housekeeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeepings, "STEPS", 3)
    order: list[str] = []

    async def endless() -> bool:
        order.append("endless")
        return True

    async def short() -> bool:
        order.append("short")
        return False

    housekeeping.add("endless", endless, every_s=0.02)
    housekeeping.add("short", short, every_s=0.02)
    housekeeping.start()
    await until(lambda: len(order) >= 8)
    assert order[:8] == ["endless", "endless", "endless", "short"] * 2


@pytest.mark.parametrize("problem", [StoreFull("here", "no space"), RuntimeError("a bug")])
async def test_a_job_that_fails_is_logged_once_and_tried_again(
    housekeeping: Housekeeping, caplog: pytest.LogCaptureFixture, problem: Exception
) -> None:
    caplog.set_level(logging.WARNING)
    tries: list[int] = []
    others: list[int] = []

    async def failing() -> bool:
        tries.append(1)
        if len(tries) < 4:
            raise problem
        return False

    async def other() -> bool:
        others.append(1)
        return False

    housekeeping.add("failing", failing, every_s=0.01)
    housekeeping.add("other", other, every_s=0.01)
    housekeeping.start()
    await until(lambda: len(tries) >= 5)
    assert len(others) >= 3
    assert len([record for record in caplog.records if "failing" in record.getMessage()]) == 1


def test_the_policy_is_what_the_settings_say() -> None:
    assert policy_of(RetentionSettings()) == RetentionPolicy()
    settings = RetentionSettings(
        frames_days=2, frames_mb=1, journal_days=0.5, journal_mb=3, queue_days=4, closed_sessions_days=0
    )
    assert policy_of(settings) == RetentionPolicy(
        frames_age_s=172_800.0,
        frames_bytes=1024 * 1024,
        journal_age_s=43_200.0,
        journal_bytes=3 * 1024 * 1024,
        closed_sessions_age_s=0.0,
        queue_done_age_s=345_600.0,
    )


async def test_each_step_uses_the_settings_of_its_time() -> None:
    clock = ManualClock()
    async with MemoryStore(clock=clock) as store:
        session = SessionId("s")
        await store.claim(session)
        await store.append_frames(session, [RawLines("in", clock.now, 0, b"x\n")])
        settings = RetentionSettings()
        step = retention_step(store, Audit(store.audit, Surroundings()), lambda: settings)
        clock.now += 3 * 86_400
        assert await step() is False
        assert (await store.read_frames(session, FrameQuery())).frames
        settings = RetentionSettings(frames_days=1)
        assert await step() is False
        assert not (await store.read_frames(session, FrameQuery())).frames


async def test_audit_records_stay_unless_the_settings_say_otherwise() -> None:
    clock = ManualClock()
    machine = Surroundings()
    machine.time = lambda: clock.now  # type: ignore[method-assign]
    async with MemoryStore(clock=clock) as store:
        audit = Audit(store.audit, machine)
        for _ in range(housekeepings.BUDGET + 10):
            await audit.record("login", SERVICE)
        settings = RetentionSettings()
        step = audit_step(audit, lambda: settings)
        clock.now += 400 * 86_400
        assert await step() is False
        assert (await store.audit.read())[0].number == 1
        settings = RetentionSettings(audit_days=30)
        assert [await step(), await step(), await step()] == [True, True, False]
        (checkpoint,) = await store.audit.read()
        assert b'"act":"checkpoint"' in checkpoint.body


async def test_a_service_removes_what_its_settings_file_says_now(tmp_path: Path) -> None:
    """The whole way: the file of the settings, the service, the store."""
    file = tmp_path / "footplate.toml"
    file.write_text("")
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "FOOTPLATE_CONFIG": str(file)}
    session = SessionId("s")
    async with MemoryStore(clock=lambda: 1_000.0 + 2 * 86_400) as store, Keeper.start() as keeper:
        await store.claim(session)
        await store.append_frames(session, [RawLines("in", 1_000.0, 0, b"very old\n")])
        services = Services(
            store,
            keeper,
            settings=Settings(),
            environ=environ,
            data=tmp_path / "data",
            surroundings=Surroundings(QUICK),
        )
        async with open_runtime(services):
            await asyncio.sleep(0.1)
            assert store._logs[session].frames
            file.write_text("[retention]\nframes_days = 1\n")
            services.housekeeping.hurry()
            await until(lambda: not store._logs[session].frames)
