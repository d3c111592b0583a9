"""Values of ACP version 1 as the draft of version 2 writes them. Pure, JSON in and out.

This is the edge: what passes here is the JSON of one version of a protocol on its way to the other, in shapes that no
other part of the product sees.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final

Json = dict[str, Any]
PLAN: Final = "plan"
NOTE: Final = "note"
"""The id of words that belong to no message."""


def client_capabilities(given: Json) -> Json:
    """What a client of the draft can: what version 1 has it declare is part of the draft itself."""
    auth = given.get("auth") or {}
    return {
        "elicitation": given.get("elicitation"),
        "auth": {"terminal": auth.get("terminal") is not None, "_meta": auth.get("_meta")},
        "session": {"notices": {}, "compaction": {}, "configOptions": {"boolean": {}}},
        "_meta": {**(given.get("_meta") or {}), "terminal_output": True},
    }


def introduction(told: Json) -> Json:
    """The answer to `initialize`."""
    can = told["agentCapabilities"]
    sessions, prompts = can.get("sessionCapabilities", {}), can.get("promptCapabilities", {})
    found = {
        "prompt": {name: {} for name in ("image", "audio", "embeddedContext") if prompts.get(name)},
        "mcp": {"stdio": {}, "http": {}} if can.get("mcpCapabilities", {}).get("http") else None,
        "delete": sessions.get("delete"),
        "additionalDirectories": sessions.get("additionalDirectories"),
    }
    return _present(
        {
            "protocolVersion": 2,
            "info": told["agentInfo"],
            "capabilities": {"session": _present(found), "auth": {} if can.get("auth", {}).get("logout") else None},
            "authMethods": [_login(method) for method in told.get("authMethods", ())],
            "_meta": told.get("_meta"),
        }
    )


def _login(method: Json) -> Json:
    rest = {name: value for name, value in method.items() if name not in ("id", "type")}
    return {"type": method.get("type") or "agent", "methodId": method["id"], **rest}


def opened(told: Json) -> Json:
    """The answer to whatever opens a session: modes are options now."""
    found = {name: value for name, value in told.items() if name != "modes"}
    if found.get("configOptions") is not None:
        found["configOptions"] = options(found["configOptions"])
    return found


def options(found: list[Json]) -> list[Json]:
    """Options of a session."""
    return [{("configId" if name == "id" else name): value for name, value in each.items()} for each in found]


def update(told: Json) -> Json | None:
    """One update; None for what the draft tells otherwise."""
    kind = told["sessionUpdate"]
    match kind:
        case "current_mode_update":
            return None  # the option of that name says it
        case "tool_call" | "tool_call_update":
            return {**tool_call(told), "sessionUpdate": "tool_call_update"}
        case "plan":
            return {
                "sessionUpdate": "plan_update",
                "plan": {"type": "items", "planId": PLAN, "entries": told["entries"]},
            }
        case "config_option_update":
            return {**told, "configOptions": options(told["configOptions"])}
        case "available_commands_update":
            commands = [_command(each) for each in told["availableCommands"] if " " not in each["name"]]
            return {**told, "availableCommands": commands}
        case "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk":
            return {"messageId": NOTE, **told}
        case _:
            return told


def _command(told: Json) -> Json:
    found = {"type": "command", **told}
    if found.get("input") is not None:
        found["input"] = {"type": "text", **found["input"]}
    return found


def tool_call(told: Json) -> Json:
    """A tool call, whole or in part."""
    found = {name: value for name, value in told.items() if name != "sessionUpdate"}
    if found.get("content"):
        found["content"] = [_content(item) for item in found["content"]]
    return found


def _content(item: Json) -> Json:
    if item["type"] != "diff":
        return item
    path, old, new = item["path"], item.get("oldText"), item["newText"]
    change = {"operation": "add" if old is None else "modify", "path": path}
    return {"type": "diff", "changes": [change], "patch": {"format": "git_patch", "text": _patch(path, old, new)}}


def _patch(path: str, old: str | None, new: str) -> str:
    before = "/dev/null" if old is None else path
    lines = difflib.unified_diff(_lines(old or ""), _lines(new), before, path, n=3)
    body = "".join(lines)
    return f"diff --git {path} {path}\n{'new file mode 100644' + chr(10) if old is None else ''}{body}"


def _lines(text: str) -> list[str]:
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n\\ No newline at end of file\n"
    return lines


def permission(asked: Json) -> Json:
    """A permission request: its subject is the call."""
    call = tool_call(asked["toolCall"])
    title = call.get("title") or call.get("name") or "A permission"
    return {
        "sessionId": asked["sessionId"],
        "title": title,
        "subject": {"type": "tool_call", "toolCall": call},
        "options": asked["options"],
    }


def _present(found: Mapping[str, Any]) -> Json:
    return {name: value for name, value in found.items() if value is not None}
