"""The conversation with `codex app-server`; the traps of `engines.md` stand in the names of their tests."""

from __future__ import annotations

import json
from typing import cast

import msgspec
import pytest

from footplate.engines.base import Exit, Installed, Options
from footplate.engines.codex.conversation import AppServerConversation
from footplate.engines.codex.diffs import read_hunks
from footplate.engines.declared import Declared
from footplate.errors import EngineGone, InvalidValue, UnsupportedOption
from footplate.events.base import ResumeToken
from footplate.events.commands import Interrupt, Rename, SetEffort, SetMode, SetModel, WithdrawPrompt
from footplate.events.content import TextBlock
from footplate.events.ids import EngineSessionId, MessageId, PromptId, ToolCallId
from footplate.events.inputs import split_input
from footplate.events.model import (
    CompactionEnded,
    CompactionStarted,
    ConfigChanged,
    EngineAttached,
    EngineDetached,
    Message,
    MessageDelta,
    ModeChanged,
    ModelChanged,
    Notice,
    PlanChanged,
    PromptSteered,
    PromptWithdrawn,
    RequestApplied,
    RequestOpened,
    RequestWithdrawn,
    Thought,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
    TurnStarted,
    Unparsed,
    UserMessage,
)
from footplate.events.requests import Allow, Answer, Choose, Decline, Deny, Reply
from footplate.events.tools import CommandDetail, FileChange, FileChangeDetail, Hunk, PlanEntry, SubagentDetail
from footplate.events.usage import Usage
from footplate.host.lines import Block
from footplate.testing.invariants import check_invariants
from tests.unit.engines.codex.playing import OPTIONS, THREAD, Json, Play, recording, replay

NAMES = ["approve", "approve-sandboxfail", "decline", "edit", "interrupt", "question"]
COMMAND: Json = {
    "type": "commandExecution",
    "id": "c1",
    "command": "/bin/bash -lc 'ls'",
    "cwd": "/workspace",
    "commandActions": [{"type": "unknown", "command": "ls"}],
    "status": "inProgress",
}
APPROVAL = "item/commandExecution/requestApproval"
AMENDMENT: Json = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["ls"]}}


def only(play: Play, kind: type) -> list[object]:
    return [event for event in play.events if isinstance(event, kind)]


def end_of(play: Play) -> TurnEnded:
    return cast("TurnEnded", only(play, TurnEnded)[-1])


# ------------------------------------------------------------------------------------------- recordings


@pytest.mark.parametrize("name", NAMES)
def test_every_beginning_of_a_recording_is_closed_in_order(name: str) -> None:
    records = recording(name)
    for length in range(len(records) + 1):
        events = replay(records[:length]).events
        assert check_invariants(events, finished=True) == [], f"cut after {length} lines"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_a_recording_goes_unread(name: str) -> None:
    assert only(replay(recording(name)), Unparsed) == []


def test_trap_1_usage_is_that_of_the_turn_and_not_of_the_thread() -> None:
    play = replay(recording("approve"))
    assert end_of(play).usage == Usage(
        input_tokens=160, output_tokens=20, cache_read_tokens=40, reasoning_tokens=4, duration_ms=238
    )


def test_an_approved_command_runs_and_the_answer_is_applied() -> None:
    play = replay(recording("approve"))
    [opened] = only(play, RequestOpened)
    assert isinstance(opened, RequestOpened)
    assert (opened.request.title, opened.request.tool) == ("echo hi > out.txt; cat out.txt", "shell")
    assert [option.kind for option in opened.request.options] == [
        "allow_once",
        "allow_always",
        "deny",
        "deny_and_stop",
    ]
    assert only(play, RequestApplied) == [RequestApplied(request=opened.request.id)]
    [ended] = only(play, ToolEnded)
    assert isinstance(ended, ToolEnded)
    assert ended.detail == CommandDetail(
        command="echo hi > out.txt; cat out.txt", cwd="/workspace", exit_code=0, output="hi\n"
    )
    assert (end_of(play).ok, end_of(play).answer) == (True, "All done. tools=1")


def test_trap_4_to_decline_is_taken_though_it_is_not_listed() -> None:
    play = replay(recording("decline"))
    [ended] = only(play, ToolEnded)
    assert isinstance(ended, ToolEnded)
    assert (ended.ok, ended.outcome) == (False, "denied")
    assert [denial.tool for denial in end_of(play).denials] == ["shell"]
    assert end_of(play).ok


def test_trap_5_a_sandbox_that_cannot_be_set_up_is_a_failed_command() -> None:
    play = replay(recording("approve-sandboxfail"))
    outcomes = [event.outcome for event in only(play, ToolEnded) if isinstance(event, ToolEnded)]
    assert outcomes == ["failed"]


def test_trap_7_a_patch_in_a_shell_command_is_a_change_of_files() -> None:
    play = replay(recording("edit"))
    [started] = only(play, ToolStarted)
    assert isinstance(started, ToolStarted)
    assert (started.name, started.kind) == ("apply_patch", "file_change")
    change = FileChange(path="/workspace/hello.txt", kind="add", new_text="hello\n")
    assert started.detail == FileChangeDetail(changes=(change,))
    [opened] = only(play, RequestOpened)
    assert isinstance(opened, RequestOpened)
    assert opened.request.title == "/workspace/hello.txt"


