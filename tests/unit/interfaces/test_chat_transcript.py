"""Events as a transcript: what a person reads, line by line, and what is being written."""

from __future__ import annotations

import msgspec
import pytest

from footplate.events import model as m
from footplate.events.base import EventBase
from footplate.events.codec import encode
from footplate.events.content import TextBlock
from footplate.events.ids import MessageId, PromptId, RequestId, SessionId, TaskId, ToolCallId, TurnId
from footplate.events.model import Envelope, Event, is_ephemeral
from footplate.events.requests import Allow, Request
from footplate.events.tools import CommandDetail, FileChange, FileChangeDetail, Hunk, PlanEntry
from footplate.events.usage import Usage
from footplate.events.view import LimitView, Meter, QueuedPrompt, SessionView, ToolItem, Totals, TurnView
from footplate.interfaces.cli.chat.asking import request_lines
from footplate.interfaces.cli.chat.editor import LineEditor
from footplate.interfaces.cli.chat.panel import draw_panel
from footplate.interfaces.cli.chat.room import Room
from footplate.interfaces.cli.chat.status import status_line, usage_lines
from footplate.interfaces.cli.chat.text import Line
from footplate.interfaces.cli.chat.transcript import Transcript
from footplate.runtime.backend import Standing

SESSION = SessionId("S")
TURN = TurnId("t1")
M1 = MessageId("m1")
CALL = ToolCallId("c1")
EVIL = "evil\x1b[31m\x1b]0;title\x07\u202e\x9b\n\x08"


class Log:
    """Numbers events as a log does."""

    def __init__(self) -> None:
        self._seq = 0
        self._time = 100.0

    def envelope(self, event: Event) -> Envelope:
        """The next one; each comes a second after the one before."""
        self._seq += not is_ephemeral(event)
        self._time += 1.0
        return Envelope(seq=self._seq, time=self._time, session=SESSION, event=event)


def _shown(*events: Event, columns: int | None = None) -> list[Line]:
    log, transcript = Log(), Transcript(columns)
    return [line for event in events for line in transcript.feed(log.envelope(event))]


def _texts(*events: Event, columns: int | None = None) -> list[str]:
    return ["  " * line.indent + line.text for line in _shown(*events, columns=columns)]


def _prompt(name: str, text: str, position: int = 0) -> m.PromptQueued:
    return m.PromptQueued(prompt=PromptId(name), content=(TextBlock(text=text),), position=position)


def test_a_turn_reads_from_prompt_to_price() -> None:
    usage = Usage(cost_usd=0.5)
    assert _texts(
        _prompt("p", "hello\nthere"),
        m.TurnStarted(turn=TURN, prompts=(PromptId("p"),)),
        m.Message(message=M1, part=0, text="Hi.\n\nHow are you?\n"),
        m.TurnEnded(turn=TURN, ok=True, answer="Hi.", usage=usage),
    ) == ["> hello", "  there", "Hi.", "", "How are you?", "- 2s · $0.50"]


def test_an_answer_that_no_message_told_is_shown_and_an_error_too() -> None:
    ended = m.TurnEnded(turn=TURN, ok=False, answer="the answer", error="it broke\nbadly")
    assert _texts(m.TurnStarted(turn=TURN), ended) == ["the answer", "✗ it broke", "badly", "- 1s"]


def test_a_start_that_fails_shows_what_was_said_and_why_it_failed() -> None:
    started = m.TurnStarted(turn=TURN, prompts=(PromptId("a"),), origin="prompt")
    failed = m.TurnEnded(turn=TURN, ok=False, error="claude cannot be started: please run /login", stop_reason="error")
    assert _texts(_prompt("a", "fix it"), started, failed)[:2] == [
        "> fix it",
        "✗ claude cannot be started: please run /login",
    ]


def test_a_prompt_behind_another_is_marked_steered_or_taken_back() -> None:
    assert _texts(
        m.TurnStarted(turn=TURN),
        _prompt("a", "later"),
        _prompt("b", "never", 1),
        m.PromptWithdrawn(prompt=PromptId("b"), reason="taken back"),
        m.PromptSteered(prompt=PromptId("a")),
    ) == ["+ queued: later", "+ queued: never", "- not sent (taken back): never", "» later"]


