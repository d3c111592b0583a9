"""Requests to a person, from the question to its effect."""

from __future__ import annotations

from footplate.events.base import ResumeToken
from footplate.events.content import TextBlock
from footplate.events.ids import EngineSessionId, MessageId, RequestId, ToolCallId, TurnId
from footplate.events.model import (
    Denial,
    EngineAttached,
    Message,
    ModeChanged,
    RequestAnswered,
    RequestApplied,
    RequestOpened,
    RequestRejected,
    RequestWithdrawn,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    UserMessage,
)
from footplate.events.requests import Allow, Deny, Request
from footplate.events.tools import (
    Choice,
    CommandDetail,
    FileChange,
    FileChangeDetail,
    PlanDetail,
    Question,
    QuestionDetail,
)
from tests.unit.engines.claude.playing import raw, story

SESSION = ResumeToken(engine="claude", value=EngineSessionId("id-1"))


def test_a_permission_that_is_refused_is_a_denied_call() -> None:
    assert story("2.1.325", "perm_deny") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        Message(message=MessageId("message-1"), part=0, text="go", model="claude-opus-5-5"),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="Bash",
            kind="command",
            title="touch q && echo made",
            message=MessageId("message-1"),
            input=raw({"command": "touch q && echo made", "description": "run"}),
            detail=CommandDetail(command="touch q && echo made", cwd="/workspace", description="run"),
        ),
        RequestOpened(
            request=Request(
                id=RequestId("id-2"),
                kind="permission",
                title="touch q && echo made",
                tool="Bash",
                call=ToolCallId("call-1"),
                description="run",
                blocked_path="/workspace/q",
                input=raw({"command": "touch q && echo made", "description": "run"}),
                detail=CommandDetail(command="touch q && echo made", cwd="/workspace", description="run"),
            )
        ),
        RequestAnswered(request=RequestId("id-2"), answer=Deny(), by="tester"),
        RequestApplied(request=RequestId("id-2")),
        ToolEnded(
            call=ToolCallId("call-1"),
            ok=False,
            outcome="denied",
            content=(TextBlock(text="user says no"),),
            detail=CommandDetail(
                command="touch q && echo made", cwd="/workspace", description="run", output="user says no"
            ),
        ),
        Message(message=MessageId("message-2"), part=0, text="End: user says no", model="claude-opus-5-5"),
        TurnEnded(
            turn=TurnId("turn-1"),
            ok=True,
            answer="End: user says no",
            resume=SESSION,
            denials=(
                Denial(
                    tool="Bash",
                    call=ToolCallId("call-1"),
                    input=raw({"command": "touch q && echo made", "description": "run"}),
                ),
            ),
        ),
    ]


def test_an_answer_that_the_cli_cannot_use_is_rejected_in_its_words() -> None:
    assert story("2.1.197", "perm_allow_noinput") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        Message(message=MessageId("message-1"), part=0, text="go", model="claude-opus-4-8"),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="Bash",
            kind="command",
            title="touch q && echo made",
            message=MessageId("message-1"),
            input=raw({"command": "touch q && echo made", "description": "run"}),
            detail=CommandDetail(command="touch q && echo made", cwd="/workspace", description="run"),
        ),
        RequestOpened(
            request=Request(
                id=RequestId("id-2"),
                kind="permission",
                title="touch q && echo made",
                tool="Bash",
                call=ToolCallId("call-1"),
                description="run",
                blocked_path="/workspace/q",
                input=raw({"command": "touch q && echo made", "description": "run"}),
                detail=CommandDetail(command="touch q && echo made", cwd="/workspace", description="run"),
            )
        ),
        RequestAnswered(request=RequestId("id-2"), answer=Allow(), by="tester"),
        RequestRejected(request=RequestId("id-2"), reason="Tool permission request failed: ZodE…"),
        ToolEnded(
            call=ToolCallId("call-1"),
            ok=False,
            outcome="denied",
            content=(TextBlock(text="Tool permission request failed: ZodE…"),),
            detail=CommandDetail(
                command="touch q && echo made",
                cwd="/workspace",
                description="run",
                output="Tool permission request failed: ZodE…",
            ),
        ),
        Message(
            message=MessageId("message-2"),
            part=0,
            text="End: Tool permission request failed:…",
            model="claude-opus-4-8",
        ),
        TurnEnded(
            turn=TurnId("turn-1"),
            ok=True,
            answer="End: Tool permission request failed:…",
            resume=SESSION,
            denials=(
                Denial(
                    tool="Bash",
                    call=ToolCallId("call-1"),
                    input=raw({"command": "touch q && echo made", "description": "run"}),
                ),
            ),
        ),
    ]


