"""Everything is killed at each point between a question and its result: at most one run, and what is shown is true."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from footplate.engines.claude.parking import UNKNOWN_RESULT
from footplate.events import model as m
from footplate.events.ids import RequestId, SessionId
from footplate.events.model import Event
from footplate.events.requests import Allow, Answer, Deny, Reply, Request
from footplate.host.table import look
from footplate.store.projection import RequestRow
from footplate.testing.messages import say, script, tool
from tests.e2e.hosted import Hosted
from tests.e2e.killed import BASH, PLAN, QUESTION, ask, ask_and_die, runs, sound, until
from tests.e2e.world import World, processes_with

pytestmark = pytest.mark.timeout(300)

ONE_CALL = script(tool("Bash", BASH), "It said: $LAST")
TWO_CALLS = script(tool("Bash", BASH), tool("Bash", BASH), "It said: $LAST")
SLOW = {"command": "echo ran >> ran.txt; sleep 2; echo over >> ran.txt", "description": "take two seconds"}


async def die_answering(
    world: World, prompt: str, answer: Answer, point: str, *, mode: str = ""
) -> tuple[SessionId, Request]:
    """A service that is killed, with all that it started, at a point after the answer."""
    async with Hosted.start(world, die=point) as hosted:
        session, request = await ask(hosted, prompt, mode=mode)
        with suppress(asyncio.CancelledError):
            await hosted.answer(session, request.id, answer)
        await hosted.died()
    return session, request


async def row_of(hosted: Hosted, request: RequestId) -> RequestRow:
    """The request as a list shows it."""
    (row,) = [row for row in await hosted.requests() if row.id == request]
    return row


async def refuse_the_rest(hosted: Hosted, session: SessionId, known: set[RequestId]) -> m.TurnEnded:
    """The end of the turn, with a no to whatever else is asked until then."""

    def is_next(event: Event) -> bool:
        return isinstance(event, m.TurnEnded) or (isinstance(event, m.RequestOpened) and event.request.id not in known)

    while isinstance(event := await hosted.see_any(session, is_next), m.RequestOpened):
        known.add(event.request.id)
        await hosted.answer(session, event.request.id, Deny(message="no"))
    assert isinstance(event, m.TurnEnded)
    return event


async def asked_whether_to_run_again(hosted: Hosted, session: SessionId, request: Request) -> Request:
    """Nobody knows whether the call ran, and that is what is shown."""
    view = await hosted.view(session)
    (held,) = view.requests
    assert (held.state, held.detached, held.request.rerun) == ("open", True, True)
    assert (held.request.replaces, held.request.call, held.request.input) == (request.id, request.call, request.input)
    assert [option.kind for option in held.request.options] == ["allow_once", "deny"]
    assert (await row_of(hosted, request.id)).state == "withdrawn"
    assert (view.state, view.waiting_for) == ("waiting", "you")
    notice = await hosted.see(session, m.Notice, lambda event: event.code == "outcome_unknown")
    assert "may or may not have run" in notice.text
    return held.request


async def test_killed_as_it_asks_the_call_runs_once_if_it_is_allowed(world: World) -> None:
    """What the CLI has written by then is up to the machine: nothing, the prompt, or the call."""
    async with Hosted.start(world, die="asked") as hosted:
        session = await hosted.begin(TWO_CALLS)
        await hosted.died()
    assert runs(world) == 0
    async with Hosted.start(world) as hosted:
        (held,) = (await hosted.view(session)).requests
        assert (held.state, held.detached) == ("open", True)
        await hosted.answer(session, held.request.id, Allow())
        assert (await refuse_the_rest(hosted, session, {held.request.id})).ok
        assert ((await row_of(hosted, held.request.id)).state, runs(world)) == ("applied", 1)
        sound(hosted, session)


async def test_killed_with_an_answer_that_is_not_sent_it_is_sent_after_the_restart(world: World) -> None:
    session, request = await ask_and_die(world, ONE_CALL)
    async with Hosted.start(world, die="decided") as hosted:
        with suppress(asyncio.CancelledError):
            await hosted.answer(session, request.id, Allow())
        await hosted.died()
    assert runs(world) == 0
    async with Hosted.start(world) as hosted:
        await hosted.view(session)
        assert (await hosted.ended(session)).answer == "It said: done"
        assert ((await row_of(hosted, request.id)).state, runs(world)) == ("applied", 1)
        sound(hosted, session)


async def test_killed_again_before_the_stored_answer_is_written_nothing_runs_twice(world: World) -> None:
    session, request = await ask_and_die(world, ONE_CALL)
    async with Hosted.start(world, die="sent") as hosted:
        await hosted.answer(session, request.id, Allow())
        await hosted.died()
    assert runs(world) == 0
    async with Hosted.start(world) as hosted:
        again = await asked_whether_to_run_again(hosted, session, request)
        await hosted.answer(session, again.id, Allow())
        assert (await hosted.ended(session)).answer == "It said: done"
        assert ((await row_of(hosted, again.id)).state, runs(world)) == ("applied", 1)
        sound(hosted, session)


@pytest.mark.parametrize("point", ["sent", "written:0", "written:5", "written:20", "written:60"])
async def test_killed_after_an_answer_is_sent_it_is_unknown_and_nothing_runs_again(world: World, point: str) -> None:
    session, request = await die_answering(world, ONE_CALL, Allow(), point)
    before = runs(world)
    assert before <= (0 if point == "sent" else 1)
    async with Hosted.start(world) as hosted:
        if not (await hosted.view(session)).requests:  # the kill came late: the CLI had the result in its transcript
            assert ((await row_of(hosted, request.id)).state, runs(world)) == ("applied", 1)
            return
        again = await asked_whether_to_run_again(hosted, session, request)
        await hosted.answer(session, again.id, Deny())
        assert (await hosted.ended(session)).ok
        assert (await row_of(hosted, again.id)).state == "applied"
        sound(hosted, session)
    assert runs(world) == before
    assert UNKNOWN_RESULT in str(world.bodies()[-1])


@pytest.mark.parametrize(
    ("prompt", "answer", "said", "mode"),
    [
        pytest.param(ONE_CALL, Deny(message="not today"), "not today", "", id="refusal"),
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
async def test_killed_after_an_answer_without_effect_is_sent_it_is_sent_again(
    world: World, prompt: str, answer: Answer, said: str, mode: str
) -> None:
    session, request = await die_answering(world, prompt, answer, "sent", mode=mode)
    async with Hosted.start(world) as hosted:
        await hosted.view(session)
        ended = await hosted.ended(session)
        assert said in ended.answer
        assert (await row_of(hosted, request.id)).state == "applied"
        sound(hosted, session)
    assert runs(world) == 0


async def test_killed_with_a_result_that_the_agent_has_not_written_down_it_is_told_that_result(world: World) -> None:
    prompt = script(tool("Bash", BASH), say("never", hang=True))  # the turn cannot end before everything is killed
    session, request = await die_answering(world, prompt, Allow(), "ended")
    assert runs(world) == 1
    async with Hosted.start(world) as hosted:
        view = await hosted.view(session)
        assert (view.state, view.requests) == ("interrupted", ())
        assert (await hosted.ended(session)).stop_reason == "lost"
        assert (await row_of(hosted, request.id)).state == "applied"
        await hosted.order("prompt", session=session, text=script("I go on."))
        ended = await hosted.see(session, m.TurnEnded, lambda event: event.turn != view.turns[0].id)
        assert ended.answer == "I go on."
        sound(hosted, session)
    assert runs(world) == 1
    results = [part for part in str(world.bodies()[-1]).split("tool_result") if "done" in part]
    assert results


async def test_killed_in_the_middle_of_a_command_it_is_not_run_again_unless_a_person_says_so(world: World) -> None:
    async with Hosted.start(world) as hosted:
        session, request = await ask(hosted, script(tool("Bash", SLOW), "It said: $LAST"))
        await hosted.answer(session, request.id, Allow())
        await until(lambda: runs(world) == 1)
        await hosted.kill_all()
    async with Hosted.start(world) as hosted:
        again = await asked_whether_to_run_again(hosted, session, request)
        assert runs(world) == 1
        await hosted.answer(session, again.id, Allow())
        assert (await hosted.ended(session)).ok
        assert runs(world) == 2
        sound(hosted, session)


async def test_a_command_that_outlives_its_agent_is_ended_before_anything_is_asked(world: World) -> None:
    """The machine lives on, and so does the command; the service ends it when it starts again."""
    async with Hosted.start(world) as hosted:
        slow = {**SLOW, "command": "echo ran >> ran.txt; sleep 300"}
        session, request = await ask(hosted, script(tool("Bash", slow), "x"))
        await hosted.answer(session, request.id, Allow())
        await until(lambda: "sleep 300" in map(str.strip, processes_with(str(world.home)).values()))
        commands = [pid for pid, line in processes_with(str(world.home)).items() if "sleep 300" in line]
        await hosted.kill_all(spare=commands)
    async with Hosted.start(world) as hosted:
        assert not [pid for pid in commands if look(pid)]
        again = await asked_whether_to_run_again(hosted, session, request)
        await hosted.answer(session, again.id, Deny())
        assert (await hosted.ended(session)).ok
    assert runs(world) == 1