def test_a_question_is_asked_and_its_answer_sent() -> None:
    play = replay(recording("question"))
    [opened] = only(play, RequestOpened)
    assert isinstance(opened, RequestOpened)
    assert [question.text for question in opened.request.questions] == ["Which color?"]
    assert play.frames[-1] == {"jsonrpc": "2.0", "id": 0, "result": {"answers": {"color": {"answers": ["Blue"]}}}}


def test_an_interrupted_turn_ends_as_one() -> None:
    play = replay(recording("interrupt"))
    assert (end_of(play).ok, end_of(play).stop_reason) == (False, "interrupted")


# --------------------------------------------------------------------------------------------- starting


def test_it_introduces_itself_opens_a_thread_and_sends_the_prompt_that_waited() -> None:
    options = Options(
        cwd="/w",
        asks=True,
        model="m",
        mode="workspace-write",
        effort="high",
        add_dirs=("/more",),
        system_prompt="base",
        append_system_prompt="and",
        json_schema='{"type":"object"}',
    )
    play = Play(options)
    play.prompt()
    play.open(approvalPolicy="on-request")
    assert [frame["method"] for frame in play.frames] == [
        "initialize",
        "initialized",
        "thread/start",
        "model/list",
        "turn/start",
    ]
    assert play.last("thread/start")["params"] == {
        "cwd": "/w",
        "model": "m",
        "approvalPolicy": "on-request",
        "sandbox": "workspace-write",
        "baseInstructions": "base",
        "developerInstructions": "and",
        "config": {"model_reasoning_effort": "high", "sandbox_workspace_write": {"writable_roots": ["/more"]}},
    }
    assert play.last("turn/start")["params"] == {
        "threadId": THREAD,
        "input": [{"type": "text", "text": "do it"}],
        "outputSchema": {"type": "object"},
    }
    attached = next(event for event in play.events if isinstance(event, EngineAttached))
    assert attached == EngineAttached(
        engine="codex",
        engine_session_id=EngineSessionId(THREAD),
        version="0.166.0",
        model="m-1",
        mode="workspace-write",
        cwd="/w",
    )


@pytest.mark.parametrize(
    ("approval", "sandbox", "mode"),
    [
        ("on-request", "readOnly", "read-only"),
        ("on-request", "workspaceWrite", "workspace-write"),
        ("never", "dangerFullAccess", "danger-full-access"),
        ("untrusted", "dangerFullAccess", "ask"),
        ("never", "workspaceWrite", "config"),
        ({"granular": {}}, "workspaceWrite", "config"),
    ],
)
def test_the_mode_in_force_is_named_by_what_the_thread_was_opened_with(
    approval: object, sandbox: str, mode: str
) -> None:
    play = Play()
    play.open(approvalPolicy=approval, sandbox={"type": sandbox})
    attached = next(event for event in play.events if isinstance(event, EngineAttached))
    assert attached.mode == mode
    again = Play(Options(cwd="/w", mode=mode, resume=EngineSessionId(THREAD)))
    again.open(approvalPolicy=approval, sandbox={"type": sandbox})
    assert next(event for event in again.events if isinstance(event, EngineAttached)).mode == mode


@pytest.mark.parametrize(
    ("fork", "method", "reason"), [(False, "thread/resume", "resumed"), (True, "thread/fork", "forked")]
)
def test_an_old_thread_is_taken_up_or_copied(fork: bool, method: str, reason: str) -> None:
    resume = "t-0" if fork else THREAD
    play = Play(Options(cwd="/w", resume=EngineSessionId(resume), fork=fork))
    play.open()
    assert play.last(method)["params"] == {"threadId": resume, "excludeTurns": True, "cwd": "/w"}
    attached = next(event for event in play.events if isinstance(event, EngineAttached))
    assert attached.reason == reason


def test_another_thread_than_the_one_asked_for_fails_every_prompt_and_is_not_attached() -> None:
    play = Play(Options(cwd="/w", resume=EngineSessionId("wanted")))
    play.prompt()
    play.open()
    assert not [event for event in play.events if isinstance(event, EngineAttached)]
    ended = next(event for event in play.events if isinstance(event, TurnEnded))
    text = f"asked to resume session wanted, but the agent answers as session {THREAD}"
    assert (ended.ok, ended.error, ended.error_kind) == (False, text, "session_id_mismatch")


def test_without_a_thread_every_prompt_fails_with_the_reason() -> None:
    play = Play(Options(cwd="/w", resume=EngineSessionId("gone")))
    play.prompt()
    play.answer("initialize")
    play.fail("thread/resume", "no rollout found for thread id gone")
    play.prompt("again")
    ends = [event for event in play.events if isinstance(event, TurnEnded)]
    assert [end.error for end in ends] == ["no rollout found for thread id gone"] * 2
    play.finish()
    assert check_invariants(play.events, finished=True) == []


def test_what_can_be_chosen_is_what_codex_lists() -> None:
    play = Play()
    play.open()
    efforts = [{"reasoningEffort": "low", "description": "quick"}]
    model = {"model": "m-1", "displayName": "M 1", "description": "", "supportedReasoningEfforts": efforts}
    play.answer("model/list", data=[model, {"model": "m-2", "hidden": True}])
    config = play.events[-1]
    assert isinstance(config, ConfigChanged)
    listed = {option.id: (option.value, [value.value for value in option.values]) for option in config.options}
    assert listed == {
        "model": ("m-1", ["m-1"]),
        "mode": ("ask", ["config", "ask", "read-only", "workspace-write", "danger-full-access", "plan"]),
        "effort": ("", ["low"]),
    }