def test_text_streams_by_rows_and_nothing_is_shown_twice() -> None:
    log, transcript = Log(), Transcript(10)
    pieces = ["one two ", "three fo", "ur\nfive", " six"]
    rows = [
        line.text
        for piece in pieces
        for line in transcript.feed(log.envelope(m.MessageDelta(message=M1, part=0, text=piece)))
    ]
    assert rows == ["one two", "three four"]
    assert transcript.partial == Line("five six")
    rest = transcript.feed(log.envelope(m.Message(message=M1, part=0, text="".join(pieces))))
    assert rest == [Line("five six")]
    assert transcript.partial is None


def test_without_columns_only_whole_lines_leave() -> None:
    delta = m.MessageDelta(message=M1, part=0, text="a long line that goes on and on\nand ano")
    assert _texts(delta) == ["a long line that goes on and on"]


def test_a_reader_that_joins_in_the_middle_gets_the_text_so_far_once() -> None:
    again = m.MessageDelta(message=M1, part=0, text="one\ntwo\nthr", reset=True)
    first = m.MessageDelta(message=M1, part=0, text="one\ntw")
    assert _texts(first, again, m.Message(message=M1, part=0, text="one\ntwo\nthree")) == ["one", "two", "three"]


def test_a_text_that_changed_while_it_was_written_is_shown_as_it_ended() -> None:
    delta = m.MessageDelta(message=M1, part=0, text="draft\nmore")
    assert _texts(delta, m.Message(message=M1, part=0, text="final")) == ["draft", "final"]


def test_an_escape_sequence_that_is_cut_in_two_is_still_taken_out() -> None:
    cut = [m.MessageDelta(message=M1, part=0, text=text) for text in ("red \x1b[3", "1mtext\n")]
    assert _texts(*cut, m.Message(message=M1, part=0, text="red \x1b[31mtext\n")) == ["red text"]


def test_two_streams_never_mix() -> None:
    other = MessageId("m2")
    assert _texts(
        m.MessageDelta(message=M1, part=0, text="first\nsec"),
        m.MessageDelta(message=other, part=0, text="other\n", parent=CALL),
        m.MessageDelta(message=M1, part=0, text="ond\n"),
        m.Message(message=other, part=0, text="other\n", parent=CALL),
    ) == ["first", "second", "  other"]


def test_thinking_is_dim() -> None:
    thought = m.Thought(message=M1, part=0, text="hmm")
    assert _shown(thought, m.Thought(message=M1, part=1, text="", redacted=True)) == [
        Line("hmm", "dim"),
        Line("(thinking, not shown by the engine)", "dim"),
    ]


def test_a_tool_is_told_when_it_ended_with_its_outcome() -> None:
    started = m.ToolStarted(call=CALL, name="Bash", kind="command", title="pytest")
    detail = CommandDetail(command="pytest", exit_code=3, output="\n".join(map(str, range(9))))
    ended = m.ToolEnded(call=CALL, ok=False, outcome="failed", detail=detail)
    assert _texts(started, ended) == ["✗ pytest, exit code 3 (1s)", "  0", "  1", "  2", "  3", "  … 5 more lines"]


def test_an_edit_is_a_coloured_diff() -> None:
    hunk = Hunk(old_start=1, old_lines=1, new_start=1, new_lines=1, lines=("-a\x1b[2J", "+b", " c"))
    detail = FileChangeDetail(changes=(FileChange(path="x.py", hunks=(hunk,)),))
    started = m.ToolStarted(call=CALL, name="Edit", kind="file_change", title="Edit x.py")
    assert _shown(started, m.ToolEnded(call=CALL, ok=True, outcome="completed", detail=detail))[1:] == [
        Line("update x.py +1 \N{MINUS SIGN}1", "dim", 1),
        Line("@@ -1,1 +1,1 @@", "running", 1),
        Line("-a⟨U+001B⟩[2J", "failed", 1),
        Line("+b", "ok", 1),
        Line(" c", "", 1),
    ]


