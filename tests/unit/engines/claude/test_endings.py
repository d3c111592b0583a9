"""How turns end otherwise: interrupted, failed, cut short, lost."""

from __future__ import annotations

from footplate.engines.base import Exit
from footplate.events.base import ResumeToken
from footplate.events.content import TextBlock
from footplate.events.ids import EngineSessionId, MessageId, PromptId, ToolCallId, TurnId
from footplate.events.model import (
    CompactionEnded,
    CompactionStarted,
    EngineAttached,
    EngineDetached,
    Message,
    MessageDelta,
    ModelChanged,
    Notice,
    PromptSteered,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    UserMessage,
)
from footplate.events.tools import CommandDetail, OtherDetail
from tests.unit.engines.claude.playing import raw, story

SESSION = ResumeToken(engine="claude", value=EngineSessionId("id-1"))


def test_an_interrupt_cancels_the_call_and_the_next_turn_works() -> None:
    assert story("2.1.325", "interrupt_tool") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="Bash",
            kind="command",
            title="sleep 20",
            message=MessageId("message-1"),
            input=raw({"command": "sleep 20", "description": "run"}),
            detail=CommandDetail(command="sleep 20", cwd="/workspace", description="run"),
        ),
        ToolEnded(
            call=ToolCallId("call-1"),
            ok=False,
            outcome="cancelled",
            content=(TextBlock(text="The user doesn't want to proceed wit…"),),
            detail=CommandDetail(
                command="sleep 20", cwd="/workspace", description="run", output="The user doesn't want to proceed wit…"
            ),
        ),
        UserMessage(
            message=MessageId("id-2"),
            content=(TextBlock(text="[Request interrupted by user for tool use]"),),
            synthetic=True,
        ),
        TurnEnded(
            turn=TurnId("turn-1"),
            ok=False,
            error="interrupted",
            error_kind="interrupted",
            stop_reason="interrupted",
            resume=SESSION,
        ),
        TurnStarted(turn=TurnId("turn-2")),
        Message(message=MessageId("message-2"), part=0, text="Second turn works.", model="claude-opus-5-5"),
        TurnEnded(turn=TurnId("turn-2"), ok=True, answer="Second turn works.", resume=SESSION),
    ]


def test_an_api_failure_is_a_failed_turn_whatever_its_subtype_says() -> None:
    assert story("2.1.325", "api_529_max1") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        Notice(level="warning", text="the model's API failed (529, overloa…", code="api_retry"),
        Message(
            message=MessageId("id-2"),
            part=0,
            text="API Error: 529 Overloaded. This is a…",
            model="<synthetic>",
            synthetic=True,
        ),
        TurnEnded(
            turn=TurnId("turn-1"),
            ok=False,
            answer="API Error: 529 Overloaded. This is a…",
            error="API Error: 529 Overloaded. This is a…",
            error_kind="server_error",
            stop_reason="error",
            resume=SESSION,
        ),
    ]


def test_a_fallback_is_a_change_of_model() -> None:
    assert story("2.1.325", "fallback_model") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        Notice(level="warning", text="the model's API failed (529, overloa…", code="api_retry"),
        Notice(level="warning", text="the model's API failed (529, overloa…", code="api_retry"),
        ModelChanged(model="claude-sonnet-5-5", fallback_from="claude-opus-5-5"),
        Notice(level="warning", text="Switched to Sonnet 5.5 due to high demand for Opus 5.5", code="model_fallback"),
        Notice(level="warning", text="the model's API failed (529, overloa…", code="api_retry"),
        Message(message=MessageId("message-1"), part=0, text="from claude-sonnet-5-5", model="claude-sonnet-5-5"),
        TurnEnded(turn=TurnId("turn-1"), ok=True, answer="from claude-sonnet-5-5", resume=SESSION),
    ]


def test_a_budget_that_is_used_up_cancels_the_call_that_was_not_run() -> None:
    assert story("2.1.325", "max_budget") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        Message(message=MessageId("message-1"), part=0, text="go", model="claude-opus-5-5"),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="Bash",
            kind="command",
            title="echo 1",
            message=MessageId("message-1"),
            input=raw({"command": "echo 1", "description": "run"}),
            detail=CommandDetail(command="echo 1", cwd="/workspace", description="run"),
        ),
        ToolEnded(
            call=ToolCallId("call-1"), ok=False, outcome="cancelled", note="the turn ended before its result came"
        ),
        TurnEnded(
            turn=TurnId("turn-1"),
            ok=False,
            answer="go",
            error="Reached maximum budget ($0.01)",
            error_kind="max_budget",
            stop_reason="max_budget",
            resume=SESSION,
        ),
    ]