def test_questions_come_with_their_choices_and_end_with_the_answers() -> None:
    assert story("2.1.325", "perm_ask") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="AskUserQuestion",
            kind="question",
            title="ask user",
            message=MessageId("message-1"),
            input=raw(
                {
                    "questions": [
                        {
                            "question": "Which color?",
                            "header": "Color",
                            "multiSelect": False,
                            "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}],
                        },
                        {
                            "question": "Which sizes?",
                            "header": "Size",
                            "multiSelect": True,
                            "options": [{"label": "S", "description": "s"}, {"label": "L", "description": "l"}],
                        },
                    ]
                }
            ),
            detail=QuestionDetail(
                questions=(
                    Question(
                        text="Which color?",
                        header="Color",
                        choices=(Choice(label="Red", description="r"), Choice(label="Blue", description="b")),
                    ),
                    Question(
                        text="Which sizes?",
                        header="Size",
                        choices=(Choice(label="S", description="s"), Choice(label="L", description="l")),
                        multiple=True,
                    ),
                )
            ),
        ),
        RequestOpened(
            request=Request(
                id=RequestId("id-2"),
                kind="question",
                title="ask user",
                tool="AskUserQuestion",
                call=ToolCallId("call-1"),
                input=raw(
                    {
                        "questions": [
                            {
                                "question": "Which color?",
                                "header": "Color",
                                "options": [
                                    {"label": "Red", "description": "r"},
                                    {"label": "Blue", "description": "b"},
                                ],
                                "multiSelect": False,
                            },
                            {
                                "question": "Which sizes?",
                                "header": "Size",
                                "options": [{"label": "S", "description": "s"}, {"label": "L", "description": "l"}],
                                "multiSelect": True,
                            },
                        ]
                    }
                ),
                questions=(
                    Question(
                        text="Which color?",
                        header="Color",
                        choices=(Choice(label="Red", description="r"), Choice(label="Blue", description="b")),
                    ),
                    Question(
                        text="Which sizes?",
                        header="Size",
                        choices=(Choice(label="S", description="s"), Choice(label="L", description="l")),
                        multiple=True,
                    ),
                ),
            )
        ),
        RequestAnswered(request=RequestId("id-2"), answer=Allow(), by="tester"),
        RequestApplied(request=RequestId("id-2")),
        ToolEnded(
            call=ToolCallId("call-1"),
            ok=True,
            outcome="completed",
            content=(TextBlock(text='Your questions have been answered: "…'),),
            detail=QuestionDetail(
                questions=(
                    Question(
                        text="Which color?",
                        header="Color",
                        choices=(Choice(label="Red", description="r"), Choice(label="Blue", description="b")),
                    ),
                    Question(
                        text="Which sizes?",
                        header="Size",
                        choices=(Choice(label="S", description="s"), Choice(label="L", description="l")),
                        multiple=True,
                    ),
                ),
                answers={"Which color?": "Blue", "Which sizes?": "S, L"},
            ),
        ),
        Message(
            message=MessageId("message-2"),
            part=0,
            text="End: Your questions have been answer…",
            model="claude-opus-5-5",
        ),
        TurnEnded(turn=TurnId("turn-1"), ok=True, answer="End: Your questions have been answer…", resume=SESSION),
    ]