# ------------------------------------------------------------------------------------------------ turns


def test_text_thoughts_and_plans_are_events() -> None:
    play = Play()
    play.start()
    play.tell("item/reasoning/summaryTextDelta", itemId="rs", delta="hm", summaryIndex=0)
    thought = play.tell("item/completed", item={"type": "reasoning", "id": "rs", "summary": ["hm"]})
    assert thought == [Thought(message=MessageId("turn-1.m1"), part=0, text="hm")]
    delta = play.tell("item/agentMessage/delta", itemId="msg", delta="Hello")
    assert delta == [MessageDelta(message=MessageId("turn-1.m2"), part=0, text="Hello")]
    said = play.tell("item/completed", item={"type": "agentMessage", "id": "msg", "text": "Hello"})
    assert said == [Message(message=MessageId("turn-1.m2"), part=0, text="Hello")]
    plan = play.tell("turn/plan/updated", plan=[{"step": "a", "status": "inProgress"}, {"step": "b"}])
    assert plan == [PlanChanged(entries=(PlanEntry(content="a", status="in_progress"), PlanEntry(content="b")))]
    assert play.tell("item/started", item={"type": "contextCompaction", "id": "x"}) == [
        CompactionStarted(trigger="auto")
    ]
    assert play.tell("item/completed", item={"type": "contextCompaction", "id": "x"}) == [
        CompactionEnded(ok=True, trigger="auto")
    ]


def test_an_id_that_comes_again_is_another_message_and_another_call() -> None:
    play = Play()
    play.start()
    for _ in range(2):
        play.tell("item/completed", item={"type": "agentMessage", "id": "msg", "text": "Hello"})
        play.tell("item/started", item=COMMAND)
        play.tell("item/completed", item={**COMMAND, "status": "completed", "exitCode": 0})
    assert [event.message for event in play.events if isinstance(event, Message)] == ["turn-1.m1", "turn-1.m2"]
    assert [event.call for event in play.events if isinstance(event, ToolEnded)] == ["c1", "c1#2"]


def test_output_of_a_running_command_is_told_as_it_comes() -> None:
    play = Play()
    play.start()
    play.tell("item/started", item=COMMAND)
    assert play.tell("item/commandExecution/outputDelta", itemId="c1", delta="a b\n") == [
        ToolUpdated(call=ToolCallId("c1"), output_delta="a b\n")
    ]


def test_a_change_of_a_file_is_told_in_hunks() -> None:
    play = Play()
    play.start()
    diff = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9 +9 @@\n-x\n+y\n"
    change = {"path": "/w/f", "kind": {"type": "update", "move_path": "/w/g"}, "diff": diff}
    [started] = play.tell("item/started", item={"type": "fileChange", "id": "c2", "changes": [change]})
    assert isinstance(started, ToolStarted)
    hunks = (
        Hunk(old_start=1, old_lines=2, new_start=1, new_lines=2, lines=(" a", "-b", "+c")),
        Hunk(old_start=9, old_lines=1, new_start=9, new_lines=1, lines=("-x", "+y")),
    )
    assert started.detail == FileChangeDetail(
        changes=(FileChange(path="/w/f", kind="move", hunks=hunks, moved_to="/w/g"),)
    )


def test_trap_2_warnings_are_warnings_and_the_turn_goes_on() -> None:
    play = Play()
    play.start()
    warning = Notice(level="warning", text="no metadata", code="codex")
    assert play.tell("warning", message="no metadata") == [warning]
    retry = play.tell("error", error={"message": "reconnecting"}, willRetry=True)
    assert retry == [Notice(level="warning", text="reconnecting", code="codex")]
    play.end()
    assert end_of(play).ok


def test_trap_3_a_failure_that_is_told_twice_is_one_end() -> None:
    play = Play()
    play.start()
    info = {"message": '{"error": {"message": "bad key"}}', "codexErrorInfo": "unauthorized"}
    play.tell("error", error=info, willRetry=False)
    play.end("failed", error=info)
    [end] = [event for event in play.events if isinstance(event, TurnEnded)]
    assert (end.ok, end.error, end.error_kind, end.stop_reason) == (False, "bad key", "auth", "error")


def test_structured_output_is_the_answer_read() -> None:
    play = Play(msgspec.structs.replace(OPTIONS, json_schema='{"type":"object"}'))
    play.start()
    play.tell("item/completed", item={"type": "agentMessage", "id": "msg", "text": '{"a": 1}'})
    play.end()
    assert end_of(play).structured_output == msgspec.Raw(b'{"a":1}')


def test_figures_of_another_turn_do_not_count() -> None:
    play = Play()
    play.start()
    usage = {"last": {"inputTokens": 7, "totalTokens": 9}, "total": {}, "modelContextWindow": 100}
    play.tell("thread/tokenUsage/updated", turnId="an older one", tokenUsage=usage)
    play.end()
    assert end_of(play).usage is None


