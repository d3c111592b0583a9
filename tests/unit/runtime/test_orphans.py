"""Prompts and agents that cannot start: what waits behind has its turn, and an agent on its way out is waited for."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from footplate.events import model as m
from footplate.events.model import Event
from footplate.host.locks import Holder, SessionLock
from footplate.runtime import orphan
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from tests.unit.runtime.following import until, until_ended, until_idle, until_state


@pytest.fixture
async def session(hub: Hub, tmp_path: Path) -> Session:
    """A session that has had a turn, and has no agent now."""
    made = await hub.create(SessionSpec(engine="mock", cwd=str(tmp_path)))
    await made.prompt("hello")
    await until_ended(made)
    await until_idle(made)
    await made.evict()
    return made


@pytest.fixture
async def lock(session: Session, services: Services) -> SessionLock:
    """The lock on its conversation, taken by us."""
    resume = session.view().resume
    assert resume is not None
    taken = SessionLock(services.locks, f"mock:{resume.value}", what="another program")
    await taken.acquire()
    return taken


def leave_behind(lock: SessionLock) -> None:
    """As if the service that took it were dead, and an agent of it had the lock still."""
    lock.path.write_bytes(msgspec.json.encode(Holder(pid=os.getpid(), start_time=1, what="a dead service")))


def ended(count: int) -> Callable[[Event], bool]:
    """What is true of the end of the last of so many turns."""
    ends = itertools.count(1)
    return lambda event: isinstance(event, m.TurnEnded) and next(ends) == count


async def test_a_prompt_waits_for_an_agent_that_is_being_ended_and_says_so(session: Session, lock: SessionLock) -> None:
    leave_behind(lock)
    before = session.view().last_seq
    await session.prompt("one")
    await session.prompt("two")
    told = await until(session, lambda event: isinstance(event, m.Notice), after=before)
    assert told[-1] == m.Notice(level="info", text=orphan.WAITS, code="agent_leaving")
    await until(session, lambda event: event == m.StateChanged(state="starting"), after=before)
    assert [len(session.view().queue), len(session.view().turns)] == [2, 1]
    lock.release()
    events = await until(session, ended(2), after=before)
    assert [event.answer for event in events if isinstance(event, m.TurnEnded)] == ["mock: one", "mock: two"]
    assert sum(isinstance(event, m.Notice) for event in events) == 1
    await until_idle(session)


async def test_what_waits_for_such_an_agent_can_be_taken_back(session: Session, lock: SessionLock) -> None:
    leave_behind(lock)
    prompt = await session.prompt("one")
    await until_state(session, "starting")
    await session.withdraw(prompt)
    await until_idle(session)
    lock.release()


async def test_an_agent_that_does_not_go_is_named_and_every_prompt_behind_it_is_tried(
    session: Session, lock: SessionLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orphan, "PATIENCE_S", 0.3)
    leave_behind(lock)
    before = session.view().last_seq
    for text in ("one", "two"):
        await session.prompt(text)
    events = await until(session, ended(2), after=before)
    ends = [event for event in events if isinstance(event, m.TurnEnded)]
    assert [event.error_kind for event in ends] == ["lock_held", "lock_held"]
    assert "an agent that goes on without its service" in ends[0].error
    await until_idle(session)
    assert session.view().queue == ()
    lock.release()


async def test_another_program_that_writes_the_conversation_is_named_at_once(
    session: Session, lock: SessionLock
) -> None:
    before = session.view().last_seq
    await session.prompt("one")
    end = await until_ended(session, after=before)
    assert end.error_kind == "lock_held"
    assert f"another program (pid {os.getpid()})" in end.error
    lock.release()


async def test_when_an_agent_cannot_start_each_prompt_that_waits_has_its_turn(hub: Hub, tmp_path: Path) -> None:
    session = await hub.create(SessionSpec(engine="mock", cwd=str(tmp_path)))
    await session.prompt("slow 100000")
    await until(session, lambda event: isinstance(event, m.MessageDelta))
    for text in ("crash 3", "one", "two"):
        await session.prompt(text)
    await session.respec(msgspec.structs.replace(session.spec, output_schema="{}"))  # which the mock does not take
    await session.interrupt()
    events = await until(session, ended(4))
    ends = [event for event in events if isinstance(event, m.TurnEnded)]
    assert [event.stop_reason for event in ends] == ["interrupted", "lost", "error", "error"]
    assert "structured output" in ends[-1].error
    await until_idle(session)
    assert session.view().queue == ()