def test_structured_output_stands_beside_its_text() -> None:
    assert story("2.1.325", "json_schema") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="StructuredOutput",
            kind="other",
            title="StructuredOutput",
            message=MessageId("message-1"),
            input=raw({"name": "Bob"}),
            detail=OtherDetail(),
        ),
        ToolEnded(
            call=ToolCallId("call-1"),
            ok=True,
            outcome="completed",
            content=(TextBlock(text="Structured output provided successfully"),),
            detail=OtherDetail(),
        ),
        TurnEnded(
            turn=TurnId("turn-1"),
            ok=True,
            answer='{"name":"Bob"}',
            structured_output=raw({"name": "Bob"}),
            resume=SESSION,
        ),
    ]


def test_an_unknown_session_ends_the_turn_without_anything_to_resume() -> None:
    assert story("2.1.325", "resume_unknown_bi", ending=Exit(code=1, stderr="No conversation found")) == [
        TurnStarted(turn=TurnId("turn-1")),
        TurnEnded(
            turn=TurnId("turn-1"),
            ok=False,
            error="No conversation found with session I…",
            error_kind="error",
            stop_reason="error",
        ),
        EngineDetached(reason="exited with code 1", exit_code=1, stderr="No conversation found"),
    ]


def test_a_killed_agent_loses_its_call_and_its_turn() -> None:
    assert story("2.1.325", "sig_SIGKILL_tool", ending=Exit(signal=9, stderr="Killed")) == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="Bash",
            kind="command",
            title="timeout 7703 tail -f /dev/null",
            message=MessageId("message-1"),
            input=raw({"command": "timeout 7703 tail -f /dev/null", "description": "run"}),
            detail=CommandDetail(command="timeout 7703 tail -f /dev/null", cwd="/workspace", description="run"),
        ),
        ToolEnded(call=ToolCallId("call-1"), ok=False, outcome="lost", note="killed by SIGKILL"),
        TurnEnded(
            turn=TurnId("turn-1"),
            ok=False,
            error="claude was killed by SIGKILL before the turn ended: Killed",
            error_kind="lost",
            stop_reason="lost",
            resume=SESSION,
        ),
        EngineDetached(reason="killed by SIGKILL", signal=9, stderr="Killed"),
    ]


def test_an_agent_that_dies_while_it_writes_leaves_what_it_wrote_as_the_answer() -> None:
    assert story("2.1.197", "sig_SIGTERM_stream", ending=Exit(code=143)) == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        MessageDelta(message=MessageId("message-1"), part=0, text="a long story"),
        MessageDelta(message=MessageId("message-1"), part=0, text=" a long stor"),
        MessageDelta(message=MessageId("message-1"), part=0, text="y a long sto"),
        MessageDelta(message=MessageId("message-1"), part=0, text="ry a long st"),
        MessageDelta(message=MessageId("message-1"), part=0, text="ory a long s"),
        Message(
            message=MessageId("message-1"), part=0, text="a long story a long story a long story a long story a long s"
        ),
        TurnEnded(
            turn=TurnId("turn-1"),
            ok=False,
            answer="a long story a long story a long story a long story a long s",
            error="claude exited with code 143 before the turn ended",
            error_kind="lost",
            stop_reason="lost",
            resume=SESSION,
        ),
        EngineDetached(reason="exited with code 143", exit_code=143),
    ]


def test_a_compaction_starts_and_ends_once() -> None:
    assert story("2.1.325", "compact") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        Message(message=MessageId("message-1"), part=0, text="First answer.", model="claude-opus-5-5"),
        TurnEnded(turn=TurnId("turn-1"), ok=True, answer="First answer.", resume=SESSION),
        TurnStarted(turn=TurnId("turn-2")),
        Message(message=MessageId("message-2"), part=0, text="Second answer.", model="claude-opus-5-5"),
        TurnEnded(turn=TurnId("turn-2"), ok=True, answer="Second answer.", resume=SESSION),
        CompactionStarted(),
        TurnStarted(turn=TurnId("turn-3")),
        CompactionEnded(ok=True, trigger="manual", tokens_before=12785, tokens_after=2599),
        UserMessage(
            message=MessageId("id-2"),
            content=(TextBlock(text="This session is being continued from…"),),
            synthetic=True,
        ),
        Notice(level="info", text="Compacted", code="local_command"),
        TurnEnded(turn=TurnId("turn-3"), ok=True, resume=SESSION, origin="command"),
        TurnStarted(turn=TurnId("turn-4")),
        Message(message=MessageId("message-3"), part=0, text="Third answer.", model="claude-opus-5-5"),
        TurnEnded(turn=TurnId("turn-4"), ok=True, answer="Third answer.", resume=SESSION),
    ]


