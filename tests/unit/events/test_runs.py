"""The run view keeps its promises, each test under the number of the promise it is about."""

from __future__ import annotations

import msgspec

from footplate.events.ids import MessageId, ToolCallId
from footplate.events.model import (
    EngineAttached,
    EngineDetached,
    MessageDelta,
    Notice,
    SessionClosed,
    SessionOpened,
    ToolEnded,
    TurnEnded,
    TurnStarted,
    Unparsed,
)
from footplate.events.run_events import SessionNote, TextNote
from footplate.events.runs import Action, Completed, RunFold, RunMeta, Started
from tests.unit.events.run_script import (
    ATTACHED,
    BASH,
    BEGIN,
    COMPLETED,
    E1,
    E2,
    ENDED,
    OTHER,
    STARTED,
    T1,
    TOKEN,
    run,
    text,
)

# -------------------------------------------------------------------- 1: one Started, one Completed, and last


def test_1_a_plain_run_is_started_and_completed() -> None:
    assert run(*BEGIN, ENDED) == [STARTED, COMPLETED]


def test_1_started_tells_how_the_agent_was_started() -> None:
    attached = EngineAttached(
        engine="claude",
        engine_session_id=E1,
        version="2.1",
        model="opus",
        mode="plan",
        cwd="/project",
        output_style="default",
        credentials="subscription",
    )
    meta = RunMeta(
        cwd="/project",
        permission_mode="plan",
        output_style="default",
        model="opus",
        version="2.1",
        billing="subscription",
    )
    assert run(attached, finish=False) == [Started(engine="claude", resume=TOKEN, title="opus", meta=meta)]


def test_1_a_session_known_only_by_its_result_is_started_all_the_same() -> None:
    opened = SessionOpened(engine="claude", cwd="/project")
    assert run(opened, ENDED) == [msgspec.structs.replace(STARTED, meta=RunMeta(cwd="/project")), COMPLETED]


def test_1_without_a_session_there_is_no_started() -> None:
    assert run(TurnStarted(turn=T1), TurnEnded(turn=T1, ok=False, error="no login")) == [
        Completed(ok=False, error="no login")
    ]


def test_1_a_session_attached_again_is_not_started_again() -> None:
    assert run(*BEGIN, ATTACHED, ENDED) == [STARTED, COMPLETED]


def test_1_finish_after_the_completion_gives_nothing() -> None:
    fold = RunFold()
    run(*BEGIN, ENDED, fold=fold)
    assert fold.completed
    assert fold.finish(error="late") == ()


# -------------------------------------------------------------------------------------- 2: actions complete


def test_2_a_call_that_was_never_ended_is_completed_before_the_run_is() -> None:
    started, lost = (event for event in run(*BEGIN, BASH, ENDED) if isinstance(event, Action))
    assert (started.phase, started.ok) == ("started", None)
    assert lost == msgspec.structs.replace(
        started, phase="completed", ok=False, level="error", message="no end of this was reported"
    )


def test_2_a_call_is_completed_also_when_the_agent_dies() -> None:
    shown = run(*BEGIN, BASH, EngineDetached(reason="killed"))
    assert [event.phase for event in shown if isinstance(event, Action)] == ["started", "completed"]


def test_2_an_id_that_is_taken_gets_a_neighbour() -> None:
    odd = msgspec.structs.replace(BASH, call=ToolCallId("warning-1"))
    shown = run(*BEGIN, odd, Notice(level="warning", text="w"), ENDED)
    assert [event.id for event in shown if isinstance(event, Action)] == ["warning-1", "warning-1+", "warning-1"]


def test_2_a_call_that_starts_again_is_shown_once() -> None:
    ended = ToolEnded(call=ToolCallId("c1"), ok=True, outcome="completed")
    shown = run(*BEGIN, BASH, BASH, ended, BASH, ended, ENDED)
    assert [event.phase for event in shown if isinstance(event, Action)] == ["started", "completed"]


# ---------------------------------------------------------------------------- 3: only warnings before Started


def test_3_warnings_come_at_once_and_all_else_waits_for_started() -> None:
    fold = RunFold()
    assert run(Notice(level="info", text="a hook"), fold=fold, finish=False) == []
    early = run(Notice(level="warning", text="old"), fold=fold, finish=False)
    assert [event.title for event in early if isinstance(event, Action)] == ["old"]
    late = run(ATTACHED, fold=fold, finish=False)
    assert late[0] == STARTED
    assert [event.title for event in late[1:] if isinstance(event, Action)] == ["a hook"]


def test_3_what_waited_for_a_session_that_never_came_is_told_at_the_end() -> None:
    shown = run(Notice(level="info", text="a hook"))
    assert [type(event) for event in shown] == [Action, Completed]


# --------------------------------------------------------------------------------------- 6: the right session


def test_6_a_resumed_run_keeps_its_session() -> None:
    assert run(*BEGIN, ENDED, fold=RunFold(resume=TOKEN)) == [STARTED, COMPLETED]


def test_6_another_session_than_the_one_asked_for_ends_the_run_with_an_error() -> None:
    error = "claude opened session 'e1' instead of 'e2'; check the id, or start a new session"
    assert run(*BEGIN, ENDED, fold=RunFold(resume=OTHER)) == [Completed(ok=False, error=error, resume=OTHER)]


