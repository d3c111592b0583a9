"""The reduced view of the session as a whole: engine, state, queue, requests, limits, notices, on logs by hand."""

from __future__ import annotations

from pathlib import Path

import msgspec

from footplate.events.base import ResumeToken
from footplate.events.codec import decode_envelope
from footplate.events.content import TextBlock
from footplate.events.draft import CLOSED_KEPT
from footplate.events.ids import EngineSessionId, MessageId, PromptId, RequestId, RuleId, SessionId, ToolCallId, TurnId
from footplate.events.model import (
    CommandRan,
    CommandsChanged,
    CompactionEnded,
    CompactionStarted,
    ConfigChanged,
    ConfigOption,
    EngineAttached,
    EngineDetached,
    FilesRewound,
    LimitReached,
    MessageDelta,
    ModeChanged,
    ModelChanged,
    Notice,
    Parked,
    PromptQueued,
    PromptSteered,
    PromptWithdrawn,
    RequestAnswered,
    RequestApplied,
    RequestOpened,
    RequestRejected,
    RequestSent,
    RequestUnanswered,
    RequestWithdrawn,
    RuleAdded,
    RuleRevoked,
    SessionClosed,
    SlashCommand,
    StateChanged,
    TitleChanged,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    Unparsed,
    UsageReported,
    UserMessage,
)
from footplate.events.reduce import SessionReducer, initial, reduce
from footplate.events.requests import Allow, Deny, Request
from footplate.events.rules import SessionRule
from footplate.events.usage import Usage
from footplate.events.view import (
    CommandItem,
    CompactionItem,
    ExitView,
    LimitView,
    Meter,
    NoticeItem,
    QueuedPrompt,
    RequestView,
    RewindItem,
    SessionView,
    ToolItem,
)
from tests.page_program import bundle_function, call_page
from tests.unit.events.log import ATTACHED, OPENED, SESSION, Log, log

P1, P2, P3 = PromptId("p1"), PromptId("p2"), PromptId("p3")
T1 = TurnId("t1")
R1 = RequestId("r1")
TEXT = (TextBlock(text="go"),)
ASK = Request(id=R1, kind="permission", title="run ls", tool="Bash")


def test_nothing_is_known_of_a_session_without_events() -> None:
    assert Log().view() == initial() == SessionView()


def test_an_opened_and_attached_session_tells_where_and_what_it_is() -> None:
    opened = msgspec.structs.replace(OPENED, title="fix", model="sonnet", mode="plan", forked_from=SessionId("s0"))
    attached = msgspec.structs.replace(
        ATTACHED, version="2.1", model="opus", tools=("Bash",), commands=("clear",), credentials="subscription"
    )
    assert Log((opened, attached)).view() == SessionView(
        session=SESSION,
        last_seq=2,
        opened_at=1.0,
        updated_at=2.0,
        title="fix",
        forked_from=SessionId("s0"),
        engine="claude",
        version="2.1",
        cwd="/project",
        model="opus",
        mode="plan",
        credentials="subscription",
        resume=ResumeToken(engine="claude", value=EngineSessionId("e1")),
        attached=True,
        tools=("Bash",),
        commands=(SlashCommand(name="clear"),),
    )


def test_settings_follow_their_latest_event() -> None:
    option, command = ConfigOption(id="effort", value="high"), SlashCommand(name="clear", description="start over")
    script = log() >> ModeChanged(mode="plan") >> ModelChanged(model="opus") >> TitleChanged(title="new")
    script >> ConfigChanged(options=(option,)) >> CommandsChanged(commands=(command,))
    script >> StateChanged(state="waiting", waiting_for="you", until=9.5)
    view = script.view()
    assert (view.mode, view.model, view.title, view.options, view.commands) == (
        "plan",
        "opus",
        "new",
        (option,),
        (command,),
    )
    assert (view.state, view.waiting_for, view.until) == ("waiting", "you", 9.5)


def test_a_changed_engine_session_changes_the_resume_token() -> None:
    script = log() >> EngineAttached(engine="claude", engine_session_id=EngineSessionId("e2"), reason="cleared")
    assert script.view().resume == ResumeToken(engine="claude", value=EngineSessionId("e2"))


def test_a_detached_engine_leaves_its_last_words_and_no_live_text() -> None:
    script = log() >> TurnStarted(turn=T1) >> MessageDelta(message=MessageId("m"), part=0, text="x")
    script >> EngineDetached(reason="killed", signal=9, stderr="bye")
    view = script.view()
    assert (view.attached, view.live) == (False, ())
    assert view.exit == ExitView(reason="killed", at=4.0, signal=9, stderr="bye")


