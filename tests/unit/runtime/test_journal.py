"""What stays open for a request whose process is gone, and the events that bring it to an end: on logs by hand."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from footplate.engines.parking import Pending, Recorded, Way
from footplate.events import model as m
from footplate.events.base import ResumeToken
from footplate.events.content import TextBlock
from footplate.events.ids import EngineSessionId, PromptId, RequestId, SessionId, TaskId, ToolCallId, TurnId
from footplate.events.model import Envelope, Event
from footplate.events.reduce import fold
from footplate.events.requests import Allow, Choose, Deny, Request, RequestOption
from footplate.events.view import RequestView, SessionView
from footplate.runtime import aftermath
from footplate.runtime.journal import NOTHING, kept_open, pending_of, refuses, results_in, state_of
from footplate.runtime.recovery import BRIDGE, STOPPED, close_what_was_left
from footplate.runtime.requests import RequestBook
from footplate.runtime.standing import standing_of
from footplate.testing.invariants import check_invariants
from footplate.ulid import new_ulid

T, R, A, B, C = TurnId("t"), RequestId("r"), ToolCallId("a"), ToolCallId("b"), ToolCallId("c")
TOKEN = ResumeToken(engine="claude", value=EngineSessionId("e"))
OPTIONS = (
    RequestOption(id="allow", label="Allow once", kind="allow_once"),
    RequestOption(id="always", label="Always", kind="allow_always"),
    RequestOption(id="deny", label="Deny", kind="deny"),
)
ASKED = Request(id=R, kind="permission", title="run ls", tool="Bash", call=A, options=OPTIONS, mode="default")
BEGUN: tuple[Event, ...] = (
    m.SessionOpened(engine="claude", cwd="/work"),
    m.EngineAttached(engine="claude", engine_session_id=TOKEN.value),
    m.TurnStarted(turn=T),
)
CALLED = m.ToolStarted(call=A, name="Bash", kind="command", title="ls")
OPENED = m.RequestOpened(request=ASKED)
ANSWERED = m.RequestAnswered(request=R, answer=Allow(), by="ada")
SENT = m.RequestSent(request=R)
GONE = m.EngineDetached(reason=STOPPED)


def view_of(*events: Event) -> SessionView:
    return fold(
        Envelope(seq=seq, time=1.0, session=SessionId("s"), epoch=1, turn=None, source="engine", event=event)
        for seq, event in enumerate((*BEGUN, *events), 1)
    )


def held_in(view: SessionView) -> RequestView:
    (held,) = view.requests
    return held


# ------------------------------------------------------------------------------------------------- journal


@pytest.mark.parametrize(
    ("events", "state"),
    [((), "open"), ((GONE, ANSWERED), "decided"), ((ANSWERED, SENT), "sending"), ((ANSWERED, SENT, GONE), "sending")],
)
def test_how_far_a_request_came_is_told_by_its_log(events: tuple[Event, ...], state: str) -> None:
    assert state_of(held_in(view_of(CALLED, OPENED, *events))) == state


def test_a_request_keeps_its_call_and_its_turn_open() -> None:
    view = view_of(CALLED, m.ToolStarted(call=B, name="Bash", kind="command", title="pwd"), OPENED)
    kept = kept_open(view)
    assert (kept.ids, kept.calls) == (frozenset({R}), frozenset({A}))
    assert close_what_was_left(view, kept) == [
        m.ToolEnded(call=B, ok=False, outcome="lost", note=STOPPED),
        GONE,
    ]


def test_a_sub_agents_request_keeps_the_calls_above_it_open() -> None:
    above = m.ToolStarted(call=B, name="Agent", kind="subagent", title="look")
    below = replace(CALLED, parent=B)
    view = view_of(above, below, replace(OPENED, parent=B))
    assert kept_open(view).calls == frozenset({A, B})
    assert pending_of(view, held_in(view)) == Pending(request=ASKED, parents=(B,))


def test_nothing_is_kept_for_a_request_of_an_agent_in_the_background() -> None:
    above = m.ToolStarted(call=B, name="Agent", kind="subagent", title="look")
    launched = m.ToolEnded(call=B, ok=True, outcome="completed")
    task = m.TaskStarted(task=TaskId("k"), call=B, background=True)
    view = view_of(above, task, launched, replace(CALLED, parent=B), replace(OPENED, parent=B))
    assert kept_open(view) == NOTHING
    assert m.RequestWithdrawn(request=R, reason=STOPPED) in close_what_was_left(view, kept_open(view))


def test_a_turn_without_a_request_is_lost_and_words_of_ours_are_not_sent_again() -> None:
    ours = PromptId(f"{BRIDGE}1")
    theirs = m.PromptQueued(prompt=PromptId("p"), content=(TextBlock(text="next"),))
    view = view_of(CALLED, m.PromptQueued(prompt=ours, content=()), theirs)
    assert close_what_was_left(view) == [
        m.ToolEnded(call=A, ok=False, outcome="lost", note=STOPPED),
        m.PromptWithdrawn(prompt=ours, reason=STOPPED),
        m.TurnEnded(turn=T, ok=False, error=STOPPED, stop_reason="lost", resume=TOKEN),
        GONE,
    ]


def test_the_results_of_the_turn_are_those_that_calls_of_its_own_have_had() -> None:
    ended = m.ToolEnded(call=A, ok=False, outcome="failed", content=(TextBlock(text="no such file"),))
    inner = m.ToolStarted(call=C, name="Bash", kind="command", title="ls", parent=B)
    lost = m.ToolEnded(call=B, ok=False, outcome="lost")
    above = m.ToolStarted(call=B, name="Agent", kind="subagent", title="look")
    view = view_of(CALLED, above, inner, m.ToolEnded(call=C, ok=True, outcome="completed"), ended, lost)
    assert results_in(view) == (Recorded(call=A, text="no such file", is_error=True),)


def test_results_that_came_with_the_end_of_the_process_count_also_those_of_a_turn_that_has_ended() -> None:
    ended = m.ToolEnded(call=A, ok=True, outcome="completed", content=(TextBlock(text="hello"),))
    quick = m.ToolStarted(call=B, name="Bash", kind="command", title="pwd")
    refused = m.ToolEnded(call=B, ok=False, outcome="denied", content=(TextBlock(text="not now"),))
    inner = m.ToolStarted(call=C, name="Bash", kind="command", title="ls", parent=A)
    lost = m.TurnEnded(turn=T, ok=False, error=STOPPED, stop_reason="lost", resume=TOKEN)
    results = (Recorded(call=A, text="hello"), Recorded(call=B, text="not now", is_error=True))
    assert results_in(view_of(CALLED), (ended, quick, refused, inner, replace(ended, call=C), lost)) == results
    assert results_in(view_of(CALLED, ended, quick, refused, lost), (GONE,)) == results


@pytest.mark.parametrize(
    ("answer", "no"),
    [(Allow(), False), (Deny(), True), (Choose(option="deny"), True), (Choose(option="always"), False)],
)
def test_a_no_is_known_by_itself_or_by_its_option(answer: Allow | Deny | Choose, *, no: bool) -> None:
    view = view_of(CALLED, OPENED, m.RequestAnswered(request=R, answer=answer, by="ada"))
    assert refuses(held_in(view)) is no


def test_a_new_process_is_told_what_is_open_and_asks_for_itself() -> None:
    view = view_of(CALLED, OPENED, ANSWERED, GONE)
    assert standing_of(view).requests == ()
    assert standing_of(view, living=True).requests == ()  # it was another process that asked
    (request,) = standing_of(view_of(CALLED, OPENED, ANSWERED), living=True).requests
    assert (request.request, request.answer) == (ASKED, Allow())
    assert [(call.id, call.ended) for call in standing_of(view).calls] == [(A, False)]


def test_a_request_that_is_asked_again_goes_by_the_id_it_had() -> None:
    book = RequestBook(new_ulid)
    renamed = book.rename(m.RequestOpened(request=replace(ASKED, id=RequestId("engine-1"))))
    assert isinstance(renamed, m.RequestOpened)
    book.adopt(R, RequestId("engine-1"))
    assert book.engine_id(R) == "engine-1"
    assert book.rename(m.RequestApplied(request=RequestId("engine-1"))) == m.RequestApplied(request=R)
    with pytest.raises(KeyError):
        book.engine_id(renamed.request.id)


# ----------------------------------------------------------------------------------------------- aftermath


def then(view_events: tuple[Event, ...], events: list[Event], *, finished: bool = False) -> list[str]:
    """What the whole log breaks."""
    return check_invariants([*BEGUN, *view_events, *events], finished=finished)


def test_an_unknown_outcome_is_told_and_asked_about() -> None:
    before = (CALLED, OPENED, ANSWERED, SENT)
    held = held_in(view_of(*before))
    events = aftermath.ask_about_rerun(held, RequestId("r2"))
    withdrawn, notice, opened = events
    assert withdrawn == m.RequestWithdrawn(request=R, reason=aftermath.UNKNOWN)
    assert isinstance(notice, m.Notice)
    assert isinstance(opened, m.RequestOpened)
    asked = opened.request
    assert (asked.id, asked.replaces, asked.rerun, asked.call) == ("r2", R, True, A)
    assert [(option.id, option.label) for option in asked.options] == [
        ("allow", "Run it again"),
        ("deny", "Go on without running it again"),
    ]
    assert then(before, [*events, GONE]) == []
    assert kept_open(view_of(*before, *events, GONE)).ids == {"r2"}


def test_a_no_to_running_it_again_leaves_it_allowed_and_unknown() -> None:
    rerun = replace(ASKED, rerun=True)
    no = m.RequestAnswered(request=R, answer=Choose(option="deny"), by="ada")
    view = view_of(CALLED, m.RequestOpened(request=rerun), GONE, no)
    assert pending_of(view, held_in(view)) == Pending(request=rerun, state="sending", answer=Allow())
    yes = view_of(CALLED, m.RequestOpened(request=rerun), GONE, ANSWERED)
    assert pending_of(yes, held_in(yes)).state == "decided"


@pytest.mark.parametrize(
    ("way", "ends", "outcome"),
    [
        (Way(kind="ask"), "", ""),
        (Way(kind="tell", message="make it", again=True), "", "lost"),
        (Way(kind="anew"), "", "lost"),
        (Way(kind="tell", message="go on", text="written"), "applied", "completed"),
        (Way(kind="tell", message="go on", text="refused", is_error=True), "applied", "failed"),
        (Way(kind="tell", message="go on", text="?", is_error=True, unknown=True), "withdrawn", "lost"),
    ],
)
def test_what_is_stored_before_a_process_is_started_fits_how_it_goes_on(way: Way, ends: str, outcome: str) -> None:
    before = (CALLED, OPENED, GONE, ANSWERED)
    view = view_of(*before)
    events = aftermath.before_process(view, held_in(view), way)
    after = view_of(*before, *events)
    assert [held.state for held in after.closed_requests] == ([ends] if ends else [])
    assert [event.outcome for event in events if isinstance(event, m.ToolEnded)] == ([outcome] if outcome else [])
    assert then(before, events) == []


def test_calls_that_a_restart_drops_are_told() -> None:
    view = view_of(CALLED, OPENED, GONE, ANSWERED)
    (notice,) = aftermath.before_process(view, held_in(view), Way(kind="ask", dropped=2))
    assert isinstance(notice, m.Notice)
    assert notice.text.startswith("2 further calls")


def test_a_result_that_the_engine_has_ends_the_call_and_the_request() -> None:
    before = (CALLED, OPENED, ANSWERED, SENT)
    view = view_of(*before)
    events = aftermath.settled(view, held_in(view), Way(kind="settled", text="done"))
    assert events == [
        m.RequestApplied(request=R),
        m.ToolEnded(call=A, ok=True, outcome="completed", content=(TextBlock(text="done"),)),
    ]
    after = view_of(*before, *events)
    assert then(before, [*events, *close_what_was_left(after, kept_open(after))], finished=True) == []


@pytest.mark.parametrize(("request_end", "state"), [("withdrawn", "withdrawn"), ("unanswered", "unanswered")])
def test_a_turn_without_a_process_can_be_ended(request_end: str, state: str) -> None:
    before = (CALLED, OPENED, GONE)
    view = view_of(*before)
    events = aftermath.end_turn(view, "enough", stop="interrupted", request=request_end)  # type: ignore[arg-type]
    assert then(before, events, finished=True) == []
    after = view_of(*before, *events)
    assert [held.state for held in after.closed_requests] == [state]
    assert (after.turns[0].stop_reason, after.items[0].status) == ("interrupted", "cancelled")  # type: ignore[union-attr]
    assert aftermath.cancelled(view) == (Recorded(call=A, text=aftermath.NOT_RUN, is_error=True),)


def test_what_a_turn_ended_without_is_withdrawn() -> None:
    assert aftermath.left_at_end(view_of(CALLED, OPENED)) == []
    (left,) = aftermath.left_at_end(view_of(CALLED, OPENED, GONE))
    assert left == m.RequestWithdrawn(request=R, reason=aftermath.NOT_ASKED)
