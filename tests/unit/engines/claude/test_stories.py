"""Whole streams of the CLI, told as events from top to bottom."""

from __future__ import annotations

from footplate.events.base import ResumeToken
from footplate.events.content import TextBlock
from footplate.events.ids import EngineSessionId, MessageId, TaskId, ToolCallId, TurnId
from footplate.events.model import (
    Denial,
    EngineAttached,
    Message,
    MessageDelta,
    TaskEnded,
    TaskStarted,
    TaskUpdated,
    Thought,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
    TurnStarted,
    UserMessage,
)
from footplate.events.tools import CommandDetail, FileChange, FileChangeDetail, Hunk, ReadDetail, SubagentDetail
from tests.unit.engines.claude.playing import raw, story

SESSION = ResumeToken(engine="claude", value=EngineSessionId("id-1"))


def test_a_plain_answer_is_one_message() -> None:
    assert story("2.1.325", "plain_text") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        Message(message=MessageId("message-1"), part=0, text="Hello there, all is well.", model="claude-opus-5-5"),
        TurnEnded(turn=TurnId("turn-1"), ok=True, answer="Hello there, all is well.", resume=SESSION),
    ]


def test_deltas_draw_a_message_and_the_assistant_line_replaces_them() -> None:
    assert story("2.1.325", "partial") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        MessageDelta(message=MessageId("message-1"), part=0, text="Hello there,"),
        MessageDelta(message=MessageId("message-1"), part=0, text=" all is well"),
        MessageDelta(message=MessageId("message-1"), part=0, text=" today."),
        Message(
            message=MessageId("message-1"), part=0, text="Hello there, all is well today.", model="claude-opus-5-5"
        ),
        TurnEnded(turn=TurnId("turn-1"), ok=True, answer="Hello there, all is well today.", resume=SESSION),
    ]


def test_thinking_comes_before_the_answer_as_a_part_of_its_message() -> None:
    assert story("2.1.325", "thinking") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        Thought(message=MessageId("message-1"), part=0, text="Let me think about it in some detail, step by step."),
        Message(message=MessageId("message-1"), part=1, text="Answer 42.", model="claude-opus-5-5"),
        TurnEnded(turn=TurnId("turn-1"), ok=True, answer="Answer 42.", resume=SESSION),
    ]


def test_a_command_that_runs_has_its_exit_code_and_output() -> None:
    assert story("2.1.325", "bash_allowed") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        Message(message=MessageId("message-1"), part=0, text="Running.", model="claude-opus-5-5"),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="Bash",
            kind="command",
            title="echo hi; echo err >&2",
            message=MessageId("message-1"),
            input=raw({"command": "echo hi; echo err >&2", "description": "run"}),
            detail=CommandDetail(command="echo hi; echo err >&2", cwd="/workspace", description="run"),
        ),
        ToolEnded(
            call=ToolCallId("call-1"),
            ok=True,
            outcome="completed",
            content=(TextBlock(text="hi\nerr"),),
            detail=CommandDetail(
                command="echo hi; echo err >&2", cwd="/workspace", description="run", exit_code=0, output="hi\nerr"
            ),
        ),
        Message(message=MessageId("message-2"), part=0, text="Result was: hi\nerr", model="claude-opus-5-5"),
        TurnEnded(turn=TurnId("turn-1"), ok=True, answer="Result was: hi\nerr", resume=SESSION),
    ]


def test_a_command_that_fails_is_a_failed_call_of_a_good_turn() -> None:
    assert story("2.1.325", "bash_fails") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="Bash",
            kind="command",
            title="echo out; echo bad >&2; exit 3",
            message=MessageId("message-1"),
            input=raw({"command": "echo out; echo bad >&2; exit 3", "description": "run"}),
            detail=CommandDetail(command="echo out; echo bad >&2; exit 3", cwd="/workspace", description="run"),
        ),
        ToolEnded(
            call=ToolCallId("call-1"),
            ok=False,
            outcome="failed",
            content=(TextBlock(text="Exit code 3\nout\nbad"),),
            detail=CommandDetail(
                command="echo out; echo bad >&2; exit 3",
                cwd="/workspace",
                description="run",
                exit_code=3,
                output="out\nbad",
            ),
        ),
        Message(
            message=MessageId("message-2"), part=0, text="Result was: Exit code 3\nout\nbad", model="claude-opus-5-5"
        ),
        TurnEnded(turn=TurnId("turn-1"), ok=True, answer="Result was: Exit code 3\nout\nbad", resume=SESSION),
    ]