def test_an_agent_of_the_agent_is_nested_below_its_call() -> None:
    play = Play()
    play.start()
    spawn = {"type": "collabAgentToolCall", "id": "c9", "tool": "spawn_agent", "prompt": "look", "status": "inProgress"}
    [started] = play.tell("item/started", item={**spawn, "receiverThreadIds": ["t-2"]})
    assert isinstance(started, ToolStarted)
    assert started.detail == SubagentDetail(description="spawn_agent", prompt="look")
    [inner] = play.tell("item/started", threadId="t-2", item=COMMAND)
    assert isinstance(inner, ToolStarted)
    assert (inner.call, inner.parent) == ("t-2/c1", "c9")
    play.tell("turn/completed", threadId="t-2", turn={"id": "w-9", "status": "completed"})
    assert not only(play, TurnEnded)


def test_what_is_not_known_is_kept_as_it_came() -> None:
    play = Play()
    play.start()
    lines: tuple[Json, ...] = (
        {"method": "thread/new/thing", "params": {"threadId": THREAD}},
        {"method": "item/started", "params": {"threadId": "stranger", "item": COMMAND}},
        {"method": "item/started", "params": {"threadId": THREAD, "item": {"type": "newItem", "id": "x"}}},
        {"id": 99, "result": {}},
    )
    for line in lines:
        [kept] = play.line(line)
        assert isinstance(kept, Unparsed)
        assert json.loads(kept.raw) == line


def test_when_codex_dies_everything_it_had_open_is_closed() -> None:
    play = Play()
    play.start()
    play.tell("item/started", item=COMMAND)
    play.ask(0, APPROVAL, itemId="c1", command="ls")
    play.prompt("waits")
    play.finish(Exit(code=7, reason="exit code 7", stderr="last words"))
    assert check_invariants(play.events, finished=True) == []
    assert isinstance(only(play, PromptWithdrawn)[0], PromptWithdrawn)
    assert "last words" in end_of(play).error
    assert end_of(play).resume == ResumeToken(engine="codex", value=EngineSessionId(THREAD))
    with pytest.raises(EngineGone):
        play.prompt()


# --------------------------------------------------------------------------------------------- commands


def test_a_prompt_can_go_into_the_turn_that_runs() -> None:
    play = Play()
    play.open()
    play.prompt()
    play.prompt("and this", when="steer")
    play.answer("turn/start", turn={"id": "w-1", "status": "inProgress"})
    assert play.last("turn/steer")["params"] == {
        "threadId": THREAD,
        "expectedTurnId": "w-1",
        "input": [{"type": "text", "text": "and this"}],
    }
    steered = play.answer("turn/steer", turnId="w-1")
    assert steered == [
        PromptSteered(prompt=PromptId("p2")),
        UserMessage(message=MessageId("turn-1.user1"), content=(TextBlock(text="and this"),), prompt=PromptId("p2")),
    ]


def test_a_prompt_that_the_turn_does_not_take_waits_for_the_next() -> None:
    play = Play()
    play.start()
    play.prompt("and this", when="steer")
    play.fail("turn/steer", "no active turn to steer")
    play.end()
    assert play.last("turn/start")["params"] == {"threadId": THREAD, "input": [{"type": "text", "text": "and this"}]}


def test_an_interrupt_waits_until_the_turn_has_a_name() -> None:
    play = Play()
    play.open()
    play.prompt()
    play.command(Interrupt(key="stop"))
    assert not [frame for frame in play.frames if frame.get("method") == "turn/interrupt"]
    play.answer("turn/start", turn={"id": "w-1", "status": "inProgress"})
    assert play.last("turn/interrupt")["params"] == {"threadId": THREAD, "turnId": "w-1"}
    play.end("interrupted")
    assert end_of(play).stop_reason == "interrupted"


def test_an_interrupt_withdraws_what_is_asked_and_what_waits() -> None:
    play = Play()
    play.start()
    play.tell("item/started", item=COMMAND)
    play.ask(0, APPROVAL, itemId="c1", command="ls")
    play.prompt("waits")
    play.command(Interrupt(key="stop", withdraw_queued=True))
    assert [type(event) for event in play.events[-2:]] == [PromptWithdrawn, RequestWithdrawn]
    play.end("interrupted")
    ended = [event.outcome for event in play.events if isinstance(event, ToolEnded)]
    assert ended == ["cancelled"]


def test_prompts_wait_and_can_be_withdrawn_or_go_first() -> None:
    play = Play()
    play.start()
    play.prompt("second")
    play.prompt("third", when="now")
    assert play.command(WithdrawPrompt(key="w", prompt=PromptId("p2"))) == [
        PromptWithdrawn(prompt=PromptId("p2"), reason="withdrawn")
    ]
    play.end("interrupted")
    assert play.last("turn/start")["params"] == {"threadId": THREAD, "input": [{"type": "text", "text": "third"}]}