def test_6_the_session_asked_for_may_stand_in_the_log() -> None:
    opened = SessionOpened(engine="claude", cwd="/project", resumed=OTHER)
    assert [type(event) for event in run(opened, *BEGIN, ENDED)] == [Completed]


def test_6_another_session_in_the_middle_of_a_run_ends_it_with_an_error() -> None:
    attached = EngineAttached(engine="claude", engine_session_id=E2, reason="resumed")
    error = "claude opened session 'e2' instead of 'e1'; check the id, or start a new session"
    assert run(*BEGIN, attached, ENDED) == [STARTED, Completed(ok=False, error=error, resume=TOKEN)]


def test_6_a_result_of_another_session_is_an_error_with_its_answer_kept() -> None:
    shown = run(*BEGIN, msgspec.structs.replace(ENDED, resume=OTHER))
    error = "claude opened session 'e2' instead of 'e1'; check the id, or start a new session"
    assert shown == [STARTED, Completed(ok=False, answer="done", error=error, resume=TOKEN)]


def test_6_after_clear_the_new_session_is_followed_and_announced() -> None:
    cleared = EngineAttached(engine="claude", engine_session_id=E2, reason="cleared")
    assert run(*BEGIN, cleared, msgspec.structs.replace(ENDED, resume=OTHER)) == [
        STARTED,
        Action(
            id="note-1",
            kind="note",
            title="the session is now e2",
            phase="completed",
            ok=True,
            detail=SessionNote(resume=OTHER, reason="cleared"),
        ),
        msgspec.structs.replace(COMPLETED, resume=OTHER),
    ]


def test_6_a_fork_starts_under_its_own_id() -> None:
    forked = EngineAttached(engine="claude", engine_session_id=E2, reason="forked")
    shown = run(forked, msgspec.structs.replace(ENDED, resume=OTHER), fold=RunFold(resume=TOKEN))
    assert shown == [
        msgspec.structs.replace(STARTED, resume=OTHER),
        msgspec.structs.replace(COMPLETED, resume=OTHER),
    ]


# ------------------------------------------------------------------------------------ 7: unreadable lines


def test_7_an_unreadable_line_is_one_warning_and_the_run_goes_on() -> None:
    assert run(*BEGIN, Unparsed(raw="}{", reason="not JSON", size=2), ENDED) == [
        STARTED,
        Action(
            id="warning-1",
            kind="warning",
            title="unreadable line from the agent: not JSON",
            phase="completed",
            ok=False,
            level="warning",
            detail=TextNote(text="}{", code="unparsed"),
        ),
        COMPLETED,
    ]


# --------------------------------------------------------------------------------- 8: exit without a result


def test_8_an_exit_without_a_result_tells_why_and_keeps_the_last_text() -> None:
    gone = EngineDetached(reason="exited", exit_code=3, stderr="boom\n")
    assert run(*BEGIN, text("so far"), gone) == [
        STARTED,
        Completed(
            ok=False,
            answer="so far",
            error="the agent ended without a result (exited, exit code 3): boom",
            resume=TOKEN,
        ),
    ]


def test_8_text_that_was_being_written_is_the_last_text() -> None:
    deltas = (MessageDelta(message=MessageId("n"), part=0, text=piece) for piece in ("half ", "a sen"))
    (*_, completed) = run(*BEGIN, text("before"), *deltas)
    assert completed == Completed(ok=False, answer="half a sen", error="the agent ended without a result", resume=TOKEN)


def test_8_a_tail_sent_again_is_not_doubled() -> None:
    deltas = (MessageDelta(message=MessageId("n"), part=0, text=piece, reset=True) for piece in ("half", "half a"))
    (*_, completed) = run(*BEGIN, *deltas)
    assert isinstance(completed, Completed)
    assert completed.answer == "half a"


def test_8_words_of_sub_agents_and_stand_ins_of_the_engine_are_no_answer() -> None:
    sub = msgspec.structs.replace(text("sub"), parent=ToolCallId("c1"))
    synthetic = msgspec.structs.replace(text("No response requested."), synthetic=True)
    (*_, completed) = run(*BEGIN, text("mine"), sub, synthetic, msgspec.structs.replace(ENDED, answer=""))
    assert completed == msgspec.structs.replace(COMPLETED, answer="mine")


def test_8_the_callers_words_win() -> None:
    fold = RunFold()
    run(*BEGIN, EngineDetached(reason="killed", signal=9), fold=fold, finish=False)
    assert fold.finish(error="timed out after 5 s") == (Completed(ok=False, error="timed out after 5 s", resume=TOKEN),)


def test_8_a_failed_turn_always_has_an_error() -> None:
    (*_, completed) = run(*BEGIN, TurnEnded(turn=T1, ok=False, stop_reason="max_turns", resume=TOKEN))
    assert completed == Completed(ok=False, error="the turn ended: max_turns", resume=TOKEN)


def test_8_a_closed_session_completes_its_run() -> None:
    (*_, completed) = run(*BEGIN, SessionClosed(reason="by ada"), finish=False)
    assert completed == Completed(ok=False, error="the session was closed: by ada", resume=TOKEN)
