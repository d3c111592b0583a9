"""A request whose process is gone: what can be done with it, and how it ends when nobody answers it."""

from __future__ import annotations

import os
import signal

import msgspec
import pytest

from footplate.config.places import data_folder
from footplate.engines.claude.projects import config_folder, find_transcript
from footplate.events import model as m
from footplate.events.ids import RequestId
from footplate.events.requests import Allow, Deny
from footplate.events.view import SessionView, ToolItem
from footplate.store.sqlite import SqliteStore
from footplate.testing.messages import script, tool
from tests.e2e.hosted import Hosted, Refused
from tests.e2e.killed import BASH, ask, ask_and_die, has_agent, has_call, runs, sound, until
from tests.e2e.live import talk
from tests.e2e.world import World, processes_with

pytestmark = pytest.mark.timeout(300)

ONE_CALL = script(tool("Bash", BASH), "It said: $LAST")


def conversation_of(view: SessionView) -> str:
    assert view.resume is not None
    return view.resume.value


async def test_an_agent_that_is_killed_beneath_a_living_service_leaves_its_request_open(world: World) -> None:
    async with Hosted.start(world) as hosted:
        session, request = await ask(hosted, ONE_CALL)
        conversation = conversation_of(await hosted.view(session))
        (pid,) = [pid for pid, line in processes_with(str(world.home)).items() if conversation in line]
        os.kill(pid, signal.SIGKILL)
        gone = await hosted.see(session, m.EngineDetached)
        assert gone.signal == signal.SIGKILL
        (held,) = (await hosted.view(session)).requests
        assert (held.request.id, held.state, held.detached) == (request.id, "open", True)
        await hosted.answer(session, request.id, Allow())
        assert (await hosted.ended(session)).answer == "It said: done"
        sound(hosted, session)
    assert runs(world) == 1


async def test_a_service_that_is_stopped_in_order_leaves_the_request_open(world: World) -> None:
    async with Hosted.start(world) as hosted:
        session, request = await ask(hosted, ONE_CALL)
    async with Hosted.start(world) as hosted:
        (held,) = (await hosted.view(session)).requests
        assert (held.request.id, held.state, held.detached) == (request.id, "open", True)
        await hosted.answer(session, request.id, Allow())
        assert (await hosted.ended(session)).answer == "It said: done"
        sound(hosted, session)
    assert runs(world) == 1


async def test_the_first_answer_wins_and_what_is_no_answer_is_refused(world: World) -> None:
    session, request = await ask_and_die(world, ONE_CALL)
    async with Hosted.start(world) as hosted:
        with pytest.raises(Refused) as refused:
            await hosted.order("answer", session=session, request=request.id, answer={"type": "choose", "option": "x"})
        assert refused.value.code == "invalid_request"
        await hosted.answer(session, request.id, Deny(message="first"))
        with pytest.raises(Refused) as late:
            await hosted.answer(session, request.id, Allow())
        assert late.value.code == "request_closed"
        assert "first" in (await hosted.ended(session)).answer
    assert runs(world) == 0


async def test_prompts_that_waited_go_on_after_the_answer(world: World) -> None:
    async with Hosted.start(world) as hosted:
        session, request = await ask(hosted, ONE_CALL)
        await hosted.order("prompt", session=session, text=script("The second."))
        await hosted.kill_all()
    async with Hosted.start(world) as hosted:
        view = await hosted.view(session)
        assert len(view.queue) == 1
        await hosted.answer(session, request.id, Allow())
        second = await hosted.see(session, m.TurnEnded, lambda event: event.turn != view.turn)
        assert second.answer == "The second."
        sound(hosted, session)
    assert runs(world) == 1


@pytest.mark.parametrize("way", ["interrupt", "close"])
async def test_a_person_may_end_it_unanswered(world: World, way: str) -> None:
    session, request = await ask_and_die(world, ONE_CALL)
    async with Hosted.start(world) as hosted:
        await hosted.view(session)
        await hosted.order(way, session=session)
        ended = await hosted.ended(session)
        assert (ended.ok, ended.stop_reason) == (False, "interrupted")
        (row,) = await hosted.requests()
        assert (row.id, row.state) == (request.id, "withdrawn" if way == "interrupt" else "unanswered")
        if way == "interrupt":
            await hosted.order("prompt", session=session, text=script("I go on."))
            after = await hosted.see(session, m.TurnEnded, lambda event: event.turn != ended.turn)
            assert after.answer == "I go on."
            assert "It has not run" in str(world.bodies()[-1])
        sound(hosted, session)
    assert runs(world) == 0


