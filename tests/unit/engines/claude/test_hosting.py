"""Tools and hooks of our own: the CLI calls them, handlers answer, and it is never left without an answer."""

from __future__ import annotations

import json

import msgspec
import pytest

from footplate.engines.base import HookSpec, HostCall, Options, Reaction, ToolServer, ToolSpec
from footplate.events import commands as c
from footplate.events.content import TextBlock
from footplate.events.ids import PromptId
from tests.unit.engines.claude.dialogue import Dialogue
from tests.unit.engines.claude.playing import VERSIONS, raw, recording

LAB = ToolServer(name="lab", tools=(ToolSpec(name="echo", description="says it again"),))
OURS = Options(cwd="/w", hooks=(HookSpec(event="PreToolUse", name="guard"),), servers=(LAB,))


def message(method: str, params: object = None, *, name: object = 1, server: str = "lab") -> dict[str, object]:
    body: dict[str, object] = {"jsonrpc": "2.0", "method": method}
    body |= {} if name is None else {"id": name}
    body |= {} if params is None else {"params": params}
    request = {"subtype": "mcp_message", "server_name": server, "message": body}
    return {"type": "control_request", "request_id": "r", "request": request}


def hook(name: str) -> dict[str, object]:
    request = {"subtype": "hook_callback", "callback_id": name, "input": {"tool_name": "Bash"}}
    return {"type": "control_request", "request_id": "r", "request": request}


def response(reaction: Reaction) -> object:
    [frame] = reaction.frames
    body = json.loads(frame)["response"]
    assert body.pop("request_id") == "r"
    return body


def served(reaction: Reaction) -> object:
    body = response(reaction)
    assert isinstance(body, dict)
    return body["response"]["mcp_response"]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (
            message("initialize", {"protocolVersion": "2025-11-25"}),
            {
                "result": {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "lab", "version": "1"},
                }
            },
        ),
        (
            message("tools/list"),
            {
                "result": {
                    "tools": [{"name": "echo", "description": "says it again", "inputSchema": {"type": "object"}}]
                }
            },
        ),
        (message("ping"), {"result": {}}),
        (message("resources/list"), {"error": {"code": -32601, "message": "no method 'resources/list'"}}),
        (message("tools/call", {"name": "nothing"}), {"error": {"code": -32602, "message": "no tool 'nothing'"}}),
    ],
)
def test_the_server_inside_our_process_speaks_as_much_as_tools_need(
    asked: dict[str, object], answer: dict[str, object]
) -> None:
    assert served(Dialogue(options=OURS).says(asked)) == {"jsonrpc": "2.0", "id": 1, **answer}


def test_a_notification_is_answered_too() -> None:
    reaction = Dialogue(options=OURS).says(message("notifications/initialized", name=None))
    assert served(reaction) == {"jsonrpc": "2.0", "id": 0, "result": {}}


@pytest.mark.parametrize(
    ("result", "error", "told"),
    [
        ("ECHO", "", {"content": [{"type": "text", "text": "ECHO"}]}),
        (raw({"content": []}), "", {"content": []}),
        ("", "broken", {"content": [{"type": "text", "text": "broken"}], "isError": True}),
    ],
)
def test_a_call_of_a_tool_is_for_its_handler_and_its_result_for_the_agent(
    result: msgspec.Raw | str, error: str, told: object
) -> None:
    dialogue = Dialogue(options=OURS)
    called = dialogue.says(message("tools/call", {"name": "echo", "arguments": {"text": "hi"}}, name="n-7"))
    assert called.frames == ()
    assert called.calls == (HostCall(key="r", kind="tool", name="lab.echo", payload=raw({"text": "hi"})),)
    reply = dialogue.conversation.reply("r", result, error=error)
    assert served(reply) == {"jsonrpc": "2.0", "id": "n-7", "result": told}
    assert dialogue.conversation.reply("r", "late").frames == ()


def test_a_hook_is_for_its_handler_and_what_it_says_for_the_agent() -> None:
    for result, error, told in (
        (raw({"decision": "block"}), "", {"subtype": "success", "response": {"decision": "block"}}),
        ("", "", {"subtype": "success", "response": {}}),
        ("", "broken", {"subtype": "error", "error": "broken"}),
    ):
        dialogue = Dialogue(options=OURS)
        called = dialogue.says(hook("guard"))
        assert called.calls == (HostCall(key="r", kind="hook", name="guard", payload=raw({"tool_name": "Bash"})),)
        assert response(dialogue.conversation.reply("r", result, error=error)) == told


@pytest.mark.parametrize(
    ("asked", "reason"),
    [(hook("nobody"), "no hook 'nobody'"), (message("ping", server="elsewhere"), "no server 'elsewhere'")],
)
def test_what_was_never_registered_is_refused(asked: dict[str, object], reason: str) -> None:
    reaction = Dialogue(options=OURS).says(asked)
    assert response(reaction) == {"subtype": "error", "error": reason}


def test_a_call_that_the_agent_takes_back_is_dropped_and_its_result_unheard() -> None:
    dialogue = Dialogue(options=OURS)
    dialogue.says(hook("guard"))
    assert dialogue.says({"type": "control_cancel_request", "request_id": "r"}).dropped == ("r",)
    assert dialogue.conversation.reply("r", "late").frames == ()
    assert dialogue.says({"type": "control_cancel_request", "request_id": "r"}).dropped == ()


def test_a_call_of_a_tool_is_taken_back_by_its_own_protocol() -> None:
    dialogue = Dialogue(options=OURS)
    dialogue.says(message("tools/call", {"name": "echo"}, name=7))
    for other in (8, "7", None):
        assert dialogue.says(message("notifications/cancelled", {"requestId": other}, name=None)).dropped == ()
    taken = dialogue.says(message("notifications/cancelled", {"requestId": 7, "reason": "AbortError"}, name=None))
    assert taken.dropped == ("r",)
    assert served(taken) == {"jsonrpc": "2.0", "id": 0, "result": {}}
    assert dialogue.conversation.reply("r", "late").frames == ()


def test_a_prompt_waits_until_the_agent_knows_our_tools() -> None:
    dialogue = Dialogue(options=OURS)
    dialogue.begin()
    prompt = c.SendPrompt(key="k", prompt=PromptId("p"), content=(TextBlock(text="hi"),))
    assert dialogue.command(prompt).frames == ()
    assert dialogue.answers({}).frames == ()
    listed, sent = dialogue.says(message("tools/list")).frames
    assert b"mcp_response" in listed
    assert json.loads(sent)["message"]["content"] == "hi"
    assert len(dialogue.command(prompt).frames) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_recorded_handshake_and_call_are_served(version: str) -> None:
    dialogue = Dialogue(version, OURS)
    lines = [json.loads(line) for line in recording(version, "sdk_mcp").lines]
    reactions = [dialogue.says(line) for line in lines]
    asked = [line for line in lines if line["type"] == "control_request"]
    assert len([frame for reaction in reactions for frame in reaction.frames]) == len(asked) - 1
    [call] = [call for reaction in reactions for call in reaction.calls]
    assert (call.name, call.payload) == ("lab.echo", raw({"text": "hello"}))