def test_a_plan_comes_with_its_text_its_file_and_what_it_wants_to_be_allowed() -> None:
    assert story("2.1.325", "perm_plan_allow") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="plan"),
        TurnStarted(turn=TurnId("turn-1")),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="Write",
            kind="file_change",
            title="/home/user/.claude/plans/script-tool…",
            message=MessageId("message-1"),
            input=raw({"file_path": "/home/user/.claude/plans/script-tool…", "content": "# The plan\n1. do it\n"}),
            detail=FileChangeDetail(
                changes=(FileChange(path="/home/user/.claude/plans/script-tool…", new_text="# The plan\n1. do it\n"),)
            ),
        ),
        ToolEnded(
            call=ToolCallId("call-1"),
            ok=True,
            outcome="completed",
            content=(TextBlock(text="File created successfully at: /home/…"),),
            detail=FileChangeDetail(
                changes=(
                    FileChange(
                        path="/home/user/.claude/plans/script-tool…", kind="add", new_text="# The plan\n1. do it\n"
                    ),
                )
            ),
        ),
        ToolStarted(
            call=ToolCallId("call-2"),
            name="Write",
            kind="file_change",
            title="a.txt",
            message=MessageId("message-2"),
            input=raw({"file_path": "/workspace/a.txt", "content": "x"}),
            detail=FileChangeDetail(changes=(FileChange(path="/workspace/a.txt", new_text="x"),)),
        ),
        RequestOpened(
            request=Request(
                id=RequestId("id-2"),
                kind="permission",
                title="a.txt",
                tool="Write",
                call=ToolCallId("call-2"),
                description="a.txt",
                reason_type="mode",
                input=raw({"file_path": "/workspace/a.txt", "content": "x"}),
                detail=FileChangeDetail(changes=(FileChange(path="/workspace/a.txt", new_text="x"),)),
            )
        ),
        RequestAnswered(request=RequestId("id-2"), answer=Allow(), by="tester"),
        RequestApplied(request=RequestId("id-2")),
        ToolEnded(
            call=ToolCallId("call-2"),
            ok=True,
            outcome="completed",
            content=(TextBlock(text="File created successfully at: /works…"),),
            detail=FileChangeDetail(changes=(FileChange(path="/workspace/a.txt", kind="add", new_text="x"),)),
        ),
        ToolStarted(
            call=ToolCallId("call-3"),
            name="ExitPlanMode",
            kind="plan",
            title="plan",
            message=MessageId("message-3"),
            input=raw(
                {
                    "plan": "# The plan\n1. do it\n",
                    "allowedPrompts": [{"tool": "Bash", "prompt": "run tests"}],
                    "planFilePath": "/home/user/.claude/plans/script-tool…",
                }
            ),
            detail=PlanDetail(plan="# The plan\n1. do it\n", plan_file="/home/user/.claude/plans/script-tool…"),
        ),
        RequestOpened(
            request=Request(
                id=RequestId("id-3"),
                kind="plan",
                title="plan",
                tool="ExitPlanMode",
                call=ToolCallId("call-3"),
                input=raw(
                    {
                        "allowedPrompts": [{"tool": "Bash", "prompt": "run tests"}],
                        "plan": "# The plan\n1. do it\n",
                        "planFilePath": "/home/user/.claude/plans/script-tool…",
                    }
                ),
                plan="# The plan\n1. do it\n",
                plan_file="/home/user/.claude/plans/script-tool…",
                allowed_prompts=("Bash: run tests",),
            )
        ),
        RequestAnswered(request=RequestId("id-3"), answer=Allow(), by="tester"),
        ModeChanged(mode="default"),
        RequestApplied(request=RequestId("id-3")),
        ToolEnded(
            call=ToolCallId("call-3"),
            ok=True,
            outcome="completed",
            content=(TextBlock(text="User has approved your plan. You can…"),),
            detail=PlanDetail(plan="# The plan\n1. do it\n", plan_file="/home/user/.claude/plans/script-tool…"),
        ),
        ToolStarted(
            call=ToolCallId("call-4"),
            name="Write",
            kind="file_change",
            title="a.txt",
            message=MessageId("message-4"),
            input=raw({"file_path": "/workspace/a.txt", "content": "x"}),
            detail=FileChangeDetail(changes=(FileChange(path="/workspace/a.txt", new_text="x"),)),
        ),
        RequestOpened(
            request=Request(
                id=RequestId("id-4"),
                kind="permission",
                title="a.txt",
                tool="Write",
                call=ToolCallId("call-4"),
                description="a.txt",
                input=raw({"file_path": "/workspace/a.txt", "content": "x"}),
                detail=FileChangeDetail(changes=(FileChange(path="/workspace/a.txt", new_text="x"),)),
            )
        ),
        RequestAnswered(request=RequestId("id-4"), answer=Allow(), by="tester"),
        RequestApplied(request=RequestId("id-4")),
        ToolEnded(
            call=ToolCallId("call-4"),
            ok=True,
            outcome="completed",
            content=(TextBlock(text="The file /workspace/a.txt has been u…"),),
            detail=FileChangeDetail(changes=(FileChange(path="/workspace/a.txt", new_text="x"),)),
        ),
        Message(
            message=MessageId("message-5"),
            part=0,
            text="End: The file /workspace/a.txt has b…",
            model="claude-opus-5-5",
        ),
        TurnEnded(turn=TurnId("turn-1"), ok=True, answer="End: The file /workspace/a.txt has b…", resume=SESSION),
    ]