def test_mode_model_and_effort_come_with_the_next_turn_once() -> None:
    play = Play()
    play.open()
    assert play.command(SetMode(key="1", mode="plan"))[0] == ModeChanged(mode="plan")
    assert play.command(SetModel(key="2", model="m-2"))[0] == ModelChanged(model="m-2")
    play.command(SetEffort(key="3", effort="low"))
    play.prompt()
    settings = {"model": "m-2", "reasoning_effort": "low", "developer_instructions": None}
    assert play.last("turn/start")["params"] == {
        "threadId": THREAD,
        "input": [{"type": "text", "text": "do it"}],
        "model": "m-2",
        "effort": "low",
        "approvalPolicy": "on-request",
        "sandboxPolicy": {"type": "readOnly"},
        "collaborationMode": {"mode": "plan", "settings": settings},
    }
    play.answer("turn/start", turn={"id": "w-1", "status": "inProgress"})
    play.end()
    play.command(SetMode(key="4", mode="ask"))
    play.prompt("again")
    params = play.last("turn/start")["params"]
    assert isinstance(params, dict)
    assert (params["approvalPolicy"], params["collaborationMode"]["mode"]) == ("untrusted", "default")
    assert "model" not in params
    with pytest.raises(InvalidValue, match="one of config, ask, read-only"):
        play.command(SetMode(key="5", mode="yolo"))
    with pytest.raises(InvalidValue, match="one of minimal"):
        play.command(SetEffort(key="6", effort="much"))
    with pytest.raises(UnsupportedOption, match="its own settings"):
        play.command(SetMode(key="5b", mode="config"))
    with pytest.raises(UnsupportedOption, match="Rename"):
        play.command(Rename(key="7", title="x"))


def test_what_is_chosen_while_it_starts_holds_from_the_first_turn_on_and_is_shown() -> None:
    play = Play()
    play.prompt()
    play.command(SetMode(key="1", mode="plan"))
    play.command(SetModel(key="2", model="m-2"))
    play.open()
    attached = next(event for event in play.events if isinstance(event, EngineAttached))
    later = play.events[play.events.index(attached) + 1 :]
    assert [event for event in later if isinstance(event, ModeChanged | ModelChanged)] == [
        ModeChanged(mode="plan"),
        ModelChanged(model="m-2"),
    ]
    params = play.last("turn/start")["params"]
    assert isinstance(params, dict)
    assert (params["model"], params["sandboxPolicy"]) == ("m-2", {"type": "readOnly"})


# --------------------------------------------------------------------------------------------- requests


def test_an_agent_that_ends_while_it_starts_fails_what_waits_with_its_last_words() -> None:
    play = Play()
    play.prompt("Fix it")
    events = play.finish(Exit(code=1, reason="exit code 1", stderr="please log in\n"))
    assert [type(event) for event in events] == [TurnStarted, UserMessage, TurnEnded, EngineDetached]
    failed = events[2]
    assert isinstance(failed, TurnEnded)
    assert (failed.ok, failed.error) == (False, "the agent ended without a result (exit code 1): please log in")
    assert check_invariants(play.events, finished=True) == []


def asked(play: Play, method: str = APPROVAL, **params: object) -> RequestOpened:
    """Codex asks for leave; the request that it became."""
    play.start()
    play.tell("item/started", item=COMMAND)
    opened = play.ask(0, method, itemId="c1", **params)[-1]
    assert isinstance(opened, RequestOpened)
    return opened


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        (Allow(), "accept"),
        (Allow(scope="session"), "accept"),
        (Allow(scope="always"), AMENDMENT),
        (Deny(), "decline"),
        (Deny(interrupt=True), "cancel"),
        (Decline(), "decline"),
        (Choose(option="cancel"), "cancel"),
    ],
)
def test_an_answer_is_a_decision_of_codex(answer: Answer, decision: object) -> None:
    play = Play()
    opened = asked(play, command="ls", availableDecisions=["accept", AMENDMENT, "cancel"])
    play.reply(opened.request.id, answer)
    assert play.frames[-1] == {"jsonrpc": "2.0", "id": 0, "result": {"decision": decision}}
    resolved = play.tell("serverRequest/resolved", requestId=0)
    assert resolved == [RequestApplied(request=opened.request.id)]


@pytest.mark.parametrize(
    ("decision", "label"),
    [
        (["git", "status"], "Yes, and always: commands that begin with git status"),
        (["sh", "-c", "rm  x\ny"], 'Yes, and always: commands that begin with sh -c "rm  x\\ny"'),
        ("*", 'Yes, and always: the rule {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": "*"}}'),
    ],
)
def test_always_names_the_rule_that_codex_would_keep(decision: object, label: str) -> None:
    amendment = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": decision}}
    opened = asked(Play(), command="ls", availableDecisions=["accept", amendment, "cancel"])
    assert [option.label for option in opened.request.options if option.kind == "allow_always"] == [label]


def test_always_is_not_offered_for_a_rule_without_a_name() -> None:
    play = Play()
    opened = asked(play, command="ls", availableDecisions=["accept", "acceptWithExecpolicyAmendment"])
    assert [option.kind for option in opened.request.options] == ["allow_once", "deny", "deny_and_stop"]
    with pytest.raises(InvalidValue):
        play.reply(opened.request.id, Allow(scope="always"))


def test_what_a_command_gets_beyond_the_sandbox_is_part_of_its_input() -> None:
    host = {"host": "evil.test", "protocol": "https"}
    more = {"fileSystem": {"write": ["/etc"]}}
    opened = asked(Play(), command="curl x", cwd="/w", networkApprovalContext=host, additionalPermissions=more)
    assert opened.request.input is not None
    assert msgspec.json.decode(opened.request.input) == {
        "command": "curl x",
        "cwd": "/w",
        "networkApprovalContext": host,
        "additionalPermissions": more,
    }
    names = [field.name for field in split_input(opened.request).fields]
    assert names == ["cwd", "networkApprovalContext", "additionalPermissions"]


