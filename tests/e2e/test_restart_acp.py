"""A service dies, its ACP agent does not: the next one goes on with it wherever the log tells all that it has said."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from footplate.errors import LockHeld
from footplate.events import model as m
from footplate.events.ids import SessionId
from footplate.events.requests import Allow, Answer, Reply
from footplate.host.locks import SessionLock
from footplate.testing.invariants import check_log
from tests.e2e.restarts import Life, Lives, lives_of
from tests.e2e.storm import signal_agents
from tests.e2e.world import World

pytestmark = pytest.mark.timeout(180)

STDIO = {"mock": {"form": "stdio"}}
CHUNKS = 60


@pytest.fixture
async def lives(world: World) -> AsyncIterator[Lives]:
    async with lives_of(world) as made:
        yield made


async def settle(life: Life, session: SessionId) -> m.TurnEnded:
    """The turn has ended, and the log of all lives together keeps every promise."""
    ended = await life.ended(session)
    rests = ("idle", "interrupted")
    assert await life.news(lambda: life.of(session, m.StateChanged)[-1].state in rests, within=60)
    assert check_log(life.envelopes[session]) == []
    assert life.of(session, m.Unparsed) == []
    return ended


async def go_on(life: Life, session: SessionId) -> None:
    """The session takes a further prompt."""
    ended = len(life.of(session, m.TurnEnded))
    await life.order("prompt", session=session, text="tool")
    assert await life.news(lambda: len(life.of(session, m.TurnEnded)) > ended, within=60)
    assert life.of(session, m.TurnEnded)[-1].ok
    assert check_log(life.envelopes[session]) == []


@pytest.mark.parametrize("way", ["kill", "terminate"])
@pytest.mark.parametrize(
    ("prompt", "answer"),
    [("permission", Allow()), ("question", Reply(answers={"Which colour?": "Blue"}))],
    ids=["permission", "question"],
)
async def test_a_request_is_answered_by_the_next_service(lives: Lives, prompt: str, answer: Answer, way: str) -> None:
    first = await lives.begin(engines=STDIO)
    session = await first.prompt(prompt, engine="mock")
    request = await first.asked(session)
    await first.see(session, m.StateChanged, lambda event: event.state == "waiting")
    await (first.kill() if way == "kill" else first.terminate())
    second = await lives.begin(engines=STDIO)
    assert second.rejoined == (session,)
    await second.watch(session)
    asked = await second.asked(session)
    assert asked.id == request.id
    if isinstance(answer, Reply):
        answer = Reply(answers={asked.questions[0].text: asked.questions[0].choices[-1].label})
    await second.answer(session, request, answer)
    ended = await settle(second, session)
    assert (ended.ok, len(second.of(session, m.RequestApplied))) == (True, 1)
    assert len(second.of(session, m.TurnStarted)) == 1
    assert [each.ok for each in second.of(session, m.ToolEnded)] == [True] * len(second.of(session, m.ToolStarted))
    await go_on(second, session)


async def test_the_conversation_of_a_prewarmed_agent_stays_locked_while_no_service_is_there(
    lives: Lives, world: World
) -> None:
    first = await lives.begin(engines=STDIO, prewarm=1)
    await settle(first, await first.prompt("tool", engine="mock"))
    await first.order("warmed")
    session = await first.prompt("permission", engine="mock")
    request = await first.asked(session)
    conversation = (await first.see(session, m.EngineAttached)).engine_session_id
    await first.see(session, m.StateChanged, lambda event: event.state == "waiting")
    await first.kill()
    lock = SessionLock(Path(world.env["FOOTPLATE_DATA_DIR"]) / "locks", f"mock:{conversation}")
    with pytest.raises(LockHeld, match="without its service"):
        await lock.acquire()
    second = await lives.begin(engines=STDIO)
    assert session in second.rejoined
    await second.watch(session)
    with pytest.raises(LockHeld, match="footplate session"):
        await lock.acquire()
    await second.answer(session, request, Allow())
    assert (await settle(second, session)).ok


async def test_stopped_in_order_a_text_is_told_to_its_end(lives: Lives) -> None:
    first = await lives.begin(engines=STDIO)
    session = await first.prompt(f"stream {CHUNKS} 30", engine="mock")
    await first.see(session, m.MessageDelta)
    await first.terminate()
    second = await lives.begin(engines=STDIO)
    assert second.rejoined == (session,)
    await second.watch(session)
    ended = await settle(second, session)
    parts = [each.text for each in second.of(session, m.Message)]
    assert (ended.ok, len(parts), "".join(parts)) == (True, 2, "".join(f"chunk {number}" for number in range(CHUNKS)))
    assert ended.answer == "".join(parts)
    await go_on(second, session)


async def test_killed_in_the_middle_of_a_text_the_turn_is_lost_and_says_so(lives: Lives) -> None:
    first = await lives.begin(engines=STDIO)
    session = await first.prompt(f"stream {CHUNKS} 50", engine="mock")
    await first.see(session, m.MessageDelta)
    await first.kill()
    second = await lives.begin(engines=STDIO)
    assert second.rejoined == ()
    await second.watch(session)
    ended = await settle(second, session)
    assert (ended.ok, ended.stop_reason) == (False, "lost")
    await go_on(second, session)


async def test_what_is_asked_next_waits_for_an_agent_that_is_being_ended(lives: Lives, world: World) -> None:
    first = await lives.begin(engines=STDIO)
    session = await first.prompt("tool", engine="mock")
    await settle(first, session)
    signal_agents(world, signal.SIGKILL)
    await first.see(session, m.EngineDetached)
    await first.order("prompt", session=session, text=f"stream {CHUNKS} 50")
    await first.see(session, m.MessageDelta, lambda event: event.text.startswith("chunk"))
    signal_agents(world, signal.SIGSTOP)  # so that it takes its time, and has the lock on its session meanwhile
    await first.kill()
    second = await lives.begin(engines=STDIO)
    assert second.rejoined == ()
    await second.watch(session)
    await second.see(session, m.TurnEnded, lambda event: event.stop_reason == "lost")
    await go_on(second, session)
