"""One writer per conversation: the lock follows the id that the agent announces, and an idle process gives it back."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from footplate.config.acp import AcpAgentSettings
from footplate.config.settings import Settings
from footplate.events import model as m
from footplate.events.base import ResumeToken
from footplate.events.codec import ReadEnvelope
from footplate.events.ids import EngineSessionId
from footplate.events.model import Event
from footplate.events.runs import Action, Completed, RunEvent, Started
from footplate.events.view import NoticeItem
from footplate.host.locks import SessionLock
from footplate.runtime import agent as agent_module
from footplate.runtime import run as run_module
from footplate.runtime.limits import Limits
from footplate.runtime.run import Run, RunRequest
from footplate.runtime.service import Service, open_service
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from footplate.runtime.tenancy import open_doors
from footplate.testing.closed import MINIMAL_PATH, prepare_home
from footplate.testing.invariants import check_log
from footplate.testing.messages import script, tool
from tests.e2e import forgetful_agent
from tests.e2e.scripted_cli import OTHER, ScriptedCli
from tests.e2e.world import World, processes_with, wait_until_gone

pytestmark = [pytest.mark.timeout(90)]
OWN = "00000000-0000-4000-8000-000000000001"
WAIT_S = 20.0
FORGETFUL = Settings(acp_agents={"forgetful": AcpAgentSettings(command=forgetful_agent.COMMAND)})
E = TypeVar("E", bound=Event)


class Place:
    """A home with a scripted `claude`, in which runs and a service can be started."""

    def __init__(self, folder: Path, cli: ScriptedCli) -> None:
        self.cli = cli
        self.work = folder / "work"
        self.work.mkdir()
        self.env = {
            "HOME": str(prepare_home(folder / "home")),
            "PATH": f"{cli.bin}:{MINIMAL_PATH}",
            "FOOTPLATE_DATA_DIR": str(folder / "data"),
            **cli.env,
        }

    def run(self, **fields: object) -> Watched:
        return Watched(Run(RunRequest(prompt="go", cwd=str(self.work), **fields), environ=self.env))  # type: ignore[arg-type]

    @asynccontextmanager
    async def service(self, settings: Settings | None = None) -> AsyncIterator[Service]:
        async with open_service(self.env, settings or Settings()) as service, open_doors(service, "service"):
            yield service

    async def session(self, service: Service, resume: str = "") -> Session:
        token = ResumeToken(engine="claude", value=EngineSessionId(resume)) if resume else None
        return await service.hub.create(SessionSpec(engine="claude", cwd=str(self.work)), resume=token)


class Watched:
    """A run whose events are collected beside the test."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.events: list[RunEvent] = []
        self._task = asyncio.create_task(self._collect())

    async def _collect(self) -> None:
        async for event in self.run.events():
            self.events.append(event)

    async def until(self, kind: type[RunEvent], text: str = "") -> RunEvent:
        async with asyncio.timeout(WAIT_S):
            while True:
                for event in self.events:
                    if isinstance(event, kind) and text in str(event):
                        return event
                assert not self._task.done(), self.events
                await asyncio.sleep(0.01)

    async def completed(self) -> Completed:
        async with asyncio.timeout(WAIT_S):
            await self._task
        event = self.events[-1]
        assert isinstance(event, Completed)
        return event


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, ScriptedCli(tmp_path / "cli", own_id=OWN))


async def nth(session: Session, kind: type[E], count: int = 1) -> E:
    """The event of a kind that comes as number `count` in the log, once it is there."""
    async with asyncio.timeout(WAIT_S):
        async for delivery in session.subscribe():
            event = delivery.envelope().event
            if isinstance(event, kind):
                count -= 1
                if count == 0:
                    return event
    raise AssertionError("the log ended")


async def log_of(session: Session) -> list[m.Envelope | ReadEnvelope]:
    """The log once no process is attached."""
    await nth(session, m.EngineDetached)
    found: list[m.Envelope | ReadEnvelope] = []
    async with asyncio.timeout(WAIT_S):
        async for delivery in session.subscribe():
            found.append(delivery.envelope())
            if isinstance(found[-1].event, m.EngineDetached):
                break
    return found


async def turn_ended(session: Session, count: int = 1) -> m.TurnEnded:
    return await nth(session, m.TurnEnded, count)


# ----------------------------------------------------------------------------------------------------- runs


@pytest.mark.parametrize("one_shot", [False, True], ids=["live", "one-shot"])
async def test_a_run_that_resumes_an_announced_conversation_waits_for_the_run_that_has_it(
    place: Place, one_shot: bool
) -> None:
    first = place.run(engine="claude", one_shot=one_shot)
    started = await first.until(Started)
    assert isinstance(started, Started)
    assert started.resume.value == OWN
    second = place.run(engine="claude", resume=OWN, one_shot=one_shot)
    waiting = await second.until(Action, "waiting for it")
    assert f"conversation {OWN} is in use by footplate run" in str(waiting)
    assert len(place.cli.starts) == 1
    place.cli.open_gate()
    assert (await first.completed()).ok
    assert (await second.completed()).answer == f"answered in {OWN}"
    assert len(place.cli.starts) == 2