def test_what_a_sub_agent_does_is_indented() -> None:
    inner = ToolCallId("c2")
    assert _texts(
        m.ToolStarted(call=CALL, name="Task", kind="subagent", title="Look"),
        m.ToolStarted(call=inner, name="Grep", kind="search", title="Search", parent=CALL),
        m.ToolEnded(call=inner, ok=True, outcome="completed"),
        m.Message(message=M1, part=0, text="found", parent=CALL),
        m.ToolEnded(call=CALL, ok=True, outcome="completed"),
    ) == ["▸ Look", "  ✓ Search (1s)", "  found", "✓ Look (4s)"]


def test_a_plan_is_shown_once_and_then_how_far_it_is() -> None:
    def plan(*states: str) -> m.PlanChanged:
        entries = [PlanEntry(content=text, status=state) for text, state in zip("ab", states, strict=True)]  # type: ignore[arg-type]
        return m.PlanChanged(entries=tuple(entries))

    assert _texts(
        plan("in_progress", "pending"), plan("completed", "in_progress"), plan("completed", "in_progress")
    ) == [
        "[>] a",
        "[ ] b",
        "- plan: 1 of 2 done, now: b",
    ]


def test_who_answered_from_where_is_told() -> None:
    request = Request(id=RequestId("r"), kind="permission", title="touch x", tool="Bash")
    answered = m.RequestAnswered(request=request.id, answer=Allow(), by="bob", surface="chat pts/2")
    texts = _texts(m.RequestOpened(request=request), answered, m.RequestApplied(request=request.id))
    assert [text for text in texts if not text.startswith("  ")] == [
        "? Bash asks: touch x",
        "= allowed once by bob from chat pts/2 · touch x",
    ]


def test_what_runs_with_the_edits_of_an_answer_is_shown() -> None:
    call = ToolCallId("c")
    request = Request(
        id=RequestId("r"), kind="permission", title="touch wrong", tool="Bash", call=call, input=msgspec.Raw(b"{}")
    )
    edited = Allow(updated_input=msgspec.Raw(b'{"command":"touch right\\u202e","timeout":5}'))
    assert _texts(
        m.ToolStarted(call=call, name="Bash", kind="command", title="touch wrong"),
        m.RequestOpened(request=request),
        m.RequestAnswered(request=request.id, answer=edited, by="bob"),
        m.ToolEnded(call=call, ok=True, outcome="completed"),
    )[-4:] == [
        "= allowed with edits by bob · touch wrong, as asked; edited to:",
        "  command: touch right⟨U+202E⟩",
        "  timeout: 5",
        "✓ touch wrong, as asked; it ran with edits (3s)",
    ]


@pytest.mark.parametrize(
    "ending",
    [
        m.RequestRejected(request=RequestId("r"), reason="no such command"),
        m.RequestWithdrawn(request=RequestId("r"), reason="no such command"),
        m.RequestUnanswered(request=RequestId("r"), reason="no such command"),
    ],
)
def test_no_call_is_said_to_have_run_with_edits_that_the_agent_did_not_use(ending: Event) -> None:
    call = ToolCallId("c")
    raw = msgspec.Raw(b"{}")
    request = Request(id=RequestId("r"), kind="permission", title="touch wrong", call=call, input=raw)
    told = _texts(
        m.ToolStarted(call=call, name="Bash", kind="command", title="touch wrong"),
        m.RequestOpened(request=request),
        m.RequestAnswered(request=request.id, answer=Allow(updated_input=msgspec.Raw(b'{"command":5}')), by="bob"),
        ending,
        m.ToolEnded(call=call, ok=False, outcome="denied"),
    )
    assert told[-1] == "✗ touch wrong, denied (4s)"
    assert "no such command" in told[-2]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (m.ModeChanged(mode="plan"), "- mode: plan"),
        (m.ModelChanged(model="b", fallback_from="a"), "- model: b (instead of a)"),
        (m.Notice(level="error", text="bad"), "✗ bad"),
        (m.Notice(level="debug", text="hidden"), None),
        (
            m.LimitReached(kind="money", status="reached", name="session money", text="spent"),
            "! limit session money reached: spent",
        ),
        (m.LimitReached(kind="money", status="clear"), None),
        (m.CompactionEnded(ok=True, tokens_before=9, tokens_after=3), "✓ the context is shortened from 9 tokens to 3"),
        (m.EngineDetached(reason="exit code 3", exit_code=3), "! the agent's process has ended: exit code 3"),
        (m.EngineDetached(reason="idle", exit_code=0), None),
        (
            m.RequestRejected(request=RequestId("r"), reason="no such rule"),
            "✗ the agent refused the answer: no such rule",
        ),
        (
            m.RequestWithdrawn(request=RequestId("r"), reason="the turn was interrupted"),
            "- request withdrawn: the turn was interrupted",
        ),
        (m.RequestWithdrawn(request=RequestId("r")), "- request withdrawn"),
        (
            m.RequestUnanswered(request=RequestId("r"), reason="the session was closed"),
            "- request unanswered: the session was closed",
        ),
        (m.SessionClosed(), "- the session is closed"),
    ],
)
def test_the_rest_is_a_line(event: Event, text: str | None) -> None:
    assert _texts(event) == ([] if text is None else [text])


