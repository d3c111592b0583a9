"""A service is killed when it has read something and not stored it: the next one finds it in the agent's own file."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest

from footplate.engines.claude.revival import ClaudeParking
from footplate.engines.parking import Place
from footplate.events import model as m
from footplate.events.ids import PromptId
from footplate.runtime.records import BEGUN
from footplate.testing.invariants import check_log
from footplate.testing.messages import script, tool
from tests.e2e.killed import until
from tests.e2e.restarts import Lives, lives_of
from tests.e2e.storm import keepers_of, signal_agents
from tests.e2e.world import World

pytestmark = pytest.mark.timeout(240)

READ = tool("Bash", {"command": "echo hello"}, text="I look.")
PROMPT = script(READ, "It said: $LAST")


@pytest.fixture
async def lives(world: World) -> AsyncIterator[Lives]:
    async with lives_of(world) as made:
        yield made


@pytest.mark.parametrize("kind", ["TurnStarted", "UserMessage", "Message", "ToolStarted", "ToolEnded", "TurnEnded"])
async def test_what_was_read_and_not_stored_is_made_good_once(lives: Lives, kind: str) -> None:
    first = await lives.begin(die_before=kind)
    session = await first.create()
    await first.order("prompt", session=session, text=PROMPT)
    await first.died()
    second = await lives.begin()
    assert second.rejoined == (session,)
    await second.watch(session)
    ended = await second.ended(session)
    assert (ended.ok, ended.answer) == (True, "It said: hello")
    await second.see(
        session, m.StateChanged, lambda event: event.state == "idle" and second.of(session, m.TurnEnded) != []
    )
    assert [each.text for each in second.of(session, m.Message)] == ["I look.", "It said: hello"]
    assert [each.outcome for each in second.of(session, m.ToolEnded)] == ["completed"]
    assert len(second.of(session, m.TurnStarted)) == len(second.of(session, m.TurnEnded)) == 1
    assert len(second.of(session, m.UserMessage)) == 1
    assert second.of(session, m.Unparsed) == []
    assert check_log(second.envelopes[session]) == []
    await second.order("prompt", session=session, text=script("And on."))
    await second.see(session, m.TurnEnded, lambda event: event.answer == "And on.")
    assert check_log(second.envelopes[session]) == []


async def test_a_session_that_is_closed_before_its_agent_has_caught_up_withdraws_nothing_that_is_begun(
    lives: Lives, world: World
) -> None:
    first = await lives.begin()
    session = await first.create()
    for text in (PROMPT, script("Never begun.")):
        await first.order("prompt", session=session, text=text)
    signal_agents(world, signal.SIGSTOP)  # the service is killed before it can say anything
    await first.kill()
    second = await lives.begin()
    assert second.rejoined == (session,)
    closing = asyncio.create_task(second.order("close", session=session))
    await second.news(lambda: second.of(session, m.PromptWithdrawn), within=0.5)
    signal_agents(world, signal.SIGCONT)
    await closing
    await second.see(session, m.SessionClosed)
    assert check_log(second.envelopes[session]) == []
    queued = {each.prompt for each in second.of(session, m.PromptQueued)}
    begun = {prompt for each in second.of(session, m.TurnStarted) for prompt in each.prompts}
    assert {each.prompt for each in second.of(session, m.PromptWithdrawn)} == queued - begun


async def test_a_prompt_that_a_dead_agent_had_begun_is_lost_and_not_sent_again(lives: Lives, world: World) -> None:
    """The CLI passes over a prompt that its own record has: the session would wait for it for ever."""
    first = await lives.begin()
    session = await first.prompt(script("Hello."))
    attached = await first.see(session, m.EngineAttached)
    await first.ended(session)
    await first.kill()
    second = await lives.begin(die_before="TurnStarted")
    begun = PromptId("01M7HBEGUN0000000000000000")
    await second.order("prompt", session=session, text=script("Never told."), key=begun)
    await second.died()
    place = Place(session=attached.engine_session_id, cwd=str(world.work), environ=world.env)
    await until(lambda: ClaudeParking().has_begun(place, begun))
    for keeper in keepers_of(world.env):
        os.kill(keeper, signal.SIGKILL)
    third = await lives.begin()
    await third.watch(session)
    await third.order("prompt", session=session, text=script("Still here."))
    assert await third.news(lambda: len(third.of(session, m.TurnEnded)) == 3, within=60)
    assert [each.answer or each.error for each in third.of(session, m.TurnEnded)] == ["Hello.", BEGUN, "Still here."]
    assert check_log(third.envelopes[session]) == []