def test_a_denied_command_is_told_while_it_is_open_and_listed_at_the_end() -> None:
    assert story("2.1.325", "bash_denied") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        Message(message=MessageId("message-1"), part=0, text="Running.", model="claude-opus-5-5"),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="Bash",
            kind="command",
            title="touch x.txt && rm -rf y",
            message=MessageId("message-1"),
            input=raw({"command": "touch x.txt && rm -rf y", "description": "run"}),
            detail=CommandDetail(command="touch x.txt && rm -rf y", cwd="/workspace", description="run"),
        ),
        ToolUpdated(call=ToolCallId("call-1"), note="This Bash command contains multiple …"),
        ToolEnded(
            call=ToolCallId("call-1"),
            ok=False,
            outcome="denied",
            content=(TextBlock(text="This Bash command contains multiple …"),),
            detail=CommandDetail(
                command="touch x.txt && rm -rf y",
                cwd="/workspace",
                description="run",
                output="This Bash command contains multiple …",
            ),
        ),
        Message(
            message=MessageId("message-2"),
            part=0,
            text="Result was: This Bash command contai…",
            model="claude-opus-5-5",
        ),
        TurnEnded(
            turn=TurnId("turn-1"),
            ok=True,
            answer="Result was: This Bash command contai…",
            resume=SESSION,
            denials=(
                Denial(
                    tool="Bash",
                    call=ToolCallId("call-1"),
                    input=raw({"command": "touch x.txt && rm -rf y", "description": "run"}),
                ),
            ),
        ),
    ]


def test_an_older_cli_words_the_denial_only_in_the_result() -> None:
    assert story("2.1.197", "bash_denied") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        Message(message=MessageId("message-1"), part=0, text="Running.", model="claude-opus-4-8"),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="Bash",
            kind="command",
            title="touch x.txt && rm -rf y",
            message=MessageId("message-1"),
            input=raw({"command": "touch x.txt && rm -rf y", "description": "run"}),
            detail=CommandDetail(command="touch x.txt && rm -rf y", cwd="/workspace", description="run"),
        ),
        ToolEnded(
            call=ToolCallId("call-1"),
            ok=False,
            outcome="denied",
            content=(TextBlock(text="This Bash command contains multiple …"),),
            detail=CommandDetail(
                command="touch x.txt && rm -rf y",
                cwd="/workspace",
                description="run",
                output="This Bash command contains multiple …",
            ),
        ),
        Message(
            message=MessageId("message-2"),
            part=0,
            text="Result was: This Bash command contai…",
            model="claude-opus-4-8",
        ),
        TurnEnded(
            turn=TurnId("turn-1"),
            ok=True,
            answer="Result was: This Bash command contai…",
            resume=SESSION,
            denials=(
                Denial(
                    tool="Bash",
                    call=ToolCallId("call-1"),
                    input=raw({"command": "touch x.txt && rm -rf y", "description": "run"}),
                ),
            ),
        ),
    ]


