"""The draft of ACP version 2 on an agent of version 1: what each side hears."""

from __future__ import annotations

import json
from typing import Any

import pytest

from footplate.acp import draft_values as v
from footplate.acp import jsonrpc
from footplate.acp.draft import Draft, wants_draft
from tests.acp_schema import DRAFT

Json = dict[str, Any]


def _said(draft: Draft, **message: object) -> tuple[list[Json], list[Json]]:
    envelope = jsonrpc.envelope_decoder.decode(json.dumps({"jsonrpc": "2.0", **message}).encode())
    for_agent, for_client = draft.incoming(envelope)
    return [json.loads(each) for each in for_agent], [json.loads(each) for each in for_client]


def _told(draft: Draft, **message: object) -> list[Json]:
    return [json.loads(each) for each in draft.outgoing(json.dumps({"jsonrpc": "2.0", **message}).encode())]


def _states(frames: list[Json]) -> list[str]:
    return [each["params"]["update"].get("state") for each in frames if each.get("method") == "session/update"]


@pytest.fixture
def draft() -> Draft:
    """A connection with a session `s`."""
    made = Draft()
    _said(made, id=1, method="session/new", params={"cwd": "/"})
    (opened,) = _told(made, id=1, result={"sessionId": "s", "modes": {}, "configOptions": [{"id": "mode"}]})
    assert opened["result"] == {"sessionId": "s", "configOptions": [{"configId": "mode"}]}
    return made


def test_the_first_message_decides() -> None:
    for params, wanted in (({"protocolVersion": 2}, True), ({"protocolVersion": 1}, False), ([], False)):
        line = json.dumps({"id": 0, "method": "initialize", "params": params}).encode()
        assert wants_draft(jsonrpc.envelope_decoder.decode(line)) is wanted


def test_two_prompts_are_answered_at_once_and_end_in_one_idle(draft: Draft) -> None:
    names = []
    for number in (2, 3):
        asked, heard = _said(draft, id=number, method="session/prompt", params={"sessionId": "s", "prompt": []})
        assert heard[0] == {"jsonrpc": "2.0", "id": number, "result": {"messageId": asked[0]["id"]}}
        assert _states(heard) == [None, "running"]
        names.append(asked[0]["id"])
    assert _told(draft, id=names[0], result={"stopReason": "end_turn"}) == []
    (ended,) = _told(draft, id=names[1], error={"code": -32603, "message": "broke", "data": {"errorKind": "x"}})
    assert ended["params"]["update"] == {
        "sessionUpdate": "state_update",
        "state": "idle",
        "stopReason": "error",
        "error": {"code": -32603, "message": "broke", "data": {"errorKind": "x"}},
    }


def test_a_question_is_a_state_until_it_is_answered_here_or_elsewhere(draft: Draft) -> None:
    params = {"sessionId": "s", "toolCall": {"toolCallId": "t", "title": "ls"}, "options": []}
    for number in (1, 2):
        state, asked = _told(draft, id=f"ask-{number}", method="session/request_permission", params=params)
        assert _states([state]) == ["requires_action"]
        assert asked["params"]["title"] == "ls"
        assert asked["params"]["subject"] == {"type": "tool_call", "toolCall": params["toolCall"]}
    answered, heard = _said(draft, id="ask-1", result={"outcome": {"outcome": "cancelled"}})
    assert answered[0]["result"] == {"outcome": {"outcome": "cancelled"}}
    assert _states(heard) == ["running"]
    cancelled = _told(draft, method="$/cancel_request", params={"requestId": "ask-2"})
    assert _states(cancelled) == ["running"]


@pytest.mark.parametrize(
    ("replay", "method"), [(None, "session/resume"), ({"type": "start"}, "session/load")], ids=["resume", "load"]
)
def test_resuming_tells_the_past_when_it_is_asked_to(draft: Draft, replay: object, method: str) -> None:
    params = {"sessionId": "s", "cwd": "/", "replayFrom": replay}
    ((asked,), _) = _said(draft, id=5, method="session/resume", params=params)
    assert asked["method"] == method


