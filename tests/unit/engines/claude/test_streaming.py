"""Messages while they are written: deltas, calls whose input still streams, messages that were given up."""

from __future__ import annotations

from footplate.engines.base import Exit
from footplate.engines.claude.translate import Translator
from footplate.events.content import TextBlock
from footplate.events.ids import EngineSessionId, MessageId, ToolCallId, TurnId
from footplate.events.model import (
    EngineAttached,
    Message,
    MessageDelta,
    Thought,
    ThoughtDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    TurnStarted,
)
from footplate.events.tools import CommandDetail
from tests.unit.engines.claude.playing import feed, raw

SESSION = "session-1"
CALL, M1, M2 = ToolCallId("call-1"), MessageId("message-1"), MessageId("message-2")


def event(body: dict[str, object], **more: object) -> dict[str, object]:
    return {"type": "stream_event", "session_id": SESSION, "parent_tool_use_id": None, "event": body, **more}


def begin(message: str) -> dict[str, object]:
    return event({"type": "message_start", "message": {"id": message, "model": "m"}})


def block(index: int, **content: object) -> dict[str, object]:
    return event({"type": "content_block_start", "index": index, "content_block": content})


def delta(index: int, kind: str, **piece: str) -> dict[str, object]:
    return event({"type": "content_block_delta", "index": index, "delta": {"type": f"{kind}_delta", **piece}})


def stands(message: str, *content: object) -> dict[str, object]:
    return {"type": "assistant", "session_id": SESSION, "message": {"id": message, "content": content}}


def started() -> Translator:
    translator = Translator(cwd="/project")
    feed(translator, {"type": "system", "subtype": "init", "session_id": SESSION})
    return translator


def test_a_call_is_seen_before_its_input_and_completed_by_the_assistant_line() -> None:
    translator = started()
    events = feed(
        translator,
        begin(M1),
        block(0, type="text", text=""),
        delta(0, "text", text="Running"),
        stands(M1, {"type": "text", "text": "Running"}),
        block(1, type="tool_use", id=CALL, name="Bash", input={}),
        delta(1, "input_json", partial_json='{"comm'),
        delta(1, "input_json", partial_json='and":"ls"}'),
        stands(M1, {"type": "tool_use", "id": CALL, "name": "Bash", "input": {"command": "ls"}}),
        event({"type": "content_block_stop", "index": 1}),
    )
    assert events == [
        MessageDelta(message=M1, part=0, text="Running"),
        Message(message=M1, part=0, text="Running"),
        ToolStarted(call=CALL, name="Bash", kind="command", title="Bash", message=M1),
        ToolUpdated(call=CALL, input_delta='{"comm'),
        ToolUpdated(call=CALL, input_delta='and":"ls"}'),
        ToolUpdated(
            call=CALL, title="ls", input=raw({"command": "ls"}), detail=CommandDetail(command="ls", cwd="/project")
        ),
    ]


def test_a_thought_is_drawn_and_its_signature_is_not_shown() -> None:
    translator = started()
    events = feed(
        translator,
        begin(M1),
        block(0, type="thinking", thinking=""),
        delta(0, "thinking", thinking="Hm"),
        delta(0, "signature", signature="c2ln"),
        stands(M1, {"type": "thinking", "thinking": "Hm", "signature": "c2ln"}),
        stands(M1, {"type": "redacted_thinking", "data": "x"}),
        stands(M1, {"type": "text", "text": "So."}),
    )
    assert events == [
        ThoughtDelta(message=M1, part=0, text="Hm"),
        Thought(message=M1, part=0, text="Hm"),
        Thought(message=M1, part=1, text="", redacted=True),
        Message(message=M1, part=2, text="So."),
    ]
    assert translator.ignored["stream_event/signature_delta"] == 1


def test_a_message_that_is_given_up_for_another_is_kept_and_is_not_the_answer() -> None:
    translator = started()
    events = feed(
        translator,
        begin(M1),
        block(0, type="text"),
        delta(0, "text", text="Half a sen"),
        begin(M2),
        block(0, type="text"),
        delta(0, "text", text="Whole."),
        stands(M2, {"type": "text", "text": "Whole."}),
    )
    assert events[1:] == [
        Message(message=M1, part=0, text="Half a sen"),
        MessageDelta(message=M2, part=0, text="Whole."),
        Message(message=M2, part=0, text="Whole."),
    ]
    lost = translator.finish(Exit(code=1))
    assert [getattr(event, "answer", None) for event in lost] == ["Whole.", None]


def test_a_delta_after_its_part_was_replaced_says_nothing_new() -> None:
    translator = started()
    feed(translator, begin(M1), block(0, type="text"), stands(M1, {"type": "text", "text": "Done."}))
    assert feed(translator, delta(0, "text", text="late")) == []
    assert translator.ignored["stream_event/late_delta"] == 1


def test_joining_in_the_middle_the_line_itself_names_message_and_session() -> None:
    translator = Translator()
    assert feed(translator, {**delta(3, "text", text="...and"), "api_message_id": M1}) == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId(SESSION)),
        TurnStarted(turn=TurnId("turn-1")),
        MessageDelta(message=M1, part=3, text="...and"),
    ]


def test_joining_an_older_cli_in_the_middle_waits_for_the_whole_text() -> None:
    translator = Translator()
    events = feed(translator, delta(0, "text", text="...and"), stands(M1, {"type": "text", "text": "this and"}))
    assert events[-1] == Message(message=M1, part=0, text="this and")
    assert translator.ignored["stream_event/lost_delta"] == 1


def test_a_call_that_was_begun_and_given_up_is_cancelled_with_its_turn() -> None:
    translator = started()
    feed(translator, begin(M1), block(0, type="tool_use", id=CALL, name="Bash"))
    events = feed(translator, {"type": "result", "is_error": False, "session_id": SESSION})
    assert ToolEnded(call=CALL, ok=False, outcome="cancelled", note="the turn ended before its result came") in events


def test_a_heartbeat_names_the_call_it_belongs_to_as_its_parent() -> None:
    translator = started()
    beat = {"type": "tool_progress", "tool_use_id": "made-up", "parent_tool_use_id": CALL, "elapsed_time_seconds": 30}
    assert feed(translator, beat) == []
    feed(translator, begin(M1), block(0, type="tool_use", id=CALL, name="Bash"))
    assert feed(translator, beat) == [ToolUpdated(call=CALL, elapsed_s=30)]
    assert translator.ignored["tool_progress"] == 1


def test_a_tool_of_the_model_provider_starts_and_ends_within_its_message() -> None:
    translator = started()
    events = feed(
        translator,
        stands(M1, {"type": "server_tool_use", "id": CALL, "name": "web_search", "input": {"query": "x"}}),
        stands(M1, {"type": "web_search_tool_result", "tool_use_id": CALL, "content": [{"type": "text", "text": "y"}]}),
    )
    assert [type(event) for event in events] == [ToolStarted, ToolEnded]
    assert getattr(events[1], "content", None) == (TextBlock(text="y"),)
