"""Each invariant and each promise finds what breaks it, and leaves alone what does not."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from footplate.events.base import ResumeToken
from footplate.events.codec import decode_envelope
from footplate.events.content import TextBlock
from footplate.events.ids import (
    EngineSessionId,
    MessageId,
    PromptId,
    RequestId,
    SessionId,
    TaskId,
    ToolCallId,
    TurnId,
)
from footplate.events.model import (
    CompactionEnded,
    CompactionStarted,
    EngineDetached,
    Event,
    Message,
    MessageDelta,
    Notice,
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
    SessionClosed,
    TaskEnded,
    TaskStarted,
    TaskUpdated,
    Thought,
    ThoughtDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
    TurnStarted,
    UserMessage,
)
from footplate.events.requests import Allow, Request
from footplate.events.run_events import SessionNote, TextNote
from footplate.events.runs import Action, Completed, RunEvent, Started
from footplate.testing.invariants import INVARIANTS, PROMISES, check_invariants, check_log, check_run
from tests.unit.events.log import ATTACHED, OPENED, Log

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "invariants.md"
TOKEN = ResumeToken(engine="claude", value=EngineSessionId("e1"))
OTHER = ResumeToken(engine="claude", value=EngineSessionId("e2"))
M, C, K, R, P = MessageId("m"), ToolCallId("c"), TaskId("k"), RequestId("r"), PromptId("p")

START = TurnStarted(turn=TurnId("t"))
END = TurnEnded(turn=TurnId("t"), ok=True, resume=TOKEN)
LOST = TurnEnded(turn=TurnId("t"), ok=False, error="lost", stop_reason="lost", resume=TOKEN)
SAID = Message(message=M, part=0, text="hi")
DELTA = MessageDelta(message=M, part=0, text="hi")
CALL = ToolStarted(call=C, name="Bash", kind="command", title="ls")
CHILD = ToolStarted(call=ToolCallId("d"), name="Bash", kind="command", title="ls", parent=C)
DONE = ToolEnded(call=C, ok=True, outcome="completed")
CHILD_DONE = ToolEnded(call=ToolCallId("d"), ok=True, outcome="completed")
ASK = RequestOpened(request=Request(id=R, kind="permission", title="run ls"))
ASK_OF_CALL = RequestOpened(request=Request(id=R, kind="permission", title="run ls", call=C))
ANSWER = RequestAnswered(request=R, answer=Allow(), by="ada")
APPLIED = RequestApplied(request=R)
TASK = TaskStarted(task=K, call=C)
TASK_END = TaskEnded(task=K, status="completed")
QUEUED = PromptQueued(prompt=P, content=(TextBlock(text="go"),))
GONE = EngineDetached(reason="exited")

GOOD: dict[str, tuple[Event, ...]] = {
    "a whole session": (
        OPENED,
        ATTACHED,
        QUEUED,
        TurnStarted(turn=TurnId("t"), prompts=(P,)),
        UserMessage(message=MessageId("u"), content=(TextBlock(text="go"),), prompt=P),
        ThoughtDelta(message=M, part=0, text="hm"),
        Thought(message=M, part=0, text="hm"),
        MessageDelta(message=M, part=1, text="h"),
        MessageDelta(message=M, part=1, text="hi", reset=True),
        Message(message=M, part=1, text="hi"),
        CALL,
        ASK,
        ANSWER,
        APPLIED,
        ToolUpdated(call=C, note="runs"),
        DONE,
        CompactionStarted(),
        CompactionEnded(ok=True),
        END,
        GONE,
        SessionClosed(),
    ),
    "a request outlives its process, and is asked again by another": (
        *(ATTACHED, START, CALL, ASK_OF_CALL, GONE, ANSWER, ATTACHED, ASK_OF_CALL, RequestSent(request=R), APPLIED),
        *(DONE, END),
    ),
    "a sub-agent in the background outlives its turn": (
        *(ATTACHED, START, CALL, TASK, CHILD, DONE, END),
        *(msgspec.structs.replace(SAID, parent=C), CHILD_DONE, TASK_END),
    ),
    "a turn that never got an engine": (START, TurnEnded(turn=TurnId("t"), ok=False, error="not found")),
    "an answer that came too late for the agent": (ATTACHED, START, ASK, ANSWER, RequestWithdrawn(request=R), END),
    "a redacted thought": (
        *(ATTACHED, START, ThoughtDelta(message=M, part=0, text="hm")),
        *(Thought(message=M, part=0, text="", redacted=True), END),
    ),
    "a prompt that moves in the queue": (QUEUED, QUEUED, PromptWithdrawn(prompt=P)),
    "a prompt nobody queued": (ATTACHED, TurnStarted(turn=TurnId("t"), prompts=(P,)), END),
}

BAD: tuple[tuple[str, tuple[Event, ...], str], ...] = (
    ("I1", (START, TurnStarted(turn=TurnId("u"))), "turn u starts while t runs"),
    ("I1", (START, END, START), "turn t starts a second time"),
    ("I2", (START, END, END), "turn t ends while no turn runs"),
    ("I2", (START,), "turn t never ends"),
    ("I3", (START, END, SAID), "Message outside a turn"),
    ("I3", (START, CALL, END, DONE), "ToolEnded of c outside a turn"),
    ("I4", (START, CALL, END), "call c is open at the end of turn t"),
    ("I4", (START, CALL, CHILD, DONE, END), "call d is open at the end of turn t"),
    ("I5", (CALL, CALL), "call c starts a second time"),
    ("I5", (DONE,), "ToolEnded of c, which never started"),
    ("I5", (CALL, DONE, ToolUpdated(call=C, note="late")), "ToolUpdated of c after its end"),
    ("I5", (CALL, DONE, DONE), "ToolEnded of c after its end"),
    ("I6", (CALL,), "call c never ends"),
    ("I7", (ASK, ASK), "request r is opened a second time"),
    ("I7", (ASK, ANSWER, ANSWER), "request r is answered when it is answered"),
    ("I7", (ASK, RequestSent(request=R)), "request r is sent when it is open"),
    ("I7", (ATTACHED, ASK, ANSWER, APPLIED, GONE, ATTACHED, ASK), "request r is opened a second time"),
    ("I8", (APPLIED,), "RequestApplied of r, which was never opened"),
    ("I8", (ASK, ANSWER, APPLIED, RequestWithdrawn(request=R)), "request r is withdrawn after it was applied"),
    ("I8", (ASK, APPLIED), "request r is applied without an answer"),
    ("I8", (ASK, RequestRejected(request=R, reason="no")), "request r is rejected without an answer"),
    ("I8", (ASK, ANSWER, RequestUnanswered(request=R)), "request r is unanswered after its answer"),
    ("I8", (ASK,), "request r never ends"),
    ("I9", (START, ASK, END), "request r is open at the end of turn t"),
    ("I10", (TASK, TASK), "task k starts a second time"),
    ("I10", (TaskUpdated(task=K, note="x"),), "TaskUpdated of k, which never started"),
    ("I10", (TASK, TASK_END, TASK_END), "TaskEnded of k after its end"),
    ("I10", (TASK, TaskEnded(task=K, status="running")), "task k ends as running"),
    ("I10", (TASK,), "task k never ends"),
    ("I11", (SAID, DELTA), "MessageDelta of m/0 after that part was finished"),
    ("I11", (SAID, SAID), "Message of m/0 after that part was finished"),
    ("I12", (DELTA, Message(message=M, part=0, text="ho")), "Message m/0 is 'ho', its deltas were 'hi'"),
    ("I13", (DELTA,), "the message m/0 was streamed and never finished"),
    ("I14", (CompactionStarted(), CompactionStarted()), "a compaction starts within another"),
    ("I14", (CompactionEnded(ok=True),), "a compaction ends that never started"),
    ("I14", (CompactionStarted(),), "a compaction never ends"),
    ("I15", (START, SAID), "Message while no engine is attached"),
    ("I15", (ATTACHED, GONE, START, END), "turn t ends well while no engine is attached"),
    ("I15", (ASK,), "RequestOpened while no engine is attached"),
    ("I16", (START, GONE), "turn t is open when the engine is detached"),
    ("I16", (CALL, GONE), "call c is open when the engine is detached"),
    ("I16", (TASK, GONE), "task k is open when the engine is detached"),
    ("I16", (CompactionStarted(), GONE), "a compaction is open when the engine is detached"),
    ("I17", (CHILD,), "ToolStarted names the parent c, which never started"),
    ("I18", (msgspec.structs.replace(END, error="x"),), "turn t ends with ok=True and error 'x'"),
    ("I18", (msgspec.structs.replace(END, ok=False),), "turn t ends with ok=False and error ''"),
    ("I18", (ToolEnded(call=C, ok=True, outcome="lost"),), "call c ends with ok=True and outcome lost"),
    ("I19", (ATTACHED, msgspec.structs.replace(END, resume=None)), "turn t resumes None, attached is 'e1'"),
    ("I19", (END,), "turn t resumes 'e1', attached is None"),
    ("I20", (QUEUED, PromptSteered(prompt=P), QUEUED), "prompt p is queued after it left the queue"),
    ("I20", (PromptWithdrawn(prompt=P),), "prompt p leaves the queue and is not in it"),
    (
        "I20",
        (QUEUED, PromptWithdrawn(prompt=P), TurnStarted(turn=TurnId("t"), prompts=(P,))),
        "prompt p leaves the queue and is not in it",
    ),
    ("I21", (ATTACHED, OPENED), "SessionOpened after 1 events"),
    ("I21", (SessionClosed(), SAID), "Message after SessionClosed"),
)  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_a_good_log_breaks_nothing(name: str) -> None:
    assert check_invariants(GOOD[name], finished=True) == []


@pytest.mark.parametrize(("number", "events", "finding"), BAD)
def test_a_broken_log_is_found_out(number: str, events: tuple[Event, ...], finding: str) -> None:
    assert f"{number}: {finding}" in check_invariants(events, finished=True)


def test_every_invariant_of_events_has_a_log_that_breaks_it() -> None:
    assert {number for number, _, _ in BAD} | {"I22", "I23"} == {invariant.number for invariant in INVARIANTS}


def test_what_is_open_may_stay_so_while_the_log_goes_on() -> None:
    assert (
        check_invariants((OPENED, ATTACHED, START, CALL, ASK, TASK, DELTA, CompactionStarted()), finished=False) == []
    )


def test_a_request_may_outlive_a_turn_that_was_lost() -> None:
    assert check_invariants((ATTACHED, START, ASK, LOST, GONE), finished=False) == []


# ------------------------------------------------------------------------------------------------------ log


def test_a_log_with_its_deltas_is_numbered_densely() -> None:
    script = Log((OPENED, ATTACHED, START, DELTA, SAID, END, SessionClosed()))
    assert check_log(script.envelopes, finished=True) == []


def test_a_stranger_in_a_log_has_a_number_like_any_other() -> None:
    stranger = decode_envelope(b'{"seq":2,"time":1.0,"session":"s1","event":{"type":"Teleported"}}')
    assert check_log([*Log((OPENED,)).envelopes, stranger]) == []


def test_misnumbered_envelopes_are_found_out() -> None:
    envelopes = Log((OPENED, ATTACHED, START, DELTA, SAID, END)).envelopes
    broken = [envelopes[0], *envelopes[2:]]
    assert check_log(broken)[-1:] == ["I22: number 3 follows 1"]
    early = [*envelopes[:3], msgspec.structs.replace(envelopes[3], seq=4), *envelopes[4:]]
    assert check_log(early) == ["I22: an ephemeral event carries 4, the last durable number is 3"]


def test_a_mixed_log_is_found_out() -> None:
    opened, attached, notice = Log((OPENED, ATTACHED, Notice(level="info", text="x"))).envelopes
    replace = msgspec.structs.replace
    assert check_log([replace(attached, seq=1)]) == ["I23: the log does not begin with SessionOpened"]
    assert check_log([opened, replace(attached, session=SessionId("s2"))]) == ["I23: number 2 is of session s2, not s1"]
    assert check_log([opened, replace(attached, epoch=3), notice]) == ["I23: number 3 is of epoch 1 after 3"]
    assert check_log([opened, replace(attached, turn=TurnId("t"))]) == [
        "I23: number 2 names turn t, which never started"
    ]


# ------------------------------------------------------------------------------------------------------ run

STARTED = Started(engine="claude", resume=TOKEN, title="claude")
BEGUN = Action(id="a", kind="command", title="ls", phase="started", detail=TextNote())
OVER = msgspec.structs.replace(BEGUN, phase="completed", ok=True)
NOTE = Action(id="n", kind="note", title="x", phase="completed", ok=True, detail=TextNote())
MOVED = msgspec.structs.replace(NOTE, detail=SessionNote(resume=OTHER, reason="cleared"))
COMPLETED = Completed(ok=True, resume=TOKEN)


@pytest.mark.parametrize(
    "events",
    [
        (STARTED, BEGUN, msgspec.structs.replace(BEGUN, phase="updated"), OVER, COMPLETED),
        (msgspec.structs.replace(NOTE, kind="warning"), STARTED, COMPLETED),
        (Completed(ok=False, error="not found"),),
        (STARTED, MOVED, msgspec.structs.replace(COMPLETED, resume=OTHER)),
    ],
)
def test_a_good_run_breaks_no_promise(events: tuple[RunEvent, ...]) -> None:
    assert check_run(events) == []


@pytest.mark.parametrize(
    ("events", "findings"),
    [
        ((STARTED, STARTED, COMPLETED), ["R1: 2 times Started"]),
        ((STARTED,), ["R1: 0 times Completed"]),
        ((STARTED, COMPLETED, NOTE), ["R1: Action after Completed"]),
        (
            (STARTED, msgspec.structs.replace(COMPLETED, resume=OTHER)),
            [f"R1: Completed resumes {OTHER}, Started {TOKEN}"],
        ),
        ((STARTED, BEGUN, COMPLETED), ["R2: action a never completes"]),
        ((STARTED, OVER, OVER, COMPLETED), ["R2: action a is completed after it was completed"]),
        ((STARTED, BEGUN, BEGUN, OVER, COMPLETED), ["R2: action a is started after it was started"]),
        (
            (STARTED, msgspec.structs.replace(BEGUN, phase="updated"), OVER, COMPLETED),
            ["R2: action a is updated and never started"],
        ),
        (
            (STARTED, BEGUN, msgspec.structs.replace(OVER, title="la"), COMPLETED),
            ["R2: action a changes from command 'ls' to command 'la'"],
        ),
        (
            (STARTED, BEGUN, msgspec.structs.replace(OVER, ok=None), COMPLETED),
            ["R2: action a is completed with ok=None"],
        ),
        ((NOTE, STARTED, COMPLETED), ["R3: note n comes before Started"]),
        ((Completed(ok=False),), ["R8: the run ends with ok=False and error ''"]),
    ],
)
def test_a_broken_promise_is_found_out(events: tuple[RunEvent, ...], findings: list[str]) -> None:
    assert check_run(events) == findings


# ----------------------------------------------------------------------------------------------------- page


def test_the_page_lists_every_invariant_and_promise_and_no_other() -> None:
    listed = re.findall(r"^- \*\*([IR]\d+)\*\* (.+)$", PAGE.read_text(), flags=re.MULTILINE)
    assert listed == [(held.number, held.sentence) for held in (*INVARIANTS, *PROMISES)]


def test_the_example_on_the_page_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    exec(example, {})


def test_invariants_are_numbered_without_gaps() -> None:
    assert [held.number for held in INVARIANTS] == [f"I{number}" for number in range(1, len(INVARIANTS) + 1)]
