"""Service, keeper and agents are killed at random moments: nothing acknowledged is lost, nothing runs twice or is left.

A few kills over the mock and fewer over the real CLI, by the same choices each time. `make test-kills` is longer:
FOOTPLATE_KILLS=1000 for the mock, FOOTPLATE_KILLS_CLAUDE=50 for the real CLI. FOOTPLATE_KILLS_SEED takes the choices of
a run that failed (a failure names its seed) once more.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from footplate.events import model as m
from footplate.events.ids import SessionId
from footplate.runtime.unstored import is_whole
from footplate.testing.messages import say, script, tool, tools
from tests.e2e.killed import until
from tests.e2e.restarts import Life, Lives, lives_of
from tests.e2e.storm import SETTLE_S, Storm, Tale, Work, keepers_of, signal_agents
from tests.e2e.world import World

KILLS = int(os.environ.get("FOOTPLATE_KILLS", "12"))
KILLS_CLAUDE = int(os.environ.get("FOOTPLATE_KILLS_CLAUDE", "4"))
CHOSEN = 1 if "FOOTPLATE_KILLS" not in os.environ else random.SystemRandom().randrange(1_000_000)
SEED = int(os.environ.get("FOOTPLATE_KILLS_SEED") or CHOSEN)

pytestmark = pytest.mark.timeout(300 + 10 * KILLS + 60 * KILLS_CLAUDE)


@pytest.fixture
async def lives(world: World) -> AsyncIterator[Lives]:
    async with lives_of(world) as made:
        yield made


async def rage(lives: Lives, work: Work, kills: int) -> None:
    """A storm, whose seed is told when it fails."""
    storm = Storm(lives, work, SEED)
    try:
        await storm.rage(kills)
    except BaseException as problem:
        problem.add_note(f"FOOTPLATE_KILLS_SEED={SEED}: {storm.summary()}")
        raise
    print(f"FOOTPLATE_KILLS_SEED={SEED}: {storm.summary()}")


MOCK = ("permission", "question", "stream 20 10", "tool", "subagent", "slow 200", "think", "edit notes.txt", "usage")


def ask_mock(chance: random.Random, token: str) -> str:
    """One of its words."""
    return chance.choice(MOCK)


async def test_random_kills_over_mock_sessions_lose_nothing(lives: Lives) -> None:
    forms = ("stdio", "stdio", "stdio", "in_process")
    work = Work(engine="mock", sessions=4, pace_s=1.0, ask=ask_mock, farewell="tool", forms=forms)
    await rage(lives, work, KILLS)


QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
    "multiSelect": False,
}


def ask_claude(chance: random.Random, token: str) -> str:
    """Words, a question, commands one by one or two at a time, one in the background."""
    command = {"command": f"echo ran >> {token}a; echo hello"}
    other = {"command": f"echo ran >> {token}b; sleep 0.3; echo there"}
    background = {"command": f"echo ran >> {token}c; tail -f /dev/null", "run_in_background": True}
    return chance.choice(
        (
            script(say("A story that is told slowly. " * 10, chunk=20, chunk_delay=0.02)),
            script(tool("AskUserQuestion", {"questions": [QUESTION]}), "You said: $LAST"),
            script(tool("Bash", command), "It said: $LAST"),
            script(tool("Bash", command, text="First."), tool("Bash", other), "It said: $LAST"),
            script(tools(("Bash", command), ("Bash", other)), "Both."),
            script(tool("Bash", background), "It runs."),
        )
    )


async def test_random_kills_over_real_sessions_lose_nothing(lives: Lives) -> None:
    work = Work(engine="claude", sessions=3, pace_s=4.0, ask=ask_claude, farewell=script("Still here."), age=4)
    await rage(lives, work, KILLS_CLAUDE)


async def test_a_service_outlives_many_agents_and_keepers_and_leaks_no_descriptor(lives: Lives, world: World) -> None:
    life = await lives.begin(engines={"mock": {"form": "stdio"}})
    sessions = [await life.create(engine="mock") for _ in range(2)]
    await lose_agents(life, world, sessions, with_keeper=True)
    before = descriptors(life.process.pid)
    for turn in range(8):
        await lose_agents(life, world, sessions, with_keeper=turn % 4 == 3)
    after = await settled(life.process.pid, len(before))
    assert len(after) <= len(before), f"before {sorted(before.values())}, after {sorted(after.values())}"
    for session in sessions:
        life.check(session)
    await life.order("prompt", session=sessions[0], text="permission")
    await lose_agents(life, world, sessions[:1], with_keeper=False)
    assert await life.news(lambda: Tale(life.events(sessions[0])).unanswered, within=SETTLE_S)
    # An event reaches us before the service has noted that all of its agent's output is stored.
    await until(lambda: is_whole(Path(world.env["FOOTPLATE_DATA_DIR"]), sessions[0]))
    await life.kill()
    life = await lives.begin(engines={"mock": {"form": "stdio"}})
    assert life.rejoined == (sessions[0],), "the agent that was started for what waited behind is written down, too"
    await life.order("drain", patience_s=1.0)
    await life.terminate()


async def lose_agents(life: Life, world: World, sessions: list[SessionId], *, with_keeper: bool) -> None:
    """Have each session at work with an agent, kill all of them, and wait until the sessions have told so."""
    ends = {session: len(life.of(session, m.EngineDetached)) for session in sessions}
    for session in sessions:
        await life.order("prompt", session=session, text="permission")
        assert await life.news(lambda: Tale(life.events(session)).unanswered, within=SETTLE_S)  # noqa: B023
    keepers = keepers_of(world.env)
    signal_agents(world, signal.SIGKILL)
    if with_keeper:
        for pid in keepers:
            os.kill(pid, signal.SIGKILL)
    for session in sessions:
        gone = await life.news(lambda: len(life.of(session, m.EngineDetached)) > ends[session], within=SETTLE_S)  # noqa: B023
        assert gone, life.events(session)[-5:]


async def settled(pid: int, count: int) -> dict[str, str]:
    """What a process has open, once it is no more than so many: it may read a file at the moment. A leak stays."""
    until = asyncio.get_running_loop().time() + SETTLE_S
    while len(found := descriptors(pid)) > count and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    return found


def descriptors(pid: int) -> dict[str, str]:
    """What a process has open."""
    found: dict[str, str] = {}
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found[entry.name] = str(entry.readlink())
        except FileNotFoundError:
            continue  # closed while we looked
    return found
