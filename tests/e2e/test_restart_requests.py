"""A service dies with a request open, its agent does not: the next service shows the same request, and it is answered.

The keeper is the parent of the agent; the pipes, and what came through them meanwhile, go to the next service.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from footplate.events import model as m
from footplate.events.ids import SessionId
from footplate.events.requests import Allow, Answer, Deny, Reply, Request
from footplate.host.sweep import read_records
from footplate.host.table import kill_exactly
from footplate.testing.invariants import check_log
from footplate.testing.messages import script, tool
from tests.e2e.restarts import Life, Lives, lives_of
from tests.e2e.storm import agents_of, keepers_of
from tests.e2e.world import World

pytestmark = [pytest.mark.timeout(180), pytest.mark.both_versions]

QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
    "multiSelect": False,
}
PLAN = tool("Write", {"file_path": "$PLANFILE", "content": "# Plan\n1. touch made"})


@pytest.fixture
async def lives(world: World) -> AsyncIterator[Lives]:
    async with lives_of(world) as made:
        yield made


def runs(world: World) -> int:
    """How often the command ran."""
    file = world.work / "runs"
    return len(file.read_text().splitlines()) if file.exists() else 0


COMMAND = script(tool("Bash", {"command": "echo ran >> runs; echo hello"}), "It said: $LAST")


async def settle(life: Life, session: SessionId) -> m.TurnEnded:
    """The turn has ended, and the log of all lives together keeps every promise."""
    ended = await life.ended(session)
    await life.see(session, m.StateChanged, lambda event: event.state == "idle" and life.of(session, m.TurnEnded) != [])
    assert check_log(life.envelopes[session]) == []
    assert life.of(session, m.Unparsed) == []
    assert len(life.of(session, m.TurnStarted)) == len(life.of(session, m.TurnEnded)) == 1
    return ended


async def refuse_second_writer(world: World, conversation: str) -> None:
    """While only the keeper has the agent nobody else gets its conversation, and is told why."""
    resume = ("run", "--engine", "claude", "--resume", conversation)
    tried = await asyncio.to_thread(world.footplate, *resume, "hello")
    assert tried.returncode != 0
    assert "an agent that goes on without its service, under the keeper" in tried.stderr


@pytest.mark.parametrize("way", ["kill", "terminate"])
async def test_a_permission_outlives_the_service(lives: Lives, world: World, way: str) -> None:
    first = await lives.begin()
    session = await first.prompt(COMMAND)
    request = await first.asked(session)
    attached = await first.see(session, m.EngineAttached)
    await (first.kill() if way == "kill" else first.terminate())
    if world.version == "new":
        await refuse_second_writer(world, attached.engine_session_id)
    second = await lives.begin()
    assert second.rejoined == (session,)
    await second.watch(session)
    assert (await second.asked(session)).id == request.id
    await second.answer(session, request, Allow())
    ended = await settle(second, session)
    assert (ended.ok, ended.answer, runs(world)) == (True, "It said: hello", 1)
    assert len(second.of(session, m.RequestOpened)) == len(second.of(session, m.RequestApplied)) == 1
    assert [each.outcome for each in second.of(session, m.ToolEnded)] == ["completed"]


async def test_a_denial_after_the_restart_reaches_the_agent(lives: Lives, world: World) -> None:
    first = await lives.begin()
    session = await first.prompt(COMMAND)
    await first.asked(session)
    await first.kill()
    second = await lives.begin()
    await second.watch(session)
    await second.answer(session, await second.asked(session), Deny(message="not today"))
    ended = await settle(second, session)
    assert "not today" in ended.answer
    assert runs(world) == 0


@pytest.mark.parametrize(
    ("prompt", "mode", "answer", "says"),
    [
        (
            script(tool("AskUserQuestion", {"questions": [QUESTION]}), "You said: $LAST"),
            "",
            Reply(answers={"Which colour?": "Blue"}),
            "Blue",
        ),
        (script(PLAN, tool("ExitPlanMode", {}), "Plan over."), "plan", Allow(), "Plan over."),
    ],
    ids=["question", "plan"],
)
async def test_a_question_and_a_plan_outlive_the_service(
    lives: Lives, prompt: str, mode: str, answer: Answer, says: str
) -> None:
    first = await lives.begin()
    session = await first.prompt(prompt, mode=mode)
    request = await first.asked(session)
    await first.kill()
    second = await lives.begin()
    await second.watch(session)
    assert (await second.asked(session)).id == request.id
    await second.answer(session, request, answer)
    ended = await settle(second, session)
    assert ended.ok
    assert says in ended.answer
    assert len(second.of(session, m.RequestApplied)) == 1


async def test_a_request_that_comes_while_nobody_is_there_is_found(lives: Lives, world: World) -> None:
    first = await lives.begin()
    slow = tool("Bash", {"command": "echo ran >> runs; echo hello"}, delay=2.0)
    session = await first.prompt(script(slow, "It said: $LAST"))
    await first.see(session, m.TurnStarted)
    await first.kill()
    async with asyncio.timeout(60):
        while not [each for each in world.requests() if each.outcome == "answered" and each.asks_model]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    second = await lives.begin()
    await second.watch(session)
    await second.answer(session, await second.asked(session), Allow())
    assert (await settle(second, session)).answer == "It said: hello"
    assert runs(world) == 1


async def test_three_services_in_a_row_are_one_to_the_agent(lives: Lives, world: World) -> None:
    life = await lives.begin()
    session = await life.prompt(COMMAND)
    request = await life.asked(session)
    for _ in range(3):
        await life.kill()
        life = await lives.begin()
        await life.watch(session)
        assert (await life.asked(session)).id == request.id
    await life.answer(session, request, Allow())
    assert (await settle(life, session)).answer == "It said: hello"
    assert runs(world) == 1


@pytest.mark.parametrize("service", ["dies first", "is there"])
async def test_when_the_keeper_is_killed_too_the_answer_wakes_another_process(
    lives: Lives, world: World, service: str
) -> None:
    life = await lives.begin()
    session = await life.prompt(COMMAND)
    request = await life.asked(session)
    await transcribed(world, request)
    if service == "dies first":
        await life.kill()
    for record in read_records(Path(world.env["FOOTPLATE_DATA_DIR"])):
        os.kill(record.pid, signal.SIGKILL)
    if service == "dies first":
        life = await lives.begin()
        assert life.rejoined == ()
        await life.watch(session)
    else:
        await life.see(session, m.EngineDetached)
    await life.answer(session, request, Allow())
    ended = await life.ended(session)
    assert (ended.ok, ended.answer, runs(world)) == (True, "It said: hello", 1)
    assert check_log(life.envelopes[session]) == []


@pytest.mark.parametrize("answer", [Allow(), Deny(message="not now")], ids=["allowed", "denied"])
async def test_a_call_whose_result_a_killed_agent_had_not_written_down_is_not_asked_again(
    lives: Lives, world: World, answer: Answer
) -> None:
    """The call is parked in the agent's file: without its result there, the next process would ask for it."""
    life = await lives.begin()
    session = await life.prompt(COMMAND)
    request = await life.asked(session)
    await transcribed(world, request)
    for pid in keepers_of(world.env):
        os.kill(pid, signal.SIGKILL)
    await life.see(session, m.EngineDetached)
    await life.answer(session, request, answer)
    await life.see(session, m.ToolEnded)
    for agent in agents_of(world.env):
        kill_exactly(agent, signal.SIGKILL)
    await life.see(session, m.EngineDetached, lambda event: event.signal == signal.SIGKILL)
    await life.order("prompt", session=session, text=script("I go on."))
    await life.see(session, m.TurnEnded, lambda event: event.answer == "I go on.")
    assert [event.request.call for event in life.of(session, m.RequestOpened)] == [request.call] * 2
    assert runs(world) == isinstance(answer, Allow)
    assert check_log(life.envelopes[session]) == []


async def transcribed(world: World, request: Request) -> None:
    """Wait until the CLI has written the call down: it does so a moment after it has asked."""
    assert request.call is not None
    projects = world.home / ".claude" / "projects"
    async with asyncio.timeout(60):
        while not any(request.call in file.read_text() for file in projects.glob("*/*.jsonl")):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