def test_prompts_that_wait_are_folded_into_the_turn_that_runs() -> None:
    assert story("2.1.325", "queued") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1"), prompts=(PromptId("id-2"),), origin="prompt"),
        UserMessage(
            message=MessageId("id-2"),
            content=(TextBlock(text='SCRIPT:[{"tools": [["Bash", {"comman…'),),
            prompt=PromptId("id-2"),
        ),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="Bash",
            kind="command",
            title="sleep 1.5; echo one",
            message=MessageId("message-1"),
            input=raw({"command": "sleep 1.5; echo one", "description": "run"}),
            detail=CommandDetail(command="sleep 1.5; echo one", cwd="/workspace", description="run"),
        ),
        ToolEnded(
            call=ToolCallId("call-1"),
            ok=True,
            outcome="completed",
            content=(TextBlock(text="one"),),
            detail=CommandDetail(
                command="sleep 1.5; echo one", cwd="/workspace", description="run", exit_code=0, output="one"
            ),
        ),
        PromptSteered(prompt=PromptId("id-3")),
        UserMessage(
            message=MessageId("id-3"),
            content=(TextBlock(text='QUEUED SCRIPT:["Second end."]'),),
            prompt=PromptId("id-3"),
        ),
        PromptSteered(prompt=PromptId("id-4")),
        UserMessage(
            message=MessageId("id-4"),
            content=(TextBlock(text='QUEUED3 SCRIPT:["Third end."]'),),
            prompt=PromptId("id-4"),
        ),
        Message(message=MessageId("message-2"), part=0, text="Third end.", model="claude-opus-5-5"),
        TurnEnded(
            turn=TurnId("turn-1"),
            ok=True,
            answer="Third end.",
            resume=SESSION,
            origin="prompt",
            prompts=(PromptId("id-2"), PromptId("id-3"), PromptId("id-4")),
        ),
    ]


def test_an_older_cli_tells_folded_prompts_by_their_echo() -> None:
    assert story("2.1.197", "queued") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        UserMessage(
            message=MessageId("id-2"),
            content=(TextBlock(text='SCRIPT:[{"tools": [["Bash", {"comman…'),),
            prompt=PromptId("id-2"),
        ),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="Bash",
            kind="command",
            title="sleep 1.5; echo one",
            message=MessageId("message-1"),
            input=raw({"command": "sleep 1.5; echo one", "description": "run"}),
            detail=CommandDetail(command="sleep 1.5; echo one", cwd="/workspace", description="run"),
        ),
        ToolEnded(
            call=ToolCallId("call-1"),
            ok=True,
            outcome="completed",
            content=(TextBlock(text="one"),),
            detail=CommandDetail(
                command="sleep 1.5; echo one", cwd="/workspace", description="run", exit_code=0, output="one"
            ),
        ),
        PromptSteered(prompt=PromptId("id-3")),
        UserMessage(
            message=MessageId("id-3"),
            content=(TextBlock(text='QUEUED SCRIPT:["Second end."]'),),
            prompt=PromptId("id-3"),
        ),
        PromptSteered(prompt=PromptId("id-4")),
        UserMessage(
            message=MessageId("id-4"),
            content=(TextBlock(text='QUEUED3 SCRIPT:["Third end."]'),),
            prompt=PromptId("id-4"),
        ),
        Message(message=MessageId("message-2"), part=0, text="Third end.", model="claude-opus-4-8"),
        TurnEnded(
            turn=TurnId("turn-1"),
            ok=True,
            answer="Third end.",
            resume=SESSION,
            origin="prompt",
            prompts=(PromptId("id-2"), PromptId("id-3"), PromptId("id-4")),
        ),
    ]