def test_a_closed_session_is_closed() -> None:
    view = (log() >> StateChanged(state="waiting", waiting_for="you") >> SessionClosed(reason="done")).view()
    assert (view.state, view.waiting_for, view.attached, view.closed_reason) == ("closed", "", False, "done")


# --------------------------------------------------------------------------------------------------- queue


def test_a_prompt_waits_until_a_turn_takes_it_up() -> None:
    script = log() >> PromptQueued(prompt=P1, content=TEXT) >> PromptQueued(prompt=P2, content=TEXT, position=1)
    assert script.view().queue == (QueuedPrompt(id=P1, content=TEXT, at=3.0), QueuedPrompt(id=P2, content=TEXT, at=4.0))
    assert (script >> TurnStarted(turn=T1, prompts=(P1,))).view().queue == (QueuedPrompt(id=P2, content=TEXT, at=4.0),)


def test_a_prompt_that_is_withdrawn_steered_or_seen_in_the_conversation_waits_no_longer() -> None:
    script = log()
    for prompt in (P1, P2, P3):
        script >> PromptQueued(prompt=prompt, content=TEXT)
    script >> PromptWithdrawn(prompt=P2) >> PromptSteered(prompt=P1)
    script >> UserMessage(message=MessageId("m"), content=TEXT, prompt=P3)
    assert script.view().queue == ()


def test_a_prompt_told_again_moves_to_its_new_position() -> None:
    script = log()
    for prompt in (P1, P2, P3):
        script >> PromptQueued(prompt=prompt, content=TEXT)
    script >> PromptQueued(prompt=P3, content=TEXT, position=0)
    assert [waiting.id for waiting in script.view().queue] == [P3, P1, P2]


# ------------------------------------------------------------------------------------------------ requests


def test_a_request_goes_from_open_to_answered_to_applied() -> None:
    script = log() >> TurnStarted(turn=T1) >> RequestOpened(request=ASK)
    opened = RequestView(request=ASK, opened_at=4.0, turn=T1)
    assert script.view().requests == (opened,)
    script >> RequestAnswered(request=R1, answer=Allow(), by="ada", surface="telegram")
    answered = msgspec.structs.replace(
        opened, state="answered", answer=Allow(), answered_by="ada", answered_from="telegram", answered_at=5.0
    )
    assert script.view().requests == (answered,)
    view = (script >> RequestApplied(request=R1)).view()
    assert view.requests == ()
    assert view.closed_requests == (msgspec.structs.replace(answered, state="applied", ended_at=6.0),)


def test_the_first_answer_counts() -> None:
    script = log() >> RequestOpened(request=ASK) >> RequestAnswered(request=R1, answer=Allow(), by="ada")
    before = script.view().requests
    assert (script >> RequestAnswered(request=R1, answer=Deny(), by="bob")).view().requests == before


def test_each_end_of_a_request_keeps_its_state_and_reason() -> None:
    script = log()
    ends = (
        RequestRejected(request=RequestId("a"), reason="bad input"),
        RequestWithdrawn(request=RequestId("b"), reason="interrupted"),
        RequestUnanswered(request=RequestId("c"), reason="closed"),
    )
    for end in ends:
        script >> RequestOpened(request=msgspec.structs.replace(ASK, id=end.request)) >> end
    assert [(held.request.id, held.state, held.reason) for held in script.view().closed_requests] == [
        ("a", "rejected", "bad input"),
        ("b", "withdrawn", "interrupted"),
        ("c", "unanswered", "closed"),
    ]


def test_a_request_outlives_its_process_detached_until_it_is_asked_again() -> None:
    script = log() >> RequestOpened(request=ASK) >> EngineDetached(reason="reboot")
    assert [held.detached for held in script.view().requests] == [True]
    script >> EngineAttached(engine="claude", engine_session_id=EngineSessionId("e1"), reason="resumed")
    assert [held.detached for held in script.view().requests] == [True]
    script >> RequestOpened(request=ASK)
    assert script.view().requests == (RequestView(request=ASK, opened_at=3.0),)


def test_an_answer_that_is_sent_is_known_to_be() -> None:
    script = log() >> RequestOpened(request=ASK) >> RequestAnswered(request=R1, answer=Allow(), by="ada")
    assert [held.sent for held in script.view().requests] == [False]
    assert [held.sent for held in (script >> RequestSent(request=R1)).view().requests] == [True]


def test_a_steered_prompt_belongs_to_the_turn_that_runs() -> None:
    script = log() >> TurnStarted(turn=TurnId("t"), prompts=(PromptId("a"),)) >> PromptSteered(prompt=PromptId("b"))
    assert script.view().turns[0].prompts == ("a", "b")