def test_parallel_calls_end_in_the_order_of_their_results() -> None:
    assert story("2.1.325", "parallel_tools") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        Message(message=MessageId("message-1"), part=0, text="two at once", model="claude-opus-5-5"),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="Bash",
            kind="command",
            title="sleep 0.5; echo A",
            message=MessageId("message-1"),
            input=raw({"command": "sleep 0.5; echo A", "description": "run"}),
            detail=CommandDetail(command="sleep 0.5; echo A", cwd="/workspace", description="run"),
        ),
        ToolStarted(
            call=ToolCallId("call-2"),
            name="Bash",
            kind="command",
            title="echo B",
            message=MessageId("message-1"),
            input=raw({"command": "echo B", "description": "run"}),
            detail=CommandDetail(command="echo B", cwd="/workspace", description="run"),
        ),
        ToolStarted(
            call=ToolCallId("call-3"),
            name="Read",
            kind="read",
            title="Read none",
            message=MessageId("message-1"),
            input=raw({"file_path": "/workspace/none"}),
            detail=ReadDetail(path="/workspace/none"),
        ),
        ToolEnded(
            call=ToolCallId("call-3"),
            ok=False,
            outcome="failed",
            content=(TextBlock(text="File does not exist. Note: your curr…"),),
            detail=ReadDetail(path="/workspace/none"),
        ),
        ToolEnded(
            call=ToolCallId("call-2"),
            ok=True,
            outcome="completed",
            content=(TextBlock(text="B"),),
            detail=CommandDetail(command="echo B", cwd="/workspace", description="run", exit_code=0, output="B"),
        ),
        ToolEnded(
            call=ToolCallId("call-1"),
            ok=True,
            outcome="completed",
            content=(TextBlock(text="A"),),
            detail=CommandDetail(
                command="sleep 0.5; echo A", cwd="/workspace", description="run", exit_code=0, output="A"
            ),
        ),
        Message(message=MessageId("message-2"), part=0, text="Seen: A", model="claude-opus-5-5"),
        TurnEnded(turn=TurnId("turn-1"), ok=True, answer="Seen: A", resume=SESSION),
    ]


def test_files_are_written_read_and_edited() -> None:
    assert story("2.1.325", "write_read_edit") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="Write",
            kind="file_change",
            title="a.txt",
            message=MessageId("message-1"),
            input=raw({"file_path": "/workspace/a.txt", "content": "one\ntwo\n"}),
            detail=FileChangeDetail(changes=(FileChange(path="/workspace/a.txt", new_text="one\ntwo\n"),)),
        ),
        ToolEnded(
            call=ToolCallId("call-1"),
            ok=True,
            outcome="completed",
            content=(TextBlock(text="File created successfully at: /works…"),),
            detail=FileChangeDetail(changes=(FileChange(path="/workspace/a.txt", kind="add", new_text="one\ntwo\n"),)),
        ),
        ToolStarted(
            call=ToolCallId("call-2"),
            name="Read",
            kind="read",
            title="Read a.txt",
            message=MessageId("message-2"),
            input=raw({"file_path": "/workspace/a.txt"}),
            detail=ReadDetail(path="/workspace/a.txt"),
        ),
        ToolEnded(
            call=ToolCallId("call-2"),
            ok=True,
            outcome="completed",
            content=(TextBlock(text="1\tone\n2\ttwo\n3\t"),),
            detail=ReadDetail(path="/workspace/a.txt"),
        ),
        ToolStarted(
            call=ToolCallId("call-3"),
            name="Edit",
            kind="file_change",
            title="a.txt",
            message=MessageId("message-3"),
            input=raw(
                {"replace_all": False, "file_path": "/workspace/a.txt", "old_string": "two", "new_string": "TWO"}
            ),
            detail=FileChangeDetail(changes=(FileChange(path="/workspace/a.txt", old_text="two", new_text="TWO"),)),
        ),
        ToolEnded(
            call=ToolCallId("call-3"),
            ok=True,
            outcome="completed",
            content=(TextBlock(text="The file /workspace/a.txt has been u…"),),
            detail=FileChangeDetail(
                changes=(
                    FileChange(
                        path="/workspace/a.txt",
                        old_text="two",
                        new_text="TWO",
                        hunks=(
                            Hunk(old_start=1, old_lines=2, new_start=1, new_lines=2, lines=(" one", "-two", "+TWO")),
                        ),
                    ),
                )
            ),
        ),
        Message(
            message=MessageId("message-4"),
            part=0,
            text="Edited: The file /workspace/a.txt ha…",
            model="claude-opus-5-5",
        ),
        TurnEnded(turn=TurnId("turn-1"), ok=True, answer="Edited: The file /workspace/a.txt ha…", resume=SESSION),
    ]