def _poison(kind: type[EventBase]) -> Event | None:
    """An event of that kind with every text in it hostile."""
    fields: dict[str, object] = {"type": kind.__name__}
    for field in msgspec.structs.fields(kind):
        if field.type in (str, MessageId, TurnId, PromptId, ToolCallId, RequestId, TaskId):
            fields[field.name] = EVIL
    request = {"id": "r", "kind": "permission", "title": EVIL, "tool": EVIL, "description": EVIL, "reason": EVIL}
    block = {"type": "text", "text": EVIL}
    fields |= {"content": [block], "entries": [{"content": EVIL}], "request": {**request, "input": {"command": EVIL}}}
    fields |= {"ok": False, "outcome": "failed", "status": "failed", "level": "error", "part": 0, "kind": "other"}
    fields |= {"answer": {"type": "deny", "message": EVIL}, "files": [EVIL], "background": True, "exit_code": 1}
    for changes in ({}, {"request": EVIL}, {"answer": EVIL}, {"status": "reached"}, {"trigger": "auto"}):
        try:
            return msgspec.convert({**fields, **changes}, kind, strict=False)  # type: ignore[return-value]
        except msgspec.ValidationError:
            continue
    return None


def test_no_event_can_fool_the_terminal() -> None:
    poisoned = [event for kind in m.Event.__args__ if (event := _poison(kind)) is not None]
    assert len(poisoned) > 30
    opening = m.ToolStarted(call=ToolCallId(EVIL), name=EVIL, kind="command", title=EVIL)
    for event in poisoned:
        for line in _shown(opening, _prompt(EVIL, EVIL), event):
            assert line.text.isprintable(), (event, line)


# ----------------------------------------------------------------------------------------------------- status

VIEW = SessionView(
    state="running",
    waiting_for="model",
    mode="default",
    model="opus",
    turn=TURN,
    turns=(TurnView(id=TURN, started_at=100.0),),
    queue=(QueuedPrompt(id=PromptId("p"), content=(), at=0.0),),
    usage=Totals(cost_usd=0.5),
    meter=Meter(used=50_000, size=200_000),
)


def test_the_status_line_tells_everything_and_drops_the_least_when_it_gets_narrow() -> None:
    assert status_line(VIEW, 80, 112.0) == "model 12s · 1 queued · default · opus · $0.50 · ctx 25% of 200k"
    assert status_line(VIEW, 50, 112.0) == "model 12s · 1 queued · $0.50 · ctx 25% of 200k"
    assert status_line(VIEW, 40, 112.0) == "model 12s · 1 queued · ctx 25% of 200k"
    assert status_line(VIEW, 6, 112.0) == "model…"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": "waiting", "waiting_for": "you"}, "waiting for you"),
        ({"state": "idle", "waiting_for": ""}, "ready"),
        ({"state": "idle", "waiting_for": "limit"}, "limit reached"),
        ({"state": "interrupted", "waiting_for": ""}, "interrupted"),
        (
            {
                "waiting_for": "tool",
                "items": (ToolItem(id="c", turn=TURN, at=0.0, name="Bash", kind="command", title="make\x1b[2J test"),),
            },
            "tool make test 12s",
        ),
    ],
)
def test_the_state_is_what_the_protocol_says(changes: dict[str, object], words: str) -> None:
    view = msgspec.structs.replace(VIEW, **changes)
    assert status_line(view, 80, 112.0).split(" · ")[0] == words


