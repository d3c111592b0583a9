"""Every recorded conversation of an editor with claude-agent-acp, as scenarios for ours beside the recording."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from footplate.testing.messages import Step, api_error, say, script, tool
from tests.e2e.world import ROOT

RECORDINGS = ROOT / "tests" / "fixtures" / "acp"
Json = dict[str, Any]
CAPABILITIES: Json = {"elicitation": {"form": {}}, "session": {"configOptions": {}}}
"""What the recorded client declared, as far as it matters."""

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SERVER = """
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    if "id" not in call:
        continue
    answers = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "probe", "version": "1"}},
        "tools/list": {"tools": [{"name": "greet", "description": "greets", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "hello from the editor's server"}]},
    }
    print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": answers.get(call["method"], {})}), flush=True)
"""
PROMPTS = """
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    if "id" not in call:
        continue
    who = call.get("params", {}).get("arguments", {}).get("who", "")
    answers = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"prompts": {}},
                       "serverInfo": {"name": "desk", "version": "1"}},
        "prompts/list": {"prompts": [{"name": "greet", "description": "greets", "arguments": [{"name": "who"}]}]},
        "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": "PLEASE-GREET " + who}}]},
    }
    print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": answers.get(call["method"], {})}), flush=True)
"""
QUESTION = {
    "questions": [
        {
            "question": "Which color?",
            "header": "Color",
            "multiSelect": False,
            "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}],
        }
    ]
}

QUESTIONS = ("session/request_permission", "elicitation/create")


def call(method: str, **params: object) -> Json:
    """One request."""
    return {"method": method, "params": params}


def prompt(*steps: Step | str, session: str = "$session", beside: tuple[Json, ...] = (), **more: object) -> Json:
    """A prompt whose model plays these steps."""
    blocks = [{"type": "text", "text": script(*steps)}, *beside]
    return {**call("session/prompt", sessionId=session, prompt=blocks), **more}


def scenario(name: str, *steps: Json, answer: str = "allow_once", **more: object) -> Json:
    """The scenario of a recording."""
    return {"name": name, "steps": list(steps), "answer": answer, "form": {"question_0": "Blue"}, **more}


def scenarios(work: Path, home: Path) -> list[Json]:
    """All of them, in an order in which one session can play most."""
    (work / "e.txt").write_text("line one\nline two\n")
    server = home / "probe.py"
    server.write_text(SERVER)
    probe = {"name": "probe", "command": sys.executable, "args": [str(server)], "env": []}
    edit = tool("Edit", {"file_path": f"{work}/e.txt", "old_string": "line one", "new_string": "line 1"})
    slow = say("Slow " * 50, chunk=5, hang=12)
    new = call("session/new", cwd=str(work), mcpServers=[])
    planning = (tool("Write", {"file_path": "$PLANFILE", "content": "# Plan\n1. Do it"}), tool("ExitPlanMode", {}))
    mode = {"sessionId": "$session"}
    note = {"uri": "file:///notes.md", "text": "SECRETWORD", "mimeType": "text/markdown"}
    return [
        scenario("session_new", {**new, "keep": "$session"}),
        scenario("prompt_text", prompt("Hello from the fake model.")),
        scenario("usage_update", prompt("Hello from the fake model.")),
        scenario("thought_chunk", prompt(say("Considered.", thinking="Let me consider this."))),
        scenario(
            "embedded_context",
            prompt(
                "Hello from the fake model.",
                beside=(
                    {"type": "resource", "resource": note},
                    {"type": "resource_link", "uri": "file:///a.py", "name": "a.py"},
                ),
            ),
        ),
        scenario(
            "image_prompt",
            prompt("Hello from the fake model.", beside=({"type": "image", "data": PICTURE, "mimeType": "image/png"},)),
        ),
        scenario("slash_command", call("session/prompt", sessionId="$session", prompt=[_text("/context")])),
        scenario(
            "todo_plan",
            prompt(
                tool("TaskCreate", {"subject": "First step", "description": "1", "activeForm": "Doing it"}),
                tool("TaskCreate", {"subject": "Second step", "description": "2", "activeForm": "Doing it"}),
                "Planned.",
            ),
        ),
        scenario("bash_allow", prompt(_run("echo hi > out.txt; cat out.txt"), "It said: $LAST")),
        scenario("bash_reject", prompt(_run("echo no > never.txt"), "No then."), prompt("After"), answer="reject_once"),
        scenario("write_diff", prompt(_write(work / "new.txt"), "Written.")),
        scenario("edit_diff", prompt(tool("Read", {"file_path": f"{work}/e.txt"}), "Read."), prompt(edit, "Edited.")),
        scenario(
            "ask_user_question",
            prompt(tool("AskUserQuestion", QUESTION), "It said: $LAST"),
        ),
        scenario("api_error", prompt(api_error(400, message="scripted failure 400")), prompt("After the error")),
        scenario("cancel_mid_turn", prompt(slow, cancelOn="agent_message_chunk"), prompt("On")),
        scenario(
            "bad_requests",
            call("session/set_mode", **mode, modeId="nonsense"),
            call("session/set_config_option", **mode, configId="nonsense", value="x"),
            call("session/prompt", sessionId="no-such-session", prompt=[_text("HELLO")]),
            call("session/load", sessionId="00000000-0000-4000-8000-000000000000", cwd=str(work), mcpServers=[]),
        ),
        scenario("plan_exit_accept", call("session/set_mode", **mode, modeId="plan"), prompt(*planning, "Begun.")),
        scenario(
            "set_mode_accept_edits",
            call("session/set_mode", **mode, modeId="acceptEdits"),
            prompt(_write(work / "auto.txt"), "Written."),
        ),
        scenario("set_mode_config_option", call("session/set_config_option", **mode, configId="mode", value="default")),
        scenario("session_list", call("session/list", cwd=str(work))),
        scenario(
            "load_replay",
            call("session/close", **mode),
            call("session/load", **mode, cwd=str(work), mcpServers=[]),
        ),
        scenario(
            "session_fork",
            {**call("session/fork", **mode, cwd=str(work), mcpServers=[]), "keep": "$fork"},
            prompt("Hello from the fork.", session="$fork"),
        ),
        scenario(
            "mcp_stdio",
            {**call("session/new", cwd=str(work), mcpServers=[probe]), "keep": "$other"},
            prompt(tool("mcp__probe__greet", {}), "It said: $LAST", session="$other"),
        ),
        scenario(
            "parallel_sessions",
            prompt("Hello beta.", session="$other"),
            prompt("Hello alpha.", session="$fork"),
            together=True,
        ),
    ]


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _run(command: str) -> Step:
    return tool("Bash", {"command": command, "description": "Run a command"})


def _write(path: Path) -> Step:
    return tool("Write", {"file_path": str(path), "content": "line one\nline two\n"})


class Recording:
    """What claude-agent-acp told its client in one conversation."""

    def __init__(self, name: str) -> None:
        lines = (RECORDINGS / f"{name}.jsonl").read_text().splitlines()
        told = [json.loads(line) for line in lines]
        asked = {each["msg"]["id"]: each["msg"].get("method") for each in told if _is_request(each)}
        heard = [each["msg"] for each in told if each["dir"] == "agent->client"]
        self.updates = [each["params"] for each in heard if each.get("method") == "session/update"]
        self.asked = [each for each in heard if each.get("method") in QUESTIONS]
        self.outcomes = [
            outcome(each.get("result") or {"error": each["error"]})
            for each in heard
            if "method" not in each and asked.get(each["id"]) == "session/prompt"
        ]


def _is_request(told: Json) -> bool:
    return told["dir"] == "client->agent" and "method" in told["msg"] and "id" in told["msg"]


def outcome(result: Json) -> object:
    """How a prompt ended: its stop reason, or the code of the error."""
    return result["error"]["code"] if "error" in result else result.get("stopReason")


def kinds(updates: list[Json]) -> set[str]:
    """The kinds of updates."""
    return {each["update"]["sessionUpdate"] for each in updates}


def calls(updates: list[Json]) -> list[Json]:
    """The tool calls as a client has them at the end: every field as it was told last."""
    found: dict[str, Json] = {}
    for each in updates:
        update = each["update"]
        if update["sessionUpdate"] in ("tool_call", "tool_call_update"):
            known = found.setdefault(update["toolCallId"], {})
            known |= {key: value for key, value in update.items() if value not in (None, [])}
    return list(found.values())


def said(updates: list[Json], kind: str = "agent_message_chunk") -> str:
    """What the agent said, or thought."""
    found = [each["update"] for each in updates]
    return "".join(each["content"]["text"] for each in found if each["sessionUpdate"] == kind)