def test_what_is_typed_into_a_terminal_is_another_tool_than_a_command() -> None:
    opened = asked(Play(), command="ls", kind="writeStdin")
    assert opened.request.tool == "write_stdin"


def test_a_change_of_files_can_be_allowed_for_the_session() -> None:
    play = Play()
    opened = asked(play, "item/fileChange/requestApproval", reason="outside")
    assert opened.request.reason == "outside"
    play.reply(opened.request.id, Allow(scope="session"))
    assert play.frames[-1]["result"] == {"decision": "acceptForSession"}


@pytest.mark.parametrize(
    ("method", "params", "words"),
    [
        (APPROVAL, {"command": "make", "cwd": "/w"}, "the same command"),
        (APPROVAL, {"command": "curl x", "networkApprovalContext": {"host": "a.test"}}, "any access to this host"),
        ("item/fileChange/requestApproval", {}, "any change of these files"),
        ("item/permissions/requestApproval", {"permissions": {"network": {"enabled": True}}}, "these permissions"),
    ],
)
def test_an_option_for_the_session_says_what_codex_compares_later_calls_by(
    method: str, params: dict[str, object], words: str
) -> None:
    opened = asked(Play(), method, **params)
    labels = {option.kind: option.label for option in opened.request.options}
    assert labels["allow_session"] == f"Yes, and for this session: {words}"


def test_a_request_for_a_change_of_files_carries_the_whole_change() -> None:
    play = Play()
    play.start()
    long = "".join(f"line {number}\n" for number in range(5000))
    changes = [
        {"path": "/w/new", "kind": {"type": "add"}, "diff": long},
        {"path": "/w/old", "kind": {"type": "update", "move_path": None}, "diff": "@@ -1 +1 @@\n-a\x0cb\n+c\u2028d\n"},
    ]
    play.tell("item/started", item={"type": "fileChange", "id": "c1", "changes": changes})
    [opened] = play.ask(0, "item/fileChange/requestApproval", itemId="c1", reason=None)
    assert isinstance(opened, RequestOpened)
    hunk = Hunk(old_start=1, old_lines=1, new_start=1, new_lines=1, lines=("-a\x0cb", "+c\u2028d"))
    assert opened.request.detail == FileChangeDetail(
        changes=(FileChange(path="/w/new", kind="add", new_text=long), FileChange(path="/w/old", hunks=(hunk,)))
    )
    assert opened.request.input is not None
    told = msgspec.json.decode(opened.request.input)
    assert [(each["path"], each["diff"]) for each in told["changes"]] == [
        (each["path"], each["diff"]) for each in changes
    ]
    assert split_input(opened.request).fields == ()


def test_a_patch_that_changes_before_it_is_asked_for_is_asked_for_as_it_is_then() -> None:
    play = Play()
    play.start()
    first, second = ({"path": "/w/a", "kind": {"type": "add"}, "diff": text} for text in ("harmless\n", "evil\n"))
    play.tell("item/started", item={"type": "fileChange", "id": "c1", "changes": [first]})
    play.tell("item/fileChange/patchUpdated", itemId="c1", changes=[second])
    [opened] = play.ask(0, "item/fileChange/requestApproval", itemId="c1")
    assert isinstance(opened, RequestOpened)
    assert opened.request.detail == FileChangeDetail(changes=(FileChange(path="/w/a", kind="add", new_text="evil\n"),))
    assert b"evil" in bytes(opened.request.input or b"")