def test_a_request_of_a_process_that_is_gone_stays_detached_when_a_later_one_outlives_a_service() -> None:
    script = log() >> RequestOpened(request=ASK) >> EngineDetached(reason="killed")
    script >> EngineAttached(engine="claude", engine_session_id=EngineSessionId("e1"), reason="resumed")
    script >> EngineAttached(engine="claude", engine_session_id=EngineSessionId("e1"), reason="reattached")
    assert script.view().requests == (RequestView(request=ASK, opened_at=3.0, detached=True),)


def test_a_request_is_attached_again_by_the_process_that_asks_it_again() -> None:
    script = log() >> RequestOpened(request=ASK) >> EngineDetached(reason="killed") >> RequestOpened(request=ASK)
    assert [held.detached for held in script.view().requests] == [False]


def test_only_the_latest_closed_requests_are_kept() -> None:
    script = log()
    for number in range(CLOSED_KEPT + 5):
        script >> RequestOpened(request=msgspec.structs.replace(ASK, id=RequestId(str(number))))
        script >> RequestWithdrawn(request=RequestId(str(number)))
    kept = [held.request.id for held in script.view().closed_requests]
    assert kept == [str(number) for number in range(5, CLOSED_KEPT + 5)]


# -------------------------------------------------------------------------------------------------- rules


def test_a_rule_is_there_from_when_it_was_added_until_it_is_revoked() -> None:
    one = SessionRule(id=RuleId("one"), label="Allow Bash: ls", tool="Bash", subject="ls")
    two = SessionRule(id=RuleId("two"), label="Allow Bash(ls *)", engine_rule=msgspec.Raw(b'{"type":"addRules"}'))
    script = log() >> RuleAdded(rule=one, by="ada") >> RuleAdded(rule=two, by="ada") >> RuleAdded(rule=two, by="ada")
    assert script.view().rules == (one, two)
    script = script >> RuleRevoked(rule=RuleId("one"), by="bob") >> RuleRevoked(rule=RuleId("never"), by="bob")
    assert script.view().rules == (two,)


def test_what_the_session_itself_asks_does_not_go_with_the_process() -> None:
    asked = Request(id=RequestId("limit"), kind="question", title="Go on?", limit="money")
    script = log() >> RequestOpened(request=asked) >> EngineDetached(reason="idle")
    assert [held.detached for held in script.view().requests] == [False]


# -------------------------------------------------------------------------------------- figures and limits


def test_the_meter_keeps_what_a_report_leaves_out() -> None:
    script = log() >> UsageReported(context_used=10, context_size=200, model="opus") >> UsageReported(cost_usd=0.5)
    assert script.view().meter == Meter(used=10, size=200, cost_usd=0.5, model="opus")


def test_a_session_costs_the_sum_of_its_turns_and_before_that_what_its_engine_reports(tmp_path: Path) -> None:
    script = log() >> UsageReported(cost_usd=0.9)
    before = script.view()
    for number in ("1", "2"):
        turn = TurnId(number)
        script >> TurnStarted(turn=turn) >> TurnEnded(turn=turn, ok=True, usage=Usage(cost_usd=0.5, total_cost_usd=1.4))
    views = (initial(), before, script.view())
    assert [view.cost_usd for view in views] == [None, 0.9, 1.0]
    imported = 'import { costOf } from "../src/state/reduce_turn";'
    program = bundle_function("cost", imported, "costOf(given)", tmp_path)
    assert call_page(program, map(msgspec.to_builtins, views)) == [None, 0.9, 1.0]


def test_a_limit_stands_until_it_is_clear_and_each_word_is_told() -> None:
    script = log() >> LimitReached(kind="usage", status="warning", name="5h", utilization=0.9)
    script >> LimitReached(kind="usage", status="reached", name="5h", resets_at=99.0, text="wait")
    assert script.view().limits == (
        LimitView(kind="usage", name="5h", status="reached", at=4.0, resets_at=99.0, text="wait"),
    )
    view = (script >> LimitReached(kind="usage", status="clear", name="5h")).view()
    assert view.limits == ()
    assert view.items == (
        NoticeItem(id="notice-3", turn=None, at=3.0, level="warning", text="5h", code="limit", detail="warning"),
        NoticeItem(id="notice-4", turn=None, at=4.0, level="warning", text="wait", code="limit", detail="reached"),
        NoticeItem(id="notice-5", turn=None, at=5.0, level="info", text="5h", code="limit", detail="clear"),
    )


def test_a_parked_session_says_until_when() -> None:
    view = (log() >> Parked(reason="usage limit", until=50.0)).view()
    assert (view.state, view.until) == ("parked", 50.0)
    assert view.items == (
        NoticeItem(id="notice-3", turn=None, at=3.0, level="info", text="usage limit", code="parked"),
    )


