"""Service, keeper and agent are killed with a request open; the answer is applied after the restart, and runs once."""

from __future__ import annotations

import asyncio
import time

import pytest

from footplate.engines.claude.projects import config_folder, find_transcript, read_transcript
from footplate.events import model as m
from footplate.events.ids import RequestId, SessionId
from footplate.events.requests import Allow, Answer, Deny, Reply, Request
from footplate.testing.invariants import check_log
from footplate.testing.messages import script, tool
from tests.e2e.hosted import Hosted
from tests.e2e.world import World

pytestmark = [pytest.mark.timeout(240), pytest.mark.both_versions]

BASH = {"command": "echo ran >> ran.txt; echo done", "description": "append a line"}
QUESTION = {
    "questions": [
        {
            "question": "Which colour?",
            "header": "Colour",
            "multiSelect": False,
            "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
        }
    ]
}
PLAN = (tool("Write", {"file_path": "$PLANFILE", "content": "# Plan\n1. do"}), tool("ExitPlanMode", {}))


def runs(world: World) -> int:
    """How often the command ran."""
    made = world.work / "ran.txt"
    return made.read_text().count("ran") if made.exists() else 0


def sound(hosted: Hosted, session: SessionId) -> None:
    """The log holds every invariant, over all lives of the service; ephemeral events of dead ones are not in it."""
    assert check_log(hosted.envelopes[session]) == []


async def ask_and_die(world: World, prompt: str, *, mode: str = "") -> tuple[SessionId, Request]:
    """Have the agent ask, then kill everything."""
    async with Hosted.start(world) as hosted:
        session = await hosted.begin(prompt, mode=mode)
        request = await hosted.asked(session)
        view = await hosted.view(session)
        assert view.resume is not None
        await is_written(world, view.resume.value, request.call or "")
        await hosted.kill_all()
    return session, request


async def is_written(world: World, conversation: str, call: str) -> None:
    """Wait until the CLI has written the call down."""
    deadline = time.monotonic() + 60
    while not has_call(world, conversation, call):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def has_call(world: World, conversation: str, call: str) -> bool:
    """Whether the CLI's file of the conversation is there, with the call in it."""
    path = find_transcript(config_folder(world.env), conversation)
    return path is not None and call in read_transcript(path).calls


async def waits_detached(hosted: Hosted, session: SessionId, request: RequestId) -> None:
    """The request is open on every surface, and nobody runs."""
    (row,) = [row for row in await hosted.requests() if row.id == request]
    assert (row.state, row.detached) == ("open", True)
    view = await hosted.view(session)
    assert (view.state, view.waiting_for, view.attached) == ("waiting", "you", False)
    (held,) = view.requests
    assert (held.request.id, held.state, held.detached) == (request, "open", True)
    assert view.turn is not None


@pytest.mark.parametrize(
    ("prompt", "answer", "said", "mode"),
    [
        pytest.param(script(tool("Bash", BASH), "It said: $LAST"), Allow(), "It said: done", "", id="permission"),
        pytest.param(
            script(tool("Bash", BASH), "It said: $LAST"), Deny(message="not today"), "not today", "", id="refusal"
        ),
        pytest.param(
            script(tool("AskUserQuestion", QUESTION), "You said: $LAST"),
            Reply(answers={"Which colour?": "Blue"}),
            "Blue",
            "",
            id="question",
        ),
        pytest.param(script(*PLAN, "Approved: $LAST"), Allow(), "approved your plan", "plan", id="plan"),
    ],
)
async def test_an_answer_after_the_death_of_everything_is_applied_once(
    world: World, prompt: str, answer: Answer, said: str, mode: str
) -> None:
    session, request = await ask_and_die(world, prompt, mode=mode)
    async with Hosted.start(world) as hosted:
        await waits_detached(hosted, session, request.id)
        await hosted.answer(session, request.id, answer)
        ended = await hosted.ended(session)
        assert ended.ok
        assert said in ended.answer
        await hosted.see(session, m.StateChanged, lambda event: event.state == "idle")
        (closed,) = [row for row in await hosted.requests() if row.id == request.id]
        assert (closed.state, closed.detached) == ("applied", False)
        assert len([event for event in hosted.events(session) if isinstance(event, m.TurnStarted)]) == 1
        sound(hosted, session)
    assert runs(world) == (1 if answer == Allow() and not mode else 0)