async def test_a_run_has_its_announced_conversation_until_its_agent_is_gone(tmp_path: Path) -> None:
    place = Place(tmp_path, ScriptedCli(tmp_path / "cli", own_id=OWN, lingers=True))
    place.cli.open_gate()
    run = place.run(engine="claude")
    await run.until(Completed)
    assert processes_with(str(place.cli.folder)), "it takes its time to end"
    async with asyncio.timeout(WAIT_S), SessionLock(tmp_path / "data" / "locks", f"claude:{OWN}", wait=True):
        assert processes_with(str(place.cli.folder)) == {}
    assert (await run.completed()).ok


@pytest.mark.parametrize("resumed", [False, True])
async def test_a_killed_run_has_its_conversation_until_its_agent_is_gone(tmp_path: Path, *, resumed: bool) -> None:
    place = Place(tmp_path, ScriptedCli(tmp_path / "cli", own_id=OWN, lingers=True))
    arguments = ("--resume", OWN) if resumed else ()
    run = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "footplate", "run", "--engine", "claude", "--json", *arguments, "go"),
        env=place.env,
        cwd=place.work,
        stdout=asyncio.subprocess.PIPE,
    )
    assert run.stdout is not None
    async with asyncio.timeout(WAIT_S):
        assert b'"started"' in await run.stdout.readline(), "its turn waits at the gate"
    run.kill()
    await run.wait()
    assert processes_with(str(place.cli.folder)), "the keeper ends it, in steps"
    lock = SessionLock(tmp_path / "data" / "locks", f"claude:{OWN}")
    await lock.acquire(wait=True, left_s=WAIT_S)
    left = processes_with(str(place.cli.folder))
    lock.release()
    assert [command for command in left.values() if "scripted_cli" in command] == []
    wait_until_gone(str(place.cli.folder))


async def test_a_run_that_waits_for_a_conversation_can_be_stopped(place: Place) -> None:
    first = place.run(engine="claude")
    await first.until(Started)
    second = place.run(engine="claude", resume=OWN)
    await second.until(Action, "waiting for it")
    await second.run.interrupt()
    assert (await second.completed()).error == "interrupted"
    assert len(place.cli.starts) == 1
    place.cli.open_gate()
    assert (await first.completed()).ok


async def test_a_run_whose_agent_announces_a_conversation_of_another_ends_with_an_error(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "FOLLOW_S", 0.3)
    first = place.run(engine="claude")
    await first.until(Started)
    completed = await place.run(engine="claude").completed()
    who = f"footplate run (pid {os.getpid()})"
    assert completed.error == f"cannot continue conversation {OWN}: it is in use by {who}"
    assert completed.resume is None
    place.cli.open_gate()
    assert (await first.completed()).ok


@pytest.mark.parametrize("line", ["init", "assistant", "result"])
async def test_a_resumed_run_that_becomes_another_conversation_ends_with_an_error(tmp_path: Path, line: str) -> None:
    place = Place(tmp_path, ScriptedCli(tmp_path / "cli", moves=line))
    place.cli.open_gate()
    assert (await place.run(engine="claude", resume=OWN).completed()).ok
    completed = await place.run(engine="claude", resume=OWN).completed()
    assert not completed.ok
    assert completed.error == f"asked to resume session {OWN}, but the agent answers as session {OTHER}"
    assert completed.resume is not None
    assert completed.resume.value == OWN


# ------------------------------------------------------------------------------------------------- sessions


async def test_a_run_waits_for_a_session_that_works_and_gets_the_conversation_when_it_is_idle(place: Place) -> None:
    async with place.service() as service:
        session = await place.session(service)
        await session.prompt("go")
        assert (await nth(session, m.EngineAttached)).engine_session_id == OWN
        run = place.run(engine="claude", resume=OWN)
        await run.until(Action, "in use by footplate session")
        await asyncio.sleep(1.5)  # a working agent is asked more than once, and keeps its conversation
        assert len(place.cli.starts) == 1
        place.cli.open_gate()
        assert (await turn_ended(session)).ok
        assert (await run.completed()).ok
        assert not session.attached
        await session.prompt("again")
        assert (await turn_ended(session, 2)).ok
    assert [("--resume" in arguments, OWN in arguments) for arguments in place.cli.starts] == [
        (False, False),
        (True, True),
        (True, True),
    ]


