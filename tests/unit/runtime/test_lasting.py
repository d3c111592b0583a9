"""What outlives a process: rules of a session, and limits that ask, on the mock agent."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from footplate.errors import AlreadyAnswered, InvalidValue
from footplate.events import model as m
from footplate.events.ids import RuleId
from footplate.events.requests import Allow, Choose, Decline, Reply
from footplate.events.rules import SessionRule
from footplate.runtime.audit import Principal
from footplate.runtime.hub import Hub
from footplate.runtime.limit_requests import GO_ON
from footplate.runtime.limits import Limits
from footplate.runtime.services import Services
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from footplate.testing.invariants import check_log
from tests.unit.runtime.following import until, until_asked, until_ended, until_idle, until_state, whole_log


async def _open(hub: Hub, cwd: Path, **limits: object) -> Session:
    given = Limits(**limits)  # type: ignore[arg-type]
    return await hub.create(SessionSpec(engine="mock", cwd=str(cwd), limits=given))


async def _sound(session: Session) -> None:
    assert check_log(await whole_log(session), finished=False) == []


async def test_a_rule_of_the_session_holds_when_it_is_opened_again_until_it_is_revoked(
    hub: Hub, services: Services, tmp_path: Path
) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("permission")
    await session.answer(await until_asked(session), Allow(scope="session"), by="ada", surface="t")
    await until_ended(session)
    await until_idle(session)
    await hub.forget(session.id)
    async with Hub.open(services) as another:
        again = await another.get(session.id)
        before = again.view().last_seq
        await again.prompt("permission")
        assert (await until_ended(again, after=before)).answer == "permission: allow"
        assert again.view().closed_requests[-1].answered_from == "policy"
        (rule,) = again.rules()
        await again.revoke(rule.id, by="bob", surface="other")
        await another.forget(session.id)
        last = await another.get(session.id)
        assert last.rules() == ()
        before = last.view().last_seq
        await last.prompt("permission")
        await last.answer(await until_asked(last, after=before), Allow(), by="ada", surface="t")
        await until_ended(last, after=before)
        await _sound(last)


async def test_an_agent_that_does_not_let_go_of_a_revoked_rule_is_replaced(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("one")
    await until_ended(session)
    held = SessionRule(id=RuleId("held"), label="", tool="Bash", engine_rule=msgspec.Raw(b"{}"))
    await session._take_batch([m.RuleAdded(rule=held, by="ada")])
    before = session.view().last_seq
    await session.revoke(held.id)
    await until(session, lambda event: isinstance(event, m.EngineDetached), after=before)
    await session.prompt("history")
    assert "one" in (await until_ended(session, after=before)).answer


async def test_a_fork_begins_without_the_rules_of_the_other(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("permission")
    await session.answer(await until_asked(session), Allow(scope="exact"), by="ada", surface="t")
    await until_ended(session)
    assert len(session.rules()) == 1
    fork = await hub.fork(session.id)
    assert fork.rules() == ()


# ------------------------------------------------------------------------------------------------- limits


async def test_at_a_limit_that_asks_somebody_lets_it_go_on(hub: Hub, services: Services, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path, turns=1, on_reached="ask")
    await session.prompt("one")
    await until_ended(session)
    await session.prompt("two")
    asked = await until_asked(session)
    await until_state(session, "waiting", "you")
    assert [turn.answer for turn in session.view().turns] == ["mock: one"]
    with pytest.raises(InvalidValue, match="how much more"):
        await session.answer(asked, Reply(answers={"?": "maybe"}), by="ada", surface="t")
    before = session.view().last_seq
    found = await session.answer(asked, Choose(option="go_on"), by="ada", surface="t")
    assert (found.state, found.answered_by) == ("applied", "ada")
    assert (await until_ended(session, after=before)).answer == "mock: two"
    assert session.spec.limits.turns == 2
    with pytest.raises(AlreadyAnswered, match="ada"):
        await session.answer(asked, Decline(), by="bob", surface="t")
    records = [msgspec.json.decode(row.body) for row in await services.store.audit.read()]
    assert [(record["act"], record["by"]) for record in records] == [("session.limits", "ada"), ("answer", "ada")]
    assert records[0]["detail"]["turns"] == 2
    await until_idle(session)
    await _sound(session)


async def test_who_opens_a_session_again_with_another_mode_or_limits_is_in_the_log(
    hub: Hub, services: Services, tmp_path: Path
) -> None:
    session = await _open(hub, tmp_path, turns=1)
    spec = msgspec.structs.replace(session.spec, mode="plan", limits=Limits(turns=9), model="other")
    for _ in range(2):
        await session.respec(spec, Principal(by="ada", surface="acp"))
    records = [msgspec.json.decode(row.body) for row in await services.store.audit.read()]
    assert [(record["act"], record["by"]) for record in records] == [("session.mode", "ada"), ("session.limits", "ada")]
    assert (records[0]["detail"]["mode"], records[1]["detail"]["turns"]) == ("plan", 9)


async def test_a_no_stops_it_until_something_new_is_asked_for(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path, turns=1, on_reached="ask")
    await session.prompt("one")
    await until_ended(session)
    await session.prompt("two")
    await session.answer(await until_asked(session), Decline(), by="ada", surface="t")
    await until_state(session, "idle", "limit")
    view = session.view()
    assert len(view.queue) == 1
    assert [limit.kind for limit in view.limits] == ["turns"]
    await session.prompt("three")
    asked = await until_asked(session, after=view.last_seq)
    await session.answer(asked, Reply(answers={"?": "2"}), by="ada", surface="t")
    await _until_turns(session, 3)
    assert [turn.answer for turn in session.view().turns] == ["mock: one", "mock: two", "mock: three"]
    await _sound(session)


async def test_the_question_about_a_limit_outlives_the_process(hub: Hub, services: Services, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path, turns=1, on_reached="ask")
    await session.prompt("one")
    await until_ended(session)
    await session.prompt("two")
    asked = await until_asked(session)
    await hub.forget(session.id)
    async with Hub.open(services) as another:
        again = await another.get(session.id)
        (held,) = again.view().requests
        assert (held.request.id, held.state, held.detached) == (asked, "open", False)
        before = again.view().last_seq
        await again.answer(asked, Allow(), by="ada", surface="t")
        assert (await until_ended(again, after=before)).answer == "mock: two"
        await until_idle(again)
        await another.forget(session.id)
        assert (await another.get(session.id)).spec.limits.turns == 2
        await _sound(await another.get(session.id))


async def test_other_limits_end_the_question_and_it_goes_on(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path, turns=1, on_reached="ask")
    await session.prompt("one")
    await until_ended(session)
    await session.prompt("two")
    asked = await until_asked(session)
    before = session.view().last_seq
    await session.set_limits(Limits(turns=5))
    assert (await until_ended(session, after=before)).answer == "mock: two"
    (closed,) = session.view().closed_requests
    assert (closed.request.id, closed.state) == (asked, "withdrawn")


async def test_a_turn_that_ran_out_of_time_goes_on_where_it_was_stopped(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path, seconds=0.3, on_reached="ask")
    await session.prompt("hang")
    await session.prompt("after")
    ended = await until_ended(session)
    assert ended.stop_reason == "interrupted"
    asked = await until_asked(session)
    await session.answer(asked, Reply(answers={"?": "600"}), by="ada", surface="t")
    await _until_turns(session, 3)
    assert [turn.answer for turn in session.view().turns[1:]] == [f"mock: {GO_ON}", "mock: after"]
    await _sound(session)


async def test_too_many_tool_calls_are_asked_about_once_and_counted_across_processes(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path, tool_calls=1, on_reached="ask")
    await session.prompt("demo")
    events = await until(session, lambda event: isinstance(event, m.RequestOpened) and event.request.limit != "")
    assert isinstance(events[-1], m.RequestOpened)
    await session.answer(events[-1].request.id, Decline(), by="ada", surface="t")
    await until_idle(session)
    await hub.forget(session.id)
    again = await hub.get(session.id)
    before = again.view().last_seq
    await again.prompt("hello")
    asked = await until_asked(again, after=before)
    assert again.view().requests[0].request.limit == "tool_calls"
    await again.answer(asked, Allow(), by="ada", surface="t")
    assert (await until_ended(again, after=before)).answer == "mock: hello"


async def _until_turns(session: Session, number: int) -> None:
    """So many turns have ended."""
    if sum(turn.ok is not None for turn in session.view().turns) < number:
        name = f"turn-{number}"
        await until(session, lambda event: isinstance(event, m.TurnEnded) and event.turn == name)
    await until_idle(session)