def test_what_the_draft_tells_otherwise_is_not_told_twice() -> None:
    assert v.update({"sessionUpdate": "current_mode_update", "currentModeId": "plan"}) is None
    call = v.update({"sessionUpdate": "tool_call", "toolCallId": "t"})
    assert call == {"sessionUpdate": "tool_call_update", "toolCallId": "t"}
    words = v.update({"sessionUpdate": "agent_thought_chunk", "content": {}})
    assert words is not None
    assert words["messageId"]


def test_a_diff_is_a_patch_with_whole_paths() -> None:
    item = {"type": "diff", "path": "/f", "oldText": "a\nb", "newText": "a\nc"}
    (diff,) = v.tool_call({"toolCallId": "t", "content": [item]})["content"]
    assert diff["changes"] == [{"operation": "modify", "path": "/f"}]
    end = "\\ No newline at end of file\n"
    patch = f"diff --git /f /f\n--- /f\n+++ /f\n@@ -1,2 +1,2 @@\n a\n-b\n{end}+c\n{end}"
    assert diff["patch"] == {"format": "git_patch", "text": patch}


def _call(draft: Draft, **update: object) -> list[Json]:
    told = _told(draft, method="session/update", params={"sessionId": "s", "update": {"toolCallId": "c", **update}})
    for each in told:
        DRAFT.check("UpdateSessionNotification", each["params"])
    return [each["params"]["update"] for each in told]


def _task(status: str) -> Json:
    return {"sessionUpdate": "tool_call_update", "_meta": {"footplate": {"task": {"id": "t", "status": status}}}}


def test_a_command_has_a_terminal_of_the_agents_own(draft: Draft) -> None:
    info = {"terminal_info": {"terminal_id": "c", "cwd": "/w"}, "claudeCode": {"toolName": "Bash"}}
    shown = {"content": [{"type": "terminal", "terminalId": "c"}]}
    begun = _call(draft, sessionUpdate="tool_call", title="ls", status="in_progress", _meta=info, **shown)
    assert begun == [
        {"sessionUpdate": "terminal_update", "terminalId": "c", "cwd": "/w"},
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "c",
            "title": "ls",
            "status": "in_progress",
            "_meta": {"claudeCode": {"toolName": "Bash"}},
            **shown,
        },
    ]
    end = {"terminal_output": {"terminal_id": "c", "data": "hé"}, "terminal_exit": {"terminal_id": "c", "exit_code": 1}}
    chunk, over, call = _call(draft, sessionUpdate="tool_call_update", status="failed", _meta=end)
    assert chunk == {"sessionUpdate": "terminal_output_chunk", "terminalId": "c", "data": "aMOp"}
    assert over == {"sessionUpdate": "terminal_update", "terminalId": "c", "exitStatus": {"exitCode": 1}}
    assert (call["status"], "_meta" in call) == ("failed", False)


def test_work_in_the_background_is_cancelled_by_its_call_or_its_terminal_and_ends_when_it_ends(draft: Draft) -> None:
    params = {"sessionId": "s", "toolCallId": "c", "terminalId": "c"}
    _call(draft, sessionUpdate="tool_call", title="ls", _meta={"terminal_info": {"terminal_id": "c"}})
    for method in ("tool_call/cancel", "terminal/cancel"):
        (refused,) = _said(draft, id=7, method=method, params=params)[1]
        assert refused["error"]["code"] == -32602
    terminal, call = _call(draft, **_task("running"))
    assert terminal["capabilities"] == call["capabilities"] == {"cancel": {}}
    (launched,) = _call(
        draft, sessionUpdate="tool_call_update", status="completed", _meta={"terminal_exit": {"terminal_id": "c"}}
    )
    assert launched["status"] == "in_progress", "what it started goes on"
    for number, method in enumerate(("tool_call/cancel", "terminal/cancel"), start=8):
        (asked,), heard = _said(draft, id=number, method=method, params=params)
        assert (asked["method"], asked["params"]) == (
            "_session/async_task/stop",
            {"sessionId": "s", "asyncTaskId": "t"},
        )
        assert heard == []
        assert _told(draft, id=number, result={}) == [{"jsonrpc": "2.0", "id": number, "result": {}}]
    terminal, call = _call(draft, **_task("stopped"))
    assert (terminal["exitStatus"], terminal["capabilities"]) == ({}, None)
    assert (call["status"], call["capabilities"]) == ("cancelled", None)
    assert _said(draft, id=10, method="tool_call/cancel", params=params)[1][0]["error"]["code"] == -32602