def test_lines_of_a_diff_that_are_in_no_hunk_are_kept() -> None:
    assert read_hunks("no head\n+x\n") == (
        Hunk(old_start=0, old_lines=0, new_start=0, new_lines=0, lines=("no head", "+x")),
    )
    assert read_hunks("") == ()
    (hunk,) = read_hunks("@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file")
    assert hunk.lines == ("-a", "+b", "\\ No newline at end of file")


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("/bin/bash -lc 'echo hi > out.txt; cat out.txt'", "echo hi > out.txt; cat out.txt"),
        ("bash -c 'cd /etc && cat passwd'", "cd /etc && cat passwd"),
        ("/tmp/evil/bash -lc ls", "/tmp/evil/bash -lc ls"),
        ("bash -lc ls extra", "bash -lc ls extra"),
        ("rm -rf /", "rm -rf /"),
        ("echo 'unclosed", "echo 'unclosed"),
    ],
)
def test_a_command_is_shown_as_it_runs_and_not_as_codex_reads_it(command: str, shown: str) -> None:
    play = Play()
    opened = asked(play, command=command, commandActions=[{"type": "read", "command": "cat passwd"}])
    assert opened.request.title == shown
    assert opened.request.detail == CommandDetail(command=shown)
    assert msgspec.json.decode(opened.request.input or b"") == {"command": shown, "cwd": ""}


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (Allow(), {"permissions": {"network": {"enabled": True}}, "scope": "turn"}),
        (Allow(scope="session"), {"permissions": {"network": {"enabled": True}}, "scope": "session"}),
        (Deny(), {"permissions": {}, "scope": "turn"}),
    ],
)
def test_trap_4_permissions_are_granted_as_a_subset_and_not_by_a_word(answer: Answer, result: Json) -> None:
    play = Play()
    opened = asked(play, "item/permissions/requestApproval", cwd="/w", permissions={"network": {"enabled": True}})
    play.reply(opened.request.id, answer)
    assert play.frames[-1]["result"] == result


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Allow(updated_input=msgspec.Raw(b"{}")), "a changed input"),
        (Allow(scope="always"), "one of Codex's own options"),
        (Choose(option="maybe"), "one of accept"),
        (Reply(answers={}), "allow, deny"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_and_the_request_stays_open(answer: Answer, words: str) -> None:
    play = Play()
    opened = asked(play, command="ls")
    with pytest.raises((InvalidValue, UnsupportedOption), match=words):
        play.reply(opened.request.id, answer)
    play.reply(opened.request.id, Allow())
    assert play.frames[-1]["result"] == {"decision": "accept"}
    with pytest.raises(InvalidValue, match="answered or over"):
        play.reply(opened.request.id, Allow())


@pytest.mark.parametrize(
    ("answer", "answers"),
    [
        (Reply(answers={"Which?": "Own words"}), {"q1": {"answers": ["Own words"]}}),
        (Reply(answers={"Which?": ["A", "B"]}), {"q1": {"answers": ["A", "B"]}}),
        (Choose(option="A"), {"q1": {"answers": ["A"]}}),
        (Decline(), {}),
    ],
)
def test_questions_take_choices_own_words_or_nothing(answer: Answer, answers: Json) -> None:
    play = Play()
    options = [{"label": "A", "description": "a"}]
    question = {"id": "q1", "header": "H", "question": "Which?", "options": options}
    opened = asked(play, "item/tool/requestUserInput", questions=[question])
    assert opened.request.kind == "question"
    play.reply(opened.request.id, answer)
    assert play.frames[-1]["result"] == {"answers": answers}


def test_a_question_of_codex_without_questions_can_be_answered() -> None:
    play = Play()
    opened = asked(play, "item/tool/requestUserInput", questions=[])
    play.reply(opened.request.id, Reply(answers={opened.request.questions[0].text: "Yes"}))
    assert play.frames[-1]["result"] == {"answers": {}}


def test_words_with_a_denial_are_told_not_to_have_been_sent() -> None:
    play = Play()
    opened = asked(play, command="ls")
    [notice] = play.reply(opened.request.id, Deny(message="use rm"))
    assert isinstance(notice, Notice)
    assert notice.text.endswith("send them as a prompt: use rm")


def test_a_request_that_codex_takes_back_is_withdrawn() -> None:
    play = Play()
    opened = asked(play, command="ls")
    assert play.tell("serverRequest/resolved", requestId=0) == [
        RequestWithdrawn(request=opened.request.id, reason="the agent does not ask any more")
    ]


@pytest.mark.parametrize(
    ("options", "decision"),
    [
        (Options(cwd="/w"), "decline"),
        (Options(cwd="/w", allow_tools=("Read",)), "decline"),
        (Options(cwd="/w", allow_tools=("shell",)), "accept"),
        (Options(cwd="/w", allow_tools=("command",), deny_tools=("shell",)), "decline"),
        (Options(cwd="/w", asks=True, deny_tools=("shell",)), "decline"),
    ],
)
def test_nothing_is_allowed_on_its_own(options: Options, decision: str) -> None:
    play = Play(options)
    play.start()
    play.tell("item/started", item=COMMAND)
    play.ask(5, APPROVAL, itemId="c1", command="ls")
    assert play.frames[-1] == {"jsonrpc": "2.0", "id": 5, "result": {"decision": decision}}
    assert not only(play, RequestOpened)


def test_where_nobody_can_be_asked_questions_and_permissions_are_declined() -> None:
    play = Play(Options(cwd="/w", allow_tools=("shell", "request_permissions")))
    play.start()
    play.ask(5, "item/permissions/requestApproval", cwd="/w", permissions={"network": {"enabled": True}})
    assert play.frames[-1]["result"] == {"permissions": {}, "scope": "turn"}
    play.ask(6, "item/tool/requestUserInput", questions=[{"id": "q", "question": "?", "header": ""}])
    assert play.frames[-1]["result"] == {"answers": {}}


def test_what_we_do_not_offer_is_refused_and_told() -> None:
    play = Play()
    play.start()
    [kept] = play.ask(5, "item/tool/call", tool="x", callId="1", arguments={})
    assert isinstance(kept, Unparsed)
    error = play.frames[-1]["error"]
    assert isinstance(error, dict)
    assert error["code"] == -32601
    [notice] = play.ask(6, "mcpServer/elicitation/request", serverName="s", message="?", mode="url", url="http://x")
    assert isinstance(notice, Notice)
    assert play.frames[-1]["result"] == {"action": "decline", "content": None}


@pytest.mark.parametrize(
    "params",
    [b"[" * 3000 + b"]" * 3000, b'{"threadId":"t-1","itemId":"c1","command":"\xff"}'],
    ids=["deep", "not utf-8"],
)
def test_a_request_that_cannot_be_decoded_is_refused_and_kept(params: bytes) -> None:
    play = Play()
    play.start()
    line = b'{"id":5,"method":"%s","params":%s}\n' % (APPROVAL.encode(), params)
    [kept] = play.do(play.conversation.feed(Block(line)))
    assert isinstance(kept, Unparsed)
    assert play.frames[-1]["id"] == 5
    assert play.frames[-1]["error"] == {"code": -32700, "message": f"Parse error: {kept.reason}"}
    assert play.end()


def test_a_request_outside_of_a_turn_is_declined() -> None:
    play = Play()
    play.open()
    play.ask(5, APPROVAL, itemId="c1", command="ls")
    assert play.frames[-1]["result"] == {"decision": "decline"}
    assert not [event for event in play.events if isinstance(event, RequestOpened)]


def test_words_that_were_streamed_otherwise_are_told_again_whole() -> None:
    play = Play()
    play.start()
    play.tell("item/agentMessage/delta", itemId="msg", delta="Hello ")
    said = play.tell("item/completed", item={"type": "agentMessage", "id": "msg", "text": "Hello"})
    message = MessageId("turn-1.m1")
    assert said == [
        MessageDelta(message=message, part=0, text="Hello", reset=True),
        Message(message=message, part=0, text="Hello"),
    ]


# ------------------------------------------------------------------------------------------ MCP servers

MCP: Json = {"type": "mcpToolCall", "id": "c5", "server": "greeter", "tool": "greet", "arguments": {"a": 1}}
LEAVE: Json = {
    "serverName": "greeter",
    "mode": "form",
    "message": "Allow it?",
    "_meta": {"codex_approval_kind": "mcp_tool_call", "persist": ["session", "always"], "tool_params": {"a": 1}},
    "requestedSchema": {"type": "object", "properties": {}},
}


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (Allow(), {"action": "accept", "content": {}}),
        (Allow(scope="session"), {"action": "accept", "content": {}, "_meta": {"persist": "session"}}),
        (Allow(scope="always"), {"action": "accept", "content": {}, "_meta": {"persist": "always"}}),
        (Deny(), {"action": "decline", "content": None}),
    ],
)
def test_a_tool_of_a_server_is_asked_for_as_a_permission(answer: Answer, result: Json) -> None:
    play = Play()
    play.start()
    play.tell("item/started", item=MCP)
    [opened] = play.ask(3, "mcpServer/elicitation/request", **LEAVE)
    assert isinstance(opened, RequestOpened)
    assert (opened.request.kind, opened.request.tool, opened.request.call) == (
        "permission",
        "mcp__greeter__greet",
        "c5",
    )
    labels = {option.kind: option.label for option in opened.request.options}
    assert labels["allow_always"] == "Yes, and always: mcp__greeter__greet, with any input"
    assert labels["allow_session"] == "Yes, and for this session: mcp__greeter__greet, with any input"
    play.reply(opened.request.id, answer)
    assert play.frames[-1]["result"] == result
    play.tell("item/completed", item={**MCP, "status": "failed", "error": {"message": "user rejected MCP tool call"}})
    [ended] = only(play, ToolEnded)
    assert isinstance(ended, ToolEnded)
    assert ended.outcome == ("denied" if isinstance(answer, Deny) else "failed")