def test_an_interrupt_withdraws_the_request() -> None:
    assert story("2.1.325", "interrupt_during_perm") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="Bash",
            kind="command",
            title="touch q",
            message=MessageId("message-1"),
            input=raw({"command": "touch q", "description": "run"}),
            detail=CommandDetail(command="touch q", cwd="/workspace", description="run"),
        ),
        RequestOpened(
            request=Request(
                id=RequestId("id-2"),
                kind="permission",
                title="touch q",
                tool="Bash",
                call=ToolCallId("call-1"),
                description="run",
                blocked_path="/workspace/q",
                input=raw({"command": "touch q", "description": "run"}),
                detail=CommandDetail(command="touch q", cwd="/workspace", description="run"),
            )
        ),
        RequestAnswered(request=RequestId("id-2"), answer=Allow(), by="tester"),
        RequestWithdrawn(request=RequestId("id-2"), reason="the agent no longer asks"),
        ToolEnded(
            call=ToolCallId("call-1"),
            ok=False,
            outcome="cancelled",
            content=(TextBlock(text="The user doesn't want to proceed wit…"),),
            detail=CommandDetail(
                command="touch q", cwd="/workspace", description="run", output="The user doesn't want to proceed wit…"
            ),
        ),
        UserMessage(
            message=MessageId("id-3"),
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
            denials=(
                Denial(tool="Bash", call=ToolCallId("call-1"), input=raw({"command": "touch q", "description": "run"})),
            ),
        ),
        TurnStarted(turn=TurnId("turn-2")),
        Message(message=MessageId("message-2"), part=0, text="Second turn works.", model="claude-opus-5-5"),
        TurnEnded(turn=TurnId("turn-2"), ok=True, answer="Second turn works.", resume=SESSION),
    ]


def test_a_request_that_nobody_can_answer_any_more_is_withdrawn() -> None:
    assert story("2.1.325", "eof_perm") == [
        EngineAttached(engine="claude", engine_session_id=EngineSessionId("id-1"), mode="default"),
        TurnStarted(turn=TurnId("turn-1")),
        ToolStarted(
            call=ToolCallId("call-1"),
            name="Bash",
            kind="command",
            title="touch q",
            message=MessageId("message-1"),
            input=raw({"command": "touch q", "description": "run"}),
            detail=CommandDetail(command="touch q", cwd="/workspace", description="run"),
        ),
        RequestOpened(
            request=Request(
                id=RequestId("id-2"),
                kind="permission",
                title="touch q",
                tool="Bash",
                call=ToolCallId("call-1"),
                description="run",
                blocked_path="/workspace/q",
                input=raw({"command": "touch q", "description": "run"}),
                detail=CommandDetail(command="touch q", cwd="/workspace", description="run"),
            )
        ),
        RequestWithdrawn(request=RequestId("id-2"), reason="the agent went on without an answer"),
        ToolEnded(
            call=ToolCallId("call-1"),
            ok=False,
            outcome="denied",
            content=(TextBlock(text="Tool permission request failed: Abor…"),),
            detail=CommandDetail(
                command="touch q", cwd="/workspace", description="run", output="Tool permission request failed: Abor…"
            ),
        ),
        Message(
            message=MessageId("message-2"),
            part=0,
            text="First end: Tool permission request f…",
            model="claude-opus-5-5",
        ),
        TurnEnded(
            turn=TurnId("turn-1"),
            ok=True,
            answer="First end: Tool permission request f…",
            resume=SESSION,
            denials=(
                Denial(tool="Bash", call=ToolCallId("call-1"), input=raw({"command": "touch q", "description": "run"})),
            ),
        ),
    ]