# ------------------------------------------------------------------------------------------------ timeline


def test_a_summary_is_the_note_of_its_calls_and_without_them_a_notice() -> None:
    calls = tuple(map(ToolCallId, ("a", "b", "c")))
    script = log()
    for call in calls:
        script = script >> ToolStarted(call=call, name="Bash", kind="command", title="ls")
    view = (
        script
        >> ToolEnded(call=calls[0], ok=True, outcome="completed")
        >> ToolEnded(call=calls[1], ok=False, outcome="denied", note="not allowed")
        >> Notice(level="info", text="Listed files", calls=(*calls[:2], ToolCallId("unknown")))
        >> Notice(level="info", text="Of another log", calls=(ToolCallId("unknown"),))
    ).view()
    assert [item.note for item in view.items if isinstance(item, ToolItem)] == [
        "Listed files",
        "not allowed; Listed files",
        "",
    ]
    assert [item.text for item in view.items if isinstance(item, NoticeItem)] == ["Of another log"]


def test_notices_and_unreadable_lines_stand_in_the_timeline() -> None:
    script = (
        log() >> Notice(level="error", text="oops", code="x", detail="more") >> Unparsed(raw="}{", reason="no JSON")
    )
    view = script.view()
    assert view.unparsed == 1
    assert view.items == (
        NoticeItem(id="notice-3", turn=None, at=3.0, level="error", text="oops", code="x", detail="more"),
        NoticeItem(id="notice-4", turn=None, at=4.0, level="warning", text="no JSON", code="unparsed", detail="}{"),
    )


def test_a_compaction_is_one_item_from_start_to_end_and_the_meter_shows_it() -> None:
    script = log() >> CompactionStarted(trigger="auto")
    assert script.view().items == (CompactionItem(id="compaction-3", turn=None, at=3.0, trigger="auto"),)
    view = (script >> CompactionEnded(ok=True, tokens_before=900, tokens_after=100)).view()
    assert view.meter == Meter(used=100)
    assert view.items == (
        CompactionItem(
            id="compaction-3",
            turn=None,
            at=3.0,
            trigger="auto",
            status="done",
            tokens_before=900,
            tokens_after=100,
            ended_at=4.0,
        ),
    )


def test_a_compaction_that_nobody_saw_start_is_told_all_the_same() -> None:
    assert (log() >> CompactionEnded(ok=False, error="too small")).view().items == (
        CompactionItem(id="compaction-3", turn=None, at=3.0, status="failed", error="too small", ended_at=3.0),
    )


def test_a_persons_command_and_a_rewind_stand_in_the_timeline() -> None:
    script = log() >> CommandRan(command="ls", output="a", exit_code=0)
    script >> FilesRewound(message=MessageId("m"), files=("a.py",))
    assert script.view().items == (
        CommandItem(id="command-3", turn=None, at=3.0, command="ls", output="a", exit_code=0),
        RewindItem(id="rewind-4", turn=None, at=4.0, message=MessageId("m"), files=("a.py",)),
    )


def test_the_envelopes_turn_wins_over_the_running_one() -> None:
    script = log() >> TurnStarted(turn=T1) >> Notice(level="info", text="late")
    script.envelopes[-1] = msgspec.structs.replace(script.envelopes[-1], turn=TurnId("t0"))
    assert [item.turn for item in script.view().items] == ["t0"]


# ----------------------------------------------------------------------------------------------- delivery


def test_an_event_of_a_later_version_is_counted_and_moves_the_cursor() -> None:
    reducer = SessionReducer(log().view())
    stranger = decode_envelope(b'{"seq":3,"time":3.0,"session":"s1","event":{"type":"Teleported"}}')
    assert [reducer.apply(stranger), reducer.apply(stranger)] == [True, False]
    assert (reducer.view().unknown, reducer.last_seq) == (1, 3)


def test_a_number_that_was_seen_is_dropped() -> None:
    script = log() >> Notice(level="info", text="once")
    reducer = SessionReducer(script.view())
    assert [reducer.apply(envelope) for envelope in script] == [False, False, False]
    assert reducer.view() == script.view()


def test_a_delta_older_than_the_last_durable_event_is_dropped() -> None:
    script = log() >> MessageDelta(message=MessageId("m"), part=0, text="old")
    late = script.envelopes[-1]
    script >> TurnStarted(turn=T1) >> TurnEnded(turn=T1, ok=True)
    reducer = SessionReducer(script.view())
    assert reducer.apply(late) is False
    assert reducer.view() == script.view()


def test_one_step_is_a_pure_function() -> None:
    script = log() >> Notice(level="info", text="x")
    before = log().view()
    assert reduce(before, script.envelopes[-1]) == script.view()
    assert before == log().view()