@pytest.mark.parametrize(
    ("allowed", "action"), [((), "decline"), (("mcp__greeter__greet",), "accept"), (("shell",), "decline")]
)
def test_a_tool_of_a_server_is_not_allowed_on_its_own(allowed: tuple[str, ...], action: str) -> None:
    play = Play(Options(cwd="/w", allow_tools=allowed))
    play.start()
    play.tell("item/started", item=MCP)
    play.ask(3, "mcpServer/elicitation/request", **LEAVE)
    result = play.frames[-1]["result"]
    assert isinstance(result, dict)
    assert result["action"] == action


def test_a_form_of_a_server_is_a_question() -> None:
    play = Play()
    play.start()
    schema = {"type": "object", "properties": {"name": {"type": "string", "title": "Name"}}}
    params = {"serverName": "greeter", "mode": "form", "message": "Who?", "requestedSchema": schema}
    [opened] = play.ask(3, "mcpServer/elicitation/request", **params)
    assert isinstance(opened, RequestOpened)
    assert opened.request.kind == "question"
    play.reply(opened.request.id, Reply(answers={opened.request.questions[0].text: "Ada"}))
    assert play.frames[-1]["result"] == {"action": "accept", "content": {"name": "Ada"}}


def test_a_form_of_a_server_without_fields_is_accepted_by_a_yes() -> None:
    play = Play()
    play.start()
    params = {"serverName": "db", "mode": "form", "message": "Drop it?", "requestedSchema": {"type": "object"}}
    [opened] = play.ask(3, "mcpServer/elicitation/request", **params)
    assert isinstance(opened, RequestOpened)
    play.reply(opened.request.id, Reply(answers={"Drop it?": "Yes"}))
    assert play.frames[-1]["result"] == {"action": "accept", "content": {}}


def test_servers_of_the_folder_go_into_the_settings_of_the_thread() -> None:
    servers = {
        "own": Declared(command="srv", args=("-x",), env={"A": "1"}),
        "far": Declared(type="http", url="http://x", headers={"H": "v"}),
    }
    conversation = AppServerConversation(OPTIONS, Installed(engine="codex"), servers=servers)
    conversation.begin()
    frames = conversation.feed(Block(b'{"id":1,"result":{}}\n')).frames
    assert json.loads(frames[-1])["params"]["config"]["mcp_servers"] == {
        "own": {"command": "srv", "args": ["-x"], "env": {"A": "1"}},
        "far": {"url": "http://x", "http_headers": {"H": "v"}},
    }