def test_a_sub_agent_in_the_foreground_is_a_task_whose_words_and_calls_name_their_parent() -> None:
    assert story("2.1.325", "subagent") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        Message(message=MessageId("message-1"), part=0, text="delegating", model="claude-opus-5-5"),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="Agent",
            kind="subagent",
            title="helper job",
            message=MessageId("message-1"),
            input=raw(
                {
                    "description": "helper job",
                    "prompt": 'SCRIPT:[{"text": "sub starts", "tool…',
                    "subagent_type": "general-purpose",
                    "run_in_background": False,
                }
            ),
            detail=SubagentDetail(
                description="helper job", prompt='SCRIPT:[{"text": "sub starts", "tool…', agent_type="general-purpose"
            ),
        ),
        TaskStarted(
            task=TaskId("task-1"),
            kind="agent",
            title="helper job",
            prompt='SCRIPT:[{"text": "sub starts", "tool…',
            agent_type="general-purpose",
            call=ToolCallId("call-1"),
        ),
        UserMessage(
            message=MessageId("id-2"),
            content=(TextBlock(text='SCRIPT:[{"text": "sub starts", "tool…'),),
            synthetic=True,
            parent=ToolCallId("call-1"),
        ),
        TaskUpdated(task=TaskId("task-1"), note="Running run"),
        ToolStarted(
            call=ToolCallId("call-2"),
            name="Bash",
            kind="command",
            title="echo from-sub",
            message=MessageId("message-2"),
            input=raw({"command": "echo from-sub", "description": "run"}),
            detail=CommandDetail(command="echo from-sub", cwd="/workspace", description="run"),
            parent=ToolCallId("call-1"),
        ),
        ToolEnded(
            call=ToolCallId("call-2"),
            ok=True,
            outcome="completed",
            content=(TextBlock(text="from-sub"),),
            detail=CommandDetail(
                command="echo from-sub", cwd="/workspace", description="run", exit_code=0, output="from-sub"
            ),
        ),
        TaskUpdated(task=TaskId("task-1"), status="completed"),
        TaskEnded(
            task=TaskId("task-1"),
            status="completed",
            summary="sub says: ",
            output_file="/scratch/claude-0/-workspace/b66f1c3…",
            call=ToolCallId("call-1"),
        ),
        ToolEnded(
            call=ToolCallId("call-1"),
            ok=True,
            outcome="completed",
            content=(TextBlock(text="  <tools-used-before-summary>Bash</t…"),),
            detail=SubagentDetail(
                description="helper job", prompt='SCRIPT:[{"text": "sub starts", "tool…', agent_type="general-purpose"
            ),
        ),
        Message(
            message=MessageId("message-3"),
            part=0,
            text="Main got:   <tools-used-before-summa…",
            model="claude-opus-5-5",
        ),
        TurnEnded(turn=TurnId("turn-1"), ok=True, answer="Main got:   <tools-used-before-summa…", resume=SESSION),
    ]


