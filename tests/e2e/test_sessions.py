"""Sessions on the real Claude CLI and a real SQLite file: a request reaches a person, and the answer the agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from footplate.config.rules import Rule
from footplate.config.settings import Settings
from footplate.errors import AlreadyAnswered, EngineGone, InvalidValue
from footplate.events import model as m
from footplate.events.facts import ContextUsage
from footplate.events.requests import Allow, Decline, Deny, Reply
from footplate.host.process import Keeper
from footplate.runtime.hub import Hub
from footplate.runtime.limits import Limits
from footplate.runtime.services import Services
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from footplate.store.sqlite import SqliteStore
from footplate.testing.invariants import check_log
from footplate.testing.messages import say, script, tool, tools
from tests.e2e.world import World
from tests.unit.runtime.following import until, until_asked, until_ended, until_idle, whole_log

pytestmark = [pytest.mark.timeout(120), pytest.mark.both_versions]


@pytest.fixture
async def hub(world: World, tmp_path: Path) -> AsyncIterator[Hub]:
    """A hub on a real file, with a keeper of its own."""
    store = await SqliteStore.open(tmp_path / "store")
    async with Keeper.start() as keeper:
        services = Services(store, keeper, settings=Settings(), environ=world.env, data=tmp_path / "data")
        async with Hub.open(services) as made:
            yield made
    await store.close()


async def _open(hub: Hub, world: World, **spec: object) -> Session:
    return await hub.create(SessionSpec(engine="claude", cwd=str(world.work), **spec))  # type: ignore[arg-type]


async def _sound(session: Session) -> None:
    """The log holds every invariant."""
    await until_idle(session)
    assert check_log(await whole_log(session), finished=False) == []


def _touch(name: str) -> str:
    return script(tool("Bash", {"command": f"touch {name}; echo ran"}), "It said: $LAST")


async def test_a_permission_is_asked_allowed_and_applied(hub: Hub, world: World) -> None:
    session = await _open(hub, world)
    await session.prompt(_touch("made"))
    request = await until_asked(session)
    assert not (world.work / "made").exists()
    (asked,) = session.view().requests
    assert (asked.request.kind, asked.request.tool) == ("permission", "Bash")
    await session.answer(request, Allow(), by="ada", surface="test")
    ended = await until_ended(session)
    assert ended.answer == "It said: ran"
    assert (world.work / "made").exists()
    (closed,) = session.view().closed_requests
    assert (closed.state, closed.answered_by) == ("applied", "ada")
    await _sound(session)


async def test_a_denied_call_does_not_run_and_the_agent_hears_why(hub: Hub, world: World) -> None:
    session = await _open(hub, world)
    await session.prompt(_touch("made"))
    await session.answer(await until_asked(session), Deny(message="not today"), by="ada", surface="test")
    ended = await until_ended(session)
    assert ended.ok
    assert "not today" in ended.answer
    assert not (world.work / "made").exists()
    await _sound(session)


async def test_what_the_operator_forbids_or_wants_asked_is_so_though_the_cli_would_not_ask(
    world: World, tmp_path: Path
) -> None:
    allowed = {"permissions": {"allow": ["Bash(touch *)", "Bash(mkdir *)"]}}
    (world.home / ".claude").mkdir(exist_ok=True)
    (world.home / ".claude" / "settings.json").write_text(msgspec.json.encode(allowed).decode())
    rules = (
        Rule(tool="Bash", pattern="touch secret*", decision="deny", message="Secrets are not for you."),
        Rule(tool="Bash", pattern="mkdir *", decision="ask"),
        Rule(tool="Write", pattern="*/.env", decision="deny", message="Nor by a mode that asks nothing."),
    )
    store = await SqliteStore.open(tmp_path / "store")
    async with Keeper.start() as keeper:
        given = {"settings": Settings(), "environ": world.env, "data": tmp_path / "data", "rules": rules}
        async with Hub.open(Services(store, keeper, **given)) as hub:  # type: ignore[arg-type]
            session = await _open(hub, world, mode="acceptEdits")
            steps = (
                tool("Bash", {"command": "touch open"}),
                tool("Write", {"file_path": str(world.work / "notes"), "content": "x"}),
                tool("Write", {"file_path": str(world.work / ".env"), "content": "x"}),
                tool("Bash", {"command": "touch secrets"}),
                tool("Bash", {"command": "mkdir made"}),
            )
            await session.prompt(script(*steps, "It said: $LAST"))
            request = await until_asked(session)
            assert (world.work / "open").exists()
            assert (world.work / "notes").exists()
            assert not (world.work / "secrets").exists()
            assert not (world.work / ".env").exists()
            assert "Nor by a mode" in str(world.bodies()[-1])
            assert "Secrets are not for you." in str(world.bodies()[-1])
            assert [each.request.title for each in session.view().requests] == ["mkdir made"]
            await session.answer(request, Allow(), by="ada", surface="test")
            await until_ended(session)
            assert (world.work / "made").is_dir()
            await _sound(session)
    await store.close()


async def test_the_input_can_be_edited_before_it_runs(hub: Hub, world: World) -> None:
    session = await _open(hub, world)
    await session.prompt(_touch("made"))
    edited = msgspec.Raw(msgspec.json.encode({"command": "touch other; echo edited"}))
    await session.answer(await until_asked(session), Allow(updated_input=edited), by="ada", surface="test")
    assert (await until_ended(session)).answer == "It said: edited"
    assert not (world.work / "made").exists()
    assert (world.work / "other").exists()
    await _sound(session)


async def test_denying_and_stopping_ends_the_turn(hub: Hub, world: World) -> None:
    session = await _open(hub, world)
    await session.prompt(_touch("made"))
    await session.answer(await until_asked(session), Deny(message="stop", interrupt=True), by="a", surface="t")
    ended = await until_ended(session)
    assert not ended.ok
    assert ended.stop_reason == "interrupted"
    await _sound(session)


async def test_what_is_allowed_for_the_session_is_not_asked_again(hub: Hub, world: World) -> None:
    session = await _open(hub, world)
    calls = tools(("Bash", {"command": "touch one"}), ("Bash", {"command": "touch one"}))
    await session.prompt(script(calls, "Done."))
    await session.answer(await until_asked(session), Allow(scope="session"), by="ada", surface="test")
    assert (await until_ended(session)).answer == "Done."
    asked_by_people = [each for each in session.view().closed_requests if each.answered_from == "test"]
    assert len(asked_by_people) == 1
    await _sound(session)


async def test_a_question_gets_the_answer_that_was_given(hub: Hub, world: World) -> None:
    session = await _open(hub, world)
    questions = [
        {
            "question": "Which colour?",
            "header": "Colour",
            "multiSelect": False,
            "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
        },
        {
            "question": "Which sizes?",
            "header": "Sizes",
            "multiSelect": True,
            "options": [{"label": "S", "description": "small"}, {"label": "L", "description": "large"}],
        },
    ]
    await session.prompt(script(tool("AskUserQuestion", {"questions": questions}), "You said: $LAST"))
    request = await until_asked(session)
    (asked,) = session.view().requests
    assert [question.multiple for question in asked.request.questions] == [False, True]
    reply = Reply(answers={"Which colour?": "Blue", "Which sizes?": ["S", "L"]})
    await session.answer(request, reply, by="ada", surface="test")
    answer = (await until_ended(session)).answer
    assert "Blue" in answer
    assert "S, L" in answer
    await _sound(session)


async def test_a_declined_question_is_no_answer(hub: Hub, world: World) -> None:
    session = await _open(hub, world)
    question = {
        "question": "Which colour?",
        "header": "Colour",
        "multiSelect": False,
        "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
    }
    await session.prompt(script(tool("AskUserQuestion", {"questions": [question]}), "You said: $LAST"))
    await session.answer(await until_asked(session), Decline(message="later"), by="ada", surface="test")
    answer = (await until_ended(session)).answer
    assert "later" in answer
    assert "Red" not in answer
    await _sound(session)


async def test_a_plan_is_shown_revised_and_approved(hub: Hub, world: World) -> None:
    session = await _open(hub, world, mode="plan")
    write = tool("Write", {"file_path": "$PLANFILE", "content": "# Plan\n1. touch made"})
    await session.prompt(script(write, tool("ExitPlanMode", {}), tool("ExitPlanMode", {}), "Plan over."))
    first = await until_asked(session)
    (asked,) = session.view().requests
    assert asked.request.kind == "plan"
    assert "touch made" in asked.request.plan
    before = session.view().last_seq
    await session.answer(first, Deny(message="think again"), by="ada", surface="test")
    second = await until_asked(session, after=before)
    await session.answer(second, Allow(mode="acceptEdits"), by="ada", surface="test")
    assert (await until_ended(session)).answer == "Plan over."
    assert session.view().mode != "plan"
    await _sound(session)


async def test_plan_mode_refuses_writes_by_itself(hub: Hub, world: World) -> None:
    session = await _open(hub, world, mode="plan")
    await session.prompt(script(tool("Write", {"file_path": "$CWD/made", "content": "x"}), "Understood."))
    assert (await until_ended(session)).ok
    assert not (world.work / "made").exists()
    assert all(each.answered_by == "plan mode" for each in session.view().closed_requests)
    await _sound(session)


async def test_an_interrupt_withdraws_an_open_request(hub: Hub, world: World) -> None:
    session = await _open(hub, world)
    await session.prompt(_touch("made"))
    request = await until_asked(session)
    await session.interrupt()
    assert (await until_ended(session)).stop_reason == "interrupted"
    with pytest.raises(AlreadyAnswered, match="withdrawn"):
        await session.answer(request, Allow(), by="late", surface="test")
    before = session.view().last_seq
    await session.prompt(script("Still here."))
    assert (await until_ended(session, after=before)).answer == "Still here."
    await _sound(session)


async def test_an_interrupt_while_the_model_streams_keeps_the_session_warm(hub: Hub, world: World) -> None:
    session = await _open(hub, world)
    await session.prompt(script(say("some text that never ends", chunk=5, hang=-3)))
    await until(session, lambda event: isinstance(event, m.MessageDelta))
    await session.interrupt()
    assert (await until_ended(session)).stop_reason == "interrupted"
    assert session.attached
    await _sound(session)


async def test_fifty_turns_in_one_process(hub: Hub, world: World) -> None:
    session = await _open(hub, world)
    for number in range(50):
        before = session.view().last_seq
        await session.prompt(script(f"Answer {number}."))
        assert (await until_ended(session, after=before)).answer == f"Answer {number}."
    attached = [event for event in await whole_log(session) if isinstance(event.event, m.EngineAttached)]
    assert len(attached) == 1
    await _sound(session)


async def test_a_steered_message_reaches_the_running_turn(hub: Hub, world: World) -> None:
    session = await _open(hub, world)
    gate = f"touch {world.work}/begun; until test -e {world.work}/go; do :; done; echo ok"
    await session.prompt(script(tool("Bash", {"command": gate}), "First end."))
    await session.answer(await until_asked(session), Allow(), by="ada", surface="test")
    await asyncio.to_thread(_wait_for, world.work / "begun")
    await session.prompt(script("Steered end."), when="steer")
    (world.work / "go").touch()
    assert (await until_ended(session)).answer == "Steered end."
    assert len(session.view().turns) == 1
    await _sound(session)


def _wait_for(path: Path) -> None:
    import time

    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


async def test_a_money_limit_stops_before_the_next_model_call(hub: Hub, world: World) -> None:
    session = await _open(hub, world, limits=Limits(cost_usd=0.01))
    costly = tool("Bash", {"command": "echo hi"}, usage={"input_tokens": 900_000, "output_tokens": 90_000})
    await session.prompt(script(costly, "Too dear."))
    ended = await until_ended(session)
    assert not ended.ok
    assert ended.stop_reason == "max_budget"
    asked = [request for request in world.requests() if request.asks_model]
    assert len(asked) == 1
    await until_idle(session)
    await session.prompt(script("Never."))
    await until(session, lambda event: isinstance(event, m.LimitReached) and event.kind == "money")
    assert len([request for request in world.requests() if request.asks_model]) == 1


async def test_a_session_is_resumed_after_its_process_was_let_go(hub: Hub, world: World) -> None:
    session = await _open(hub, world)
    await session.prompt(script("One."))
    await until_ended(session)
    await until_idle(session)
    await session.evict()
    before = session.view().last_seq
    await session.prompt(script("Two."))
    assert (await until_ended(session, after=before)).answer == "Two."
    assert "One." in str(world.bodies()[-1])
    await _sound(session)


async def test_a_living_session_answers_questions_about_itself(hub: Hub, world: World) -> None:
    session = await _open(hub, world)
    with pytest.raises(EngineGone, match="next prompt"):
        await session.query("context")
    await session.prompt(script("One."))
    await until_ended(session)
    context = await session.query("context")
    assert isinstance(context, ContextUsage)
    assert 0 < context.used < context.size
    assert any(command.name == "compact" for command in session.view().commands)
    await session.set_mode("plan")
    await until(session, lambda event: isinstance(event, m.ModeChanged) and event.mode == "plan")
    with pytest.raises(InvalidValue, match="nonsense"):
        await session.set_mode("nonsense")
    assert session.view().mode == "plan"
    await _sound(session)


async def test_a_fork_goes_its_own_way(hub: Hub, world: World) -> None:
    session = await _open(hub, world)
    await session.prompt(script("One."))
    await until_ended(session)
    await until_idle(session)
    fork = await hub.fork(session.id)
    await fork.prompt(script("Forked."))
    assert (await until_ended(fork)).answer == "Forked."
    assert fork.view().resume != session.view().resume
    await _sound(fork)