async def test_one_that_nobody_answers_in_time_is_in_the_audit_log(world: World) -> None:
    session, request = await ask_and_die(world, ONE_CALL)
    async with Hosted.start(world, request_timeout="0.1") as hosted:
        await hosted.view(session)
        assert (await hosted.ended(session)).stop_reason == "interrupted"
        (row,) = await hosted.requests()
        assert (row.id, row.state) == (request.id, "unanswered")
        sound(hosted, session)
    async with await SqliteStore.open(data_folder(world.env) / "store") as store:
        records = [msgspec.json.decode(row.body) for row in await store.audit.read()]
    (expired,) = [record for record in records if record["act"] == "request.expire"]
    assert (expired["target"], expired["session"], expired["surface"]) == (request.id, session, "policy")
    assert (expired["by"], expired["detail"]["tool"]) == ("runtime.request_timeout_s", "Bash")
    assert runs(world) == 0


async def test_another_call_than_the_one_that_was_answered_is_asked_in_its_place(world: World) -> None:
    session, request = await ask_and_die(world, ONE_CALL)
    async with Hosted.start(world) as hosted:
        path = find_transcript(config_folder(world.env), conversation_of(await hosted.view(session)))
        assert path is not None
        path.write_bytes(path.read_bytes().replace(b"echo ran >> ran.txt", b"echo other >> ran.txt"))
        await hosted.answer(session, request.id, Allow())
        other = await hosted.asked(session, other_than=(request.id,))
        assert (other.replaces, other.call) == (request.id, request.call)
        (row,) = [row for row in await hosted.requests() if row.id == request.id]
        assert row.state == "withdrawn"
        assert "something else" in row.reason
        await hosted.answer(session, other.id, Deny(message="no"))
        assert (await hosted.ended(session)).ok
        sound(hosted, session)
    assert runs(world) == 0


async def test_what_the_agent_has_passed_over_is_asked_for_in_words_and_answered_once(world: World) -> None:
    session, request = await ask_and_die(world, ONE_CALL)
    async with Hosted.start(world) as hosted:
        conversation = conversation_of(await hosted.view(session))
        calls = (tool("Bash", BASH), tool("Bash", BASH))
        async with talk(world, resume=conversation) as live:
            await live.turn(script("Something else.", *calls, "It said: $LAST"))
        await hosted.answer(session, request.id, Allow())
        second = await hosted.asked(session, other_than=(request.id,))
        assert (second.replaces, runs(world)) == (None, 1)
        await hosted.answer(session, second.id, Deny(message="once is enough"))
        assert "once is enough" in (await hosted.ended(session)).answer
        (row,) = [row for row in await hosted.requests() if row.id == request.id]
        assert row.state == "applied"
        sound(hosted, session)
    assert runs(world) == 1


async def test_an_agent_that_does_not_ask_again_in_time_is_told_and_the_call_runs_once(world: World) -> None:
    """Whether it asks before the patience is over is up to the machine; in either case it is answered once."""
    prompt = script(tool("Bash", BASH), tool("Bash", BASH), "It said: $LAST")
    session, request = await ask_and_die(world, prompt)
    async with Hosted.start(world, ask_again=0.01) as hosted:
        await hosted.view(session)
        await hosted.answer(session, request.id, Allow())
        known = {request.id}
        while isinstance(event := await hosted.see_any(session, lambda event: is_next(event, known)), m.RequestOpened):
            known.add(event.request.id)
            await hosted.answer(session, event.request.id, Deny(message="no"))
        assert isinstance(event, m.TurnEnded)
        assert event.ok
        (row,) = [row for row in await hosted.requests() if row.id == request.id]
        assert (row.state, runs(world)) in (("applied", 1), ("withdrawn", 0))
        sound(hosted, session)


def is_next(event: m.Event, known: set[RequestId]) -> bool:
    return isinstance(event, m.TurnEnded) or (isinstance(event, m.RequestOpened) and event.request.id not in known)