def test_usage_in_full_names_limits() -> None:
    limit = LimitView(kind="usage", name="5h", status="warning", at=0.0, text="80 %")
    used = Totals(input_tokens=1_234, output_tokens=56, cache_read_tokens=1_500_000)
    assert usage_lines(msgspec.structs.replace(VIEW, usage=used, limits=(limit,)))[1:] == [
        "tokens in 1.2k · out 56 · cache 1.5M read, 0 written",
        "context 50k of 200k tokens",
        "limit 5h: warning 80 %",
    ]


# ------------------------------------------------------------------------------------------------------- room


def _room(events: list[Event], *, last_seq: int) -> tuple[Room, list[str]]:
    log, room = Log(), Room(Standing(session=SESSION, last_seq=last_seq, modes=("default", "plan")), 40)
    return room, [line.text for event in events for line in room.take(encode(log.envelope(event)))]


def test_of_what_was_before_only_the_end_is_shown() -> None:
    many: list[Event] = [m.Notice(level="info", text=str(number)) for number in range(250)]
    room, texts = _room(many, last_seq=250)
    assert texts[0] == "… 50 earlier lines"
    assert texts[1] == "- 50"
    assert room.joined
    assert room.resting


def test_an_open_request_that_does_not_fit_among_the_earlier_lines_is_shown_again_whole() -> None:
    text = "".join(f"line {number}\n" for number in range(300))
    detail = FileChangeDetail(changes=(FileChange(path="a.txt", new_text=text),))
    request = Request(id=RequestId("a"), kind="permission", title="a.txt", tool="Write", detail=detail)
    after: list[Event] = [m.Notice(level="info", text="later")]
    _, texts = _room([m.RequestOpened(request=request), *after], last_seq=2)
    assert texts[0].endswith("earlier lines")
    assert texts[texts.index("- later") + 1 :] == [line.text for line in request_lines(request)]
    assert sum(line == "+line 0" for line in texts) == 1
    short = Request(id=RequestId("b"), kind="permission", title="ls", tool="Bash")
    many: list[Event] = [m.Notice(level="info", text=str(number)) for number in range(250)]
    _, texts = _room([*many, m.RequestOpened(request=short)], last_seq=251)
    assert texts[-2] == "? Bash asks: ls"
    assert texts.count("? Bash asks: ls") == 1


def test_the_oldest_open_request_is_answered_first_and_goes_when_somebody_was_first() -> None:
    asked = [Request(id=RequestId(name), kind="permission", title=name) for name in "ab"]
    events: list[Event] = [m.RequestOpened(request=request) for request in asked]
    room, _ = _room(events, last_seq=1)
    dialogue = room.dialogue
    assert dialogue is not None
    assert dialogue.request.id == "a"
    assert room.dialogue is dialogue
    answered = m.RequestAnswered(request=RequestId("a"), answer=Allow(), by="bob")
    room.take(encode(Envelope(seq=3, time=1.0, session=SESSION, event=answered)))
    assert room.dialogue is not None
    assert room.dialogue.request.id == "b"


def test_the_panel_asks_only_when_the_line_is_empty_and_the_request_was_seen() -> None:
    request = Request(id=RequestId("a"), kind="permission", title="a")
    room, _ = _room([m.RequestOpened(request=request)], last_seq=1)
    editor = LineEditor()

    def first(*, armed: bool) -> str:
        return draw_panel(room, editor, 79, armed=armed, color=False, now=0.0)[0][0]

    assert first(armed=False) == "something is asked of you"
    assert first(armed=True).startswith("y once")
    editor.insert("half a th")
    assert "empty the line" in first(armed=True)
    rows, column = draw_panel(room, editor, 79, armed=True, color=False, now=0.0)
    assert (rows[-1], column) == ("> half a th", 11)


def test_the_panel_says_when_no_process_waits_for_the_answer() -> None:
    request = Request(id=RequestId("a"), kind="permission", title="a")
    room, _ = _room([m.RequestOpened(request=request), m.EngineDetached(reason="reboot")], last_seq=2)
    row = draw_panel(room, LineEditor(), 200, armed=False, color=False, now=0.0)[0][0]
    assert row == "something is asked of you - its process is gone, the answer starts another"
