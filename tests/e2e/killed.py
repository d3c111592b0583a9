"""What tests of killed services share: things to ask, a way to have them asked, and what is looked at afterwards."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from footplate.engines.claude.projects import agent_transcript, config_folder, find_transcript, read_transcript
from footplate.events.ids import SessionId
from footplate.events.requests import Request
from footplate.testing.invariants import check_log
from footplate.testing.messages import tool
from tests.e2e.hosted import Hosted
from tests.e2e.world import World

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
        session, request = await ask(hosted, prompt, mode=mode)
        await hosted.kill_all()
    return session, request


async def ask(hosted: Hosted, prompt: str, *, mode: str = "") -> tuple[SessionId, Request]:
    """Have the agent ask, and wait until it has written that down."""
    session = await hosted.begin(prompt, mode=mode)
    request = await hosted.asked(session)
    view = await hosted.view(session)
    assert view.resume is not None
    conversation = view.resume.value
    await until(lambda: has_call(hosted.world, conversation, request.call or ""))
    return session, request


async def until(wanted: Callable[[], bool]) -> None:
    """Wait for a condition, with a deadline."""
    deadline = time.monotonic() + 60
    while not wanted():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def has_agent(world: World, conversation: str, agent: str) -> bool:
    """Whether the file of a sub-agent is there: without it nobody knows what it has done."""
    path = find_transcript(config_folder(world.env), conversation)
    return path is not None and agent_transcript(path, agent).exists()


def has_call(world: World, conversation: str, call: str) -> bool:
    """Whether the CLI's file of the conversation is there, with the call in it."""
    path = find_transcript(config_folder(world.env), conversation)
    return path is not None and call in read_transcript(path).calls