async def test_a_conversation_that_somebody_else_has_open_is_left_alone(world: World) -> None:
    session, request = await ask_and_die(world, ONE_CALL)
    async with Hosted.start(world) as hosted:
        conversation = conversation_of(await hosted.view(session))
        async with talk(world, resume=conversation) as live:
            await live.prompt(script("Something else."))
            await live.ended()
            with pytest.raises(Refused) as refused:
                await hosted.answer(session, request.id, Allow())
            assert "in use" in str(refused.value)
        (held,) = (await hosted.view(session)).requests
        assert (held.state, held.detached) == ("open", True)
    assert runs(world) == 0


async def test_a_refusal_is_written_down_where_the_rules_would_let_the_call_pass_by_now(world: World) -> None:
    session, request = await ask_and_die(world, ONE_CALL)
    settings = world.work / ".claude"
    settings.mkdir()
    (settings / "settings.json").write_bytes(msgspec.json.encode({"permissions": {"allow": ["Bash"]}}))
    async with Hosted.start(world) as hosted:
        await hosted.view(session)
        await hosted.answer(session, request.id, Deny(message="not today"))
        assert (await hosted.ended(session)).ok
        (row,) = await hosted.requests()
        assert row.state == "applied"
        sound(hosted, session)
    assert runs(world) == 0
    assert "not today" in str(world.bodies()[-1])


async def test_the_mode_that_was_chosen_meanwhile_holds_after_the_answer(world: World) -> None:
    session, request = await ask_and_die(world, ONE_CALL)
    async with Hosted.start(world) as hosted:
        await hosted.view(session)
        await hosted.order("mode", session=session, text="acceptEdits")
        await hosted.answer(session, request.id, Deny(message="no"))
        assert (await hosted.ended(session)).ok
        assert (await hosted.view(session)).mode == "acceptEdits"
        sound(hosted, session)
    assert runs(world) == 0


async def test_an_approved_plan_is_left_for_good(world: World) -> None:
    steps = (tool("Write", {"file_path": "$PLANFILE", "content": "# Plan\n1. do"}), tool("ExitPlanMode", {}))
    session, request = await ask_and_die(world, script(*steps, "Approved: $LAST"), mode="plan")
    async with Hosted.start(world) as hosted:
        view = await hosted.view(session)
        await hosted.answer(session, request.id, Allow())
        assert (await hosted.ended(session)).ok
        await hosted.order("prompt", session=session, text=script("Next."))
        await hosted.see(session, m.TurnEnded, lambda event: event.turn != view.turn)
        assert (await hosted.view(session)).mode == "default"
        sound(hosted, session)


async def test_the_requests_of_an_engine_that_cannot_ask_again_end_with_the_service(world: World) -> None:
    async with Hosted.start(world) as hosted:
        session = await hosted.begin("permission", engine="mock")
        request = await hosted.asked(session)
        await hosted.kill_all()
    async with Hosted.start(world) as hosted:
        view = await hosted.view(session)
        assert (view.state, view.requests) == ("interrupted", ())
        (row,) = await hosted.requests()
        assert (row.id, row.state) == (request.id, "withdrawn")
        assert (await hosted.ended(session)).stop_reason == "lost"
        sound(hosted, session)


async def test_a_sub_agent_that_asked_begins_anew_and_its_call_runs_once(world: World) -> None:
    agent = {
        "description": "append",
        "prompt": script(tool("Bash", BASH), "Inner said: $LAST"),
        "run_in_background": False,
        "subagent_type": "general-purpose",
    }
    async with Hosted.start(world) as hosted:
        session = await hosted.begin(script(tool("Agent", agent), "Outer said: $LAST"))
        request = await hosted.asked(session)
        assert (request.tool, bool(request.agent)) == ("Bash", True)
        view = await hosted.view(session)
        (call,) = [item for item in view.items if isinstance(item, ToolItem) and item.parent is None]
        await until(lambda: has_call(world, conversation_of(view), call.id))
        await until(lambda: has_agent(world, conversation_of(view), request.agent))
        await hosted.kill_all()
    async with Hosted.start(world) as hosted:
        (held,) = (await hosted.view(session)).requests
        assert (held.request.id, held.state, held.detached, held.parent) == (request.id, "open", True, call.id)
        await hosted.answer(session, request.id, Allow())
        ended = await hosted.ended(session)
        assert "Inner said: done" in ended.answer
        (row,) = await hosted.requests()
        assert (row.id, row.state) == (request.id, "applied")
        sound(hosted, session)
    assert runs(world) == 1
