"""A session on the mock agent: prompts, queue, requests, first answer wins, close, open again."""

from __future__ import annotations

import asyncio
import gc
import weakref
from pathlib import Path

import msgspec
import pytest

from footplate.config.rules import Rule
from footplate.errors import AlreadyAnswered, InvalidValue, SessionOver, UnknownRequest, UnknownSession
from footplate.events import model as m
from footplate.events.codec import ReadEnvelope
from footplate.events.ids import PromptId, RequestId, SessionId
from footplate.events.model import Envelope, RequestApplied, RequestWithdrawn
from footplate.events.requests import Allow, Choose, Deny, Reply
from footplate.runtime.hub import Hub
from footplate.runtime.limits import Limits
from footplate.runtime.services import Services
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from footplate.store.values import RequestFilter
from footplate.testing.invariants import check_log
from tests.unit.runtime.following import until, until_asked, until_ended, until_idle, whole_log
from tests.unit.runtime.gates import GatedMachine


async def _open(hub: Hub, folder: Path, **spec: object) -> Session:
    return await hub.create(SessionSpec(engine="mock", cwd=str(folder), **spec))  # type: ignore[arg-type]


async def test_a_prompt_is_answered_and_the_log_is_sound(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("hello")
    ended = await until_ended(session)
    assert (ended.ok, ended.answer) == (True, "mock: hello")
    await until_idle(session)
    assert session.view().state == "idle"
    await session.close()


async def test_prompts_that_come_while_a_turn_runs_wait_their_turn(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    first = await session.prompt("slow 50")
    second = await session.prompt("second")
    third = await session.prompt("third")
    assert [each.id for each in session.view().queue if each.id != first] == [second, third]
    seen: list[str] = []
    after = 0
    while len(seen) < 3:
        seen.append((await until_ended(session, after=after)).answer)
        after = session.view().last_seq if len(seen) == 3 else await _seq_of(session, len(seen))
    assert seen == ["slow beginslow end", "mock: second", "mock: third"]


async def _seq_of(session: Session, turns: int) -> int:
    log = await whole_log(session)
    ends = [envelope.seq for envelope in log if isinstance(envelope.event, m.TurnEnded)]
    return ends[turns - 1]


async def test_a_mode_that_is_set_while_the_agent_starts_reaches_the_agent(services: Services, tmp_path: Path) -> None:
    machine = services.surroundings = GatedMachine()
    machine.disk.shut()
    async with Hub.open(services) as hub:
        session = await _open(hub, tmp_path)
        await session.prompt("hello")
        await machine.disk.reached.wait()
        setting = asyncio.create_task(session.set_mode("plan"))
        await asyncio.sleep(0)
        assert not session.attached
        machine.disk.open()
        await setting
        await until_ended(session)
        await until_idle(session)
        assert session.view().mode == "plan"
        options = [option for option in session.view().options if option.category == "mode"]
        assert [option.value for option in options] == ["plan"], "as the agent says"


@pytest.mark.parametrize("engine", ["claude", "codex", "gemini", "qwen", "mock"])
async def test_a_mode_that_the_engine_does_not_have_is_refused_before_any_process_runs(
    hub: Hub, tmp_path: Path, engine: str
) -> None:
    with pytest.raises(InvalidValue, match="mode: 'nope' cannot be used; expected one of"):
        await hub.create(SessionSpec(engine=engine, cwd=str(tmp_path), mode="nope"))
    session = await hub.create(SessionSpec(engine=engine, cwd=str(tmp_path)))
    with pytest.raises(InvalidValue, match="mode: 'nope' cannot be used; expected one of"):
        await session.set_mode("nope")
    await session.set_mode("plan")
    assert session.view().mode == "plan"


async def test_a_mode_that_only_the_agent_names_can_be_set(hub: Hub, tmp_path: Path) -> None:
    session = await hub.create(SessionSpec(engine="gemini", cwd=str(tmp_path)))
    told = m.ConfigOption(id="mode", category="mode", values=(m.ConfigValue(value="newer"),))
    await session._do(lambda: session._log.append([m.ConfigChanged(options=(told,))], source="engine"))
    await session.set_mode("newer")
    assert session.view().mode == "newer"


async def test_a_running_agent_is_not_asked_for_a_mode_that_it_does_not_have(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("hello")
    await until_idle(session)
    before = len(await whole_log(session))
    with pytest.raises(InvalidValue, match="one of default, plan, bypassPermissions"):
        await session.set_mode("nope")
    assert len(await whole_log(session)) == before


async def test_a_waiting_prompt_can_be_taken_back(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("hang")
    await until(session, lambda event: isinstance(event, m.TurnStarted))
    waiting = await session.prompt("never")
    await session.withdraw(waiting)
    assert session.view().queue == ()
    with pytest.raises(InvalidValue, match="still waits"):
        await session.withdraw(PromptId("nobody"))
    await session.interrupt()
    ended = await until_ended(session)
    assert ended.stop_reason == "interrupted"


async def test_the_same_key_twice_is_one_prompt(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("hello", key="once")
    await until_ended(session)
    await session.prompt("hello", key="once")
    assert len(session.view().turns) == 1


async def test_an_answer_reaches_the_agent_and_is_applied(hub: Hub, services: Services, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("permission")
    request = await until_asked(session)
    await until(session, lambda event: isinstance(event, m.StateChanged) and event.waiting_for == "you")
    open_now = await hub.requests(RequestFilter(states=("open",)))
    assert [row.id for row in open_now.items] == [request]
    answered = await session.answer(request, Allow(), by="ada", surface="test")
    assert (answered.state, answered.answered_by) == ("answered", "ada")
    ended = await until_ended(session)
    assert ended.answer == "permission: allow"
    (closed,) = session.view().closed_requests
    assert closed.state == "applied"
    (row,) = await services.store.audit.read()
    assert msgspec.json.decode(row.body)["by"] == "ada"


async def test_the_second_answer_is_told_who_was_first(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("permission")
    request = await until_asked(session)
    await session.answer(request, Deny(), by="ada\u202e", surface="web")
    with pytest.raises(AlreadyAnswered, match="by ada⟨U\\+202E⟩ from web; your answer was not used"):
        await session.answer(request, Allow(), by="bob", surface="telegram")
    ended = await until_ended(session)
    assert "permission: reject" in ended.answer
    with pytest.raises(UnknownRequest):
        await session.answer(RequestId("req_nobody"), Allow(), by="bob", surface="x")


@pytest.mark.long
async def test_of_two_answers_at_the_same_moment_one_wins_every_time(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    winners: set[str] = set()
    for number in range(1000):
        before = session.view().last_seq
        await session.prompt("permission")
        request = await until_asked(session, after=before)
        order = (("ada", Allow()), ("bob", Deny())) if number % 2 else (("bob", Deny()), ("ada", Allow()))
        results = await asyncio.gather(
            *(session.answer(request, answer, by=by, surface="test") for by, answer in order),
            return_exceptions=True,
        )
        lost = [result for result in results if isinstance(result, AlreadyAnswered)]
        assert len(lost) == 1
        winners.add(lost[0].by)
        ended = await until_ended(session, after=before)
        assert ended.answer == ("permission: allow" if lost[0].by == "ada" else "permission: reject")
    assert winners == {"ada", "bob"}


async def test_a_question_is_answered_in_words(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("question")
    request = await until_asked(session)
    (asked,) = [each for each in session.view().requests if each.request.id == request]
    question = asked.request.questions[0]
    await session.answer(request, Reply(answers={question.text: question.choices[0].label}), by="a", surface="t")
    ended = await until_ended(session)
    assert question.choices[0].label in ended.answer


async def test_a_wrong_option_is_refused_and_the_request_stays_open(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("permission")
    request = await until_asked(session)
    with pytest.raises(InvalidValue, match="nonsense"):
        await session.answer(request, Choose(option="nonsense"), by="a", surface="t")
    assert session.view().requests[0].state == "open"
    await session.answer(request, Choose(option="allow"), by="a", surface="t")
    assert (await until_ended(session)).ok


class TestRules:
    """Rules of the operator answer first and are recorded as the answerer."""

    @pytest.fixture
    def rules(self) -> tuple[Rule, ...]:
        return (Rule(tool="Bash", pattern="touch *", decision="deny", message="not here"),)

    async def test_a_rule_answers_before_anybody_is_asked(self, hub: Hub, tmp_path: Path) -> None:
        session = await _open(hub, tmp_path)
        await session.prompt("permission")
        ended = await until_ended(session)
        assert "permission: reject" in ended.answer
        (closed,) = session.view().closed_requests
        assert closed.answered_by == "rule of the operator: deny Bash touch *"
        assert closed.answered_from == "policy"


async def test_allowing_for_the_session_makes_a_rule_that_can_be_revoked(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("permission")
    await session.answer(await until_asked(session), Allow(scope="session"), by="ada", surface="t")
    await until_ended(session)
    before = session.view().last_seq
    await session.prompt("permission")
    assert (await until_ended(session, after=before)).answer == "permission: allow"
    (rule,) = session.rules()
    assert (rule.tool, rule.subject, rule.label) == ("Bash", "touch example.txt", "Allow Bash: touch example.txt")
    await session.revoke(rule.id, by="ada", surface="t")
    assert session.rules() == ()
    with pytest.raises(InvalidValue, match="a rule of this session"):
        await session.revoke(rule.id)
    before = session.view().last_seq
    await session.prompt("permission")
    request = await until_asked(session, after=before)
    await session.answer(request, Deny(), by="ada", surface="t")
    await until_ended(session, after=before)


async def test_closing_ends_what_is_open_and_nothing_more_can_be_asked(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("permission")
    request = await until_asked(session)
    await session.close("enough")
    view = session.view()
    assert view.state == "closed" or view.closed_reason == "enough"
    assert [each.state for each in view.closed_requests if each.request.id == request] == ["unanswered"]
    with pytest.raises(SessionOver):
        await session.prompt("more")


async def test_closing_does_not_silence_what_became_of_an_answer(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("permission")
    request = await until_asked(session)
    reader = session.subscribe(0)

    async def read() -> list[Envelope | ReadEnvelope]:
        return [delivery.envelope() async for delivery in reader]

    reading = asyncio.create_task(read())
    await asyncio.gather(session.answer(request, Allow(), by="ada", surface="t"), session.close("enough"))
    log = await reading
    assert check_log(log) == []
    ends = [each.event for each in log if isinstance(each.event, RequestApplied | RequestWithdrawn)]
    assert [event.request for event in ends] == [request]


async def test_a_session_opened_again_goes_on_where_it_stood(hub: Hub, services: Services, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("remember me")
    await until_ended(session)
    await until_idle(session)
    await hub.forget(session.id)
    again = await hub.get(session.id)
    assert again is not session
    before = again.view().last_seq
    await again.prompt("history")
    ended = await until_ended(again, after=before)
    assert "remember me" in ended.answer
    assert [turn.id for turn in again.view().turns] == ["turn-1", "turn-2"]
    log = await whole_log(again)
    assert check_log(log, finished=False) == []


async def test_what_a_stopped_process_left_open_is_closed_honestly(
    hub: Hub, services: Services, tmp_path: Path
) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("hang")
    await until(session, lambda event: isinstance(event, m.TurnStarted))
    async with Hub.open(services) as another:
        await another.take_up_left()
        again = await another.get(session.id)
        assert again.view().turns[-1].stop_reason == "lost"
        assert again.view().state == "interrupted"


async def test_an_evicted_agent_is_resumed_by_the_next_prompt(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("one")
    await until_ended(session)
    await until_idle(session)
    agent = weakref.ref(session._conductor.agent)
    await session.evict()
    assert not session.attached
    gc.collect()
    assert agent() is None, "a session without its agent keeps none of the agent's memory"
    before = session.view().last_seq
    await session.prompt("history")
    assert "one" in (await until_ended(session, after=before)).answer


async def test_the_limit_of_turns_stops_before_the_next_prompt_and_says_so(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path, limits=Limits(turns=1))
    await session.prompt("one")
    await until_ended(session)
    await session.prompt("two")
    events = await until(session, lambda event: isinstance(event, m.LimitReached))
    assert events[-1].text == "1 of 1 turn used"  # type: ignore[union-attr]
    assert len(session.view().queue) == 1
    await session.set_limits(Limits(turns=2))


async def test_the_limit_of_time_interrupts_the_running_turn_and_says_so(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path, limits=Limits(seconds=0.2))
    await session.prompt("hang")
    ended = await until_ended(session)
    assert ended.stop_reason == "interrupted"
    (limit,) = session.view().limits
    assert (limit.kind, limit.text) == ("time", "the 0.2s of the session are over")


async def test_the_limit_of_tool_calls_interrupts_the_running_turn_and_says_so(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path, limits=Limits(tool_calls=1))
    await session.prompt("demo")
    events = await until(session, lambda event: isinstance(event, m.LimitReached))
    assert events[-1].kind == "tool_calls"  # type: ignore[union-attr]
    await until_ended(session)
    assert session.view().requests == ()


async def test_a_crash_of_the_agent_is_told_and_the_queue_goes_on(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("crash 3")
    ended = await until_ended(session)
    assert (ended.ok, ended.stop_reason) == (False, "lost")
    before = session.view().last_seq
    await session.prompt("hello")
    assert (await until_ended(session, after=before)).answer == "mock: hello"


async def test_two_readers_see_the_same_and_a_late_one_gets_the_text_so_far(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("slow 100000")
    await until(session, lambda event: isinstance(event, m.MessageDelta))
    late = await until(session, lambda event: isinstance(event, m.MessageDelta))
    assert isinstance(late[-1], m.MessageDelta)
    assert (late[-1].text, late[-1].reset) == ("slow begin", True)
    await session.interrupt()
    await until_ended(session)


async def test_a_persons_own_command_is_shown_and_told_to_the_agent_without_a_turn(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    ran = await session.run_command("echo out; echo err >&2; exit 3")
    assert ran == m.CommandRan(
        command="echo out; echo err >&2; exit 3", output="out\nerr\n", exit_code=3, truncated=False
    )
    assert session.view().turns == ()
    await session.prompt("blocks")
    assert (await until_ended(session)).answer == "2"
    before = session.view().last_seq
    await session.prompt("blocks")
    assert (await until_ended(session, after=before)).answer == "1"


async def test_a_command_that_talks_for_ever_is_cut(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    ran = await session.run_command("yes")
    assert ran.truncated
    assert ran.output.endswith("[cut after 65536 bytes]")


async def test_waiting_prompts_can_be_put_in_another_order(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("hang")
    await until(session, lambda event: isinstance(event, m.TurnStarted))
    one, two, three = [await session.prompt(text) for text in ("one", "two", "three")]
    await session.reorder((three, one))
    assert [each.id for each in session.view().queue] == [three, one, two]
    with pytest.raises(InvalidValue, match="still waits"):
        await session.reorder((PromptId("nobody"),))
    await session.close()


async def test_an_unknown_session_is_told_by_id(hub: Hub) -> None:
    with pytest.raises(UnknownSession, match="nobody"):
        await hub.get(SessionId("nobody"))


async def test_a_session_is_put_aside_and_back(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await hub.archive(session.id)
    assert await hub.archived() == {session.id}
    await hub.archive(session.id, archived=False)
    assert await hub.archived() == frozenset()


async def test_a_session_is_exported_as_lines(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("hello")
    await until_ended(session)
    lines = [line async for line in hub.export(session.id)]
    assert any(b'"PromptQueued"' in line for line in lines)


async def test_a_deleted_session_is_gone(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await hub.delete(session.id)
    with pytest.raises(UnknownSession):
        await hub.get(session.id)


async def test_what_the_engine_cannot_do_is_a_failed_turn_and_no_prompt_is_left_waiting(
    hub: Hub, tmp_path: Path
) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("hello")
    await until_ended(session)
    await until_idle(session)
    fork = await hub.fork(session.id)
    await fork.prompt("hello")
    ended = await until_ended(fork)
    assert not ended.ok
    assert "fork" in ended.error
    assert fork.view().queue == ()


async def test_an_agent_that_cannot_start_is_a_failed_turn_that_says_what_to_do(hub: Hub, tmp_path: Path) -> None:
    session = await hub.create(SessionSpec(engine="claude", cwd=str(tmp_path)))
    await session.prompt("hello")
    ended = await until_ended(session)
    assert not ended.ok
    commands = ("install.sh | bash", "brew install --cask claude-code", "npm install -g @anthropic-ai/claude-code")
    assert all(command in ended.error for command in commands)
    assert "run `claude` once to log in" in ended.error


async def test_a_closed_session_can_be_opened_to_be_read_and_takes_nothing_more(hub: Hub, tmp_path: Path) -> None:
    session = await _open(hub, tmp_path)
    await session.prompt("hello")
    await until_ended(session)
    await session.close("done")
    await hub.forget(session.id)
    again = await hub.get(session.id)
    last = again.view().last_seq
    assert (again.view().state, again.view().closed_reason) == ("closed", "done")
    with pytest.raises(SessionOver):
        await again.prompt("more")
    assert again.view().last_seq == last