@pytest.mark.parametrize("working", [True, False], ids=["working", "done"])
async def test_a_session_whose_agent_announces_a_conversation_of_another_ends_the_process(
    place: Place, monkeypatch: pytest.MonkeyPatch, working: bool
) -> None:
    monkeypatch.setattr(agent_module, "FOLLOW_S", 0.3)
    place.cli.open_gate()
    async with place.service() as service:
        first, second = await place.session(service), await place.session(service)
        await first.prompt("go")
        assert (await turn_ended(first)).ok
        if working:
            place.cli.close_gate()
        await second.prompt("go")
        ended = await turn_ended(second)
        who = f"footplate session (pid {os.getpid()})"
        text = f"cannot continue conversation {OWN}: it is in use by {who}; the agent process was ended"
        assert (ended.ok, ended.error, ended.error_kind) == (False, text, "lock_held")
        items = second.view().items
        assert [item.text for item in items if isinstance(item, NoticeItem) and item.code == "lock_held"] == [text]
        assert second.resume is None
        assert first.attached
        assert check_log(await log_of(second)) == []


@pytest.mark.parametrize("line", ["init", "assistant", "result"])
async def test_a_session_that_becomes_another_conversation_fails_the_turn_and_resumes_its_own(
    tmp_path: Path, line: str
) -> None:
    place = Place(tmp_path, ScriptedCli(tmp_path / "cli", moves=line))
    place.cli.open_gate()
    async with place.service() as service:
        session = await place.session(service)
        await session.prompt("one")
        assert (await turn_ended(session)).ok
        assert session.resume is not None
        own = session.resume.value
        await session.prompt("two")
        ended = await turn_ended(session, 2)
        assert (ended.ok, ended.error_kind) == (False, "session_id_mismatch")
        assert OTHER in ended.error
        assert session.resume.value == own
        await session.prompt("three")
        assert (await turn_ended(session, 3)).answer == f"answered in {own}"
    assert [arguments[arguments.index("--resume") + 1] for arguments in place.cli.starts[1:]] == [own]


async def test_an_idle_session_gives_its_conversation_to_another_that_resumes_it(place: Place) -> None:
    place.cli.open_gate()
    async with place.service() as service:
        first, second = await place.session(service), await place.session(service, resume=OWN)
        await first.prompt("go")
        assert (await turn_ended(first)).ok
        await second.prompt("go on")
        assert (await turn_ended(second)).answer == f"answered in {OWN}"
        assert (first.attached, second.attached) == (False, True)
        place.cli.close_gate()
        await second.prompt("work")
        await nth(second, m.TurnStarted, 2)
        await first.prompt("and back")
        ended = await turn_ended(first, 2)
        assert (ended.ok, ended.error_kind) == (False, "lock_held"), "who works keeps it"
        place.cli.open_gate()
        assert (await turn_ended(second, 2)).ok
        await first.prompt("and back")
        assert (await turn_ended(first, 3)).ok


async def test_agents_that_cannot_resume_and_count_their_ids_share_no_lock(place: Place) -> None:
    async with place.service(FORGETFUL) as service:
        spec = SessionSpec(engine="forgetful", cwd=str(place.work))
        first, second = await service.hub.create(spec), await service.hub.create(spec)
        for session in (first, second):
            await session.prompt("go")
            assert (await turn_ended(session)).answer == "prompt 1"
        assert first.resume == second.resume == ResumeToken(engine="forgetful", value=EngineSessionId("session-1"))
        run = Watched(Run(RunRequest(prompt="go", engine="forgetful"), settings=FORGETFUL, environ=place.env))
        assert (await run.completed()).answer == "prompt 1"


async def test_an_agent_that_cannot_resume_does_not_give_its_conversation_away(place: Place) -> None:
    async with place.service(FORGETFUL) as service:
        session = await service.hub.create(SessionSpec(engine="forgetful", cwd=str(place.work)))
        await session.prompt("go")
        await turn_ended(session)
        assert session.resume is not None
        assert not await service.hub.release(session.resume)
        await session.set_limits(Limits(cost_usd=5.0))
        await session.prompt("again")
        assert (await turn_ended(session, 2)).answer == "prompt 2"


# ------------------------------------------------------------------------------------------------- real CLI


async def test_an_idle_session_of_the_real_cli_gives_its_conversation_to_a_run(world: World) -> None:
    async with open_service(world.env, Settings()) as service, open_doors(service, "service"):
        session = await service.hub.create(SessionSpec(engine="claude", cwd=str(world.work)))
        await session.prompt(script("remembered"))
        assert (await turn_ended(session)).ok
        assert session.attached
        assert session.resume is not None
        request = RunRequest(prompt=script("Went on."), cwd=str(world.work), resume=session.resume.value)
        run = Watched(Run(request, environ=world.env))
        await run.until(Action, "in use by footplate session")
        assert (await run.completed()).answer == "Went on."
        await session.prompt(script(tool("Bash", {"command": "true"}), "And here."))
        assert (await turn_ended(session, 2)).answer == "And here."
