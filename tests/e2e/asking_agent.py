"""An ACP agent that asks for permission as other agents do: an edit without a raw input, a command under a title.

`edit N` asks for a new file of N lines, shown as a diff and nowhere else; `list` asks for a command whose title is a
description of the model's own, `title` for something that has a title alone. Run as a program.
"""

from __future__ import annotations

import json
import sys
import uuid
from typing import Any

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
COMMAND = "touch made && echo gone"


def line_of(number: int) -> str:
    """One line of the file."""
    return f"{number:07} {'z' * 40}"


def call_of(words: list[str]) -> dict[str, Any]:
    """The call that a prompt asks for."""
    if words[0] == "edit":
        text = "".join(f"{line_of(number)}\n" for number in range(int(words[1])))
        diff = {"type": "diff", "path": "/work/large.txt", "oldText": None, "newText": text}
        return {"toolCallId": "c1", "title": "large.txt", "kind": "edit", "status": "pending", "content": [diff]}
    if words[0] == "title":
        return {"toolCallId": "c1", "title": "Erase the disk", "kind": "other", "status": "pending"}
    given = {"command": COMMAND}
    return {"toolCallId": "c1", "title": "List files", "kind": "execute", "status": "pending", "rawInput": given}


def say(**message: object) -> None:
    """Write one message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Serve until the input ends."""
    prompt: object = None
    session = str(uuid.uuid4())  # a conversation of its own: two processes of one conversation are refused
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                say(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
            case "session/new":
                say(id=message["id"], result={"sessionId": session})
            case "session/prompt":
                prompt = message["id"]
                call = call_of(message["params"]["prompt"][0]["text"].split())
                params = {"sessionId": session, "toolCall": call, "options": OPTIONS}
                say(id="ask", method="session/request_permission", params=params)
            case None if message.get("id") == "ask":
                say(id=prompt, result={"stopReason": "end_turn"})
            case _ if "id" in message:
                say(id=message["id"], error={"code": -32601, "message": "no such method"})
            case _:
                pass


if __name__ == "__main__":
    main()