def test_a_sub_agent_in_the_background_holds_both_results_back_until_its_end() -> None:
    assert story("2.1.325", "subagent_task_name") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="Task",
            kind="subagent",
            title="helper job",
            message=MessageId("message-1"),
            input=raw(
                {
                    "description": "helper job",
                    "prompt": 'SCRIPT:[{"text": "sub starts", "tool…',
                    "subagent_type": "Explore",
                }
            ),
            detail=SubagentDetail(
                description="helper job", prompt='SCRIPT:[{"text": "sub starts", "tool…', agent_type="Explore"
            ),
        ),
        TaskStarted(
            task=TaskId("task-1"),
            kind="agent",
            title="helper job",
            prompt='SCRIPT:[{"text": "sub starts", "tool…',
            agent_type="Explore",
            background=True,
            call=ToolCallId("call-1"),
        ),
        ToolEnded(
            call=ToolCallId("call-1"),
            ok=True,
            outcome="completed",
            content=(TextBlock(text="Async agent launched successfully. (…"),),
            detail=SubagentDetail(
                description="helper job",
                prompt='SCRIPT:[{"text": "sub starts", "tool…',
                agent_type="Explore",
                background=True,
            ),
        ),
        Message(
            message=MessageId("message-2"),
            part=0,
            text="sub starts",
            model="claude-opus-5-5",
            parent=ToolCallId("call-1"),
        ),
        ToolStarted(
            call=ToolCallId("call-2"),
            name="Bash",
            kind="command",
            title="echo from-sub",
            message=MessageId("message-2"),
            input=raw({"command": "echo from-sub", "description": "run"}),
            detail=CommandDetail(command="echo from-sub", cwd="/workspace", description="run"),
            parent=ToolCallId("call-1"),
        ),
        TaskUpdated(task=TaskId("task-1"), note="Running run"),
        ToolEnded(
            call=ToolCallId("call-2"),
            ok=True,
            outcome="completed",
            content=(TextBlock(text="from-sub"),),
            detail=CommandDetail(
                command="echo from-sub", cwd="/workspace", description="run", exit_code=0, output="from-sub"
            ),
        ),
        Message(
            message=MessageId("message-3"),
            part=0,
            text="Main got: Async agent launched succe…",
            model="claude-opus-5-5",
        ),
        Message(
            message=MessageId("message-4"),
            part=0,
            text="sub says: ",
            model="claude-opus-5-5",
            parent=ToolCallId("call-1"),
        ),
        TaskUpdated(task=TaskId("task-1"), status="completed"),
        TaskEnded(
            task=TaskId("task-1"),
            status="completed",
            summary="sub says: ",
            output_file="/scratch/claude-0/-workspace/47e37b7…",
            call=ToolCallId("call-1"),
        ),
        Message(message=MessageId("message-5"), part=0, text="done.", model="claude-opus-5-5"),
        TurnEnded(turn=TurnId("turn-1"), ok=True, answer="Main got: Async agent launched succe…", resume=SESSION),
        TurnStarted(turn=TurnId("turn-2"), origin="task"),
        TurnEnded(turn=TurnId("turn-2"), ok=True, answer="done.", resume=SESSION, origin="task"),
    ]


def test_a_command_in_the_background_outlives_its_turn_and_starts_another() -> None:
    assert story("2.1.325", "bash_background") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="Bash",
            kind="command",
            title="sleep 2; echo bgdone",
            message=MessageId("message-1"),
            input=raw({"command": "sleep 2; echo bgdone", "description": "run", "run_in_background": True}),
            detail=CommandDetail(command="sleep 2; echo bgdone", cwd="/workspace", description="run", background=True),
        ),
        TaskStarted(task=TaskId("task-1"), kind="command", title="run", background=True, call=ToolCallId("call-1")),
        ToolEnded(
            call=ToolCallId("call-1"),
            ok=True,
            outcome="completed",
            content=(TextBlock(text="Command running in background with I…"),),
            detail=CommandDetail(
                command="sleep 2; echo bgdone",
                cwd="/workspace",
                description="run",
                background=True,
                output="Command running in background with I…",
            ),
        ),
        Message(
            message=MessageId("message-2"),
            part=0,
            text="Started: Command running in backgrou…",
            model="claude-opus-5-5",
        ),
        TurnEnded(turn=TurnId("turn-1"), ok=True, answer="Started: Command running in backgrou…", resume=SESSION),
        TaskUpdated(task=TaskId("task-1"), status="completed"),
        TaskEnded(
            task=TaskId("task-1"),
            status="completed",
            summary='Background command "run" completed (exit code 0)',
            output_file="/scratch/claude-0/-workspace/da46683…",
            call=ToolCallId("call-1"),
        ),
        TurnStarted(turn=TurnId("turn-2"), origin="task"),
        Message(message=MessageId("message-3"), part=0, text="After notice.", model="claude-opus-5-5"),
        TurnEnded(turn=TurnId("turn-2"), ok=True, answer="After notice.", resume=SESSION, origin="task"),
    ]
