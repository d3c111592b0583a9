"""An ACP agent that keeps its conversation in memory alone: it can neither load nor resume, and counts its session ids.

It answers each prompt with the number of prompts that it has had. Arguments are the efforts that it offers, the first
of them in force. Run as a program.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

COMMAND = (sys.executable, str(Path(__file__).resolve()))
CHUNK = "agent_message_chunk"


def say(**fields: object) -> None:
    print(json.dumps({"jsonrpc": "2.0", **fields}), flush=True)


def options(effort: str) -> dict[str, object]:
    """What it offers to choose, where it offers anything."""
    efforts = [{"value": each, "name": each} for each in sys.argv[1:]]
    choice = {"id": "e", "name": "Effort", "type": "select", "category": "thought_level", "currentValue": effort}
    return {"configOptions": [{**choice, "options": efforts}]} if efforts else {}


def main() -> None:
    prompts = 0
    effort = sys.argv[1] if sys.argv[1:] else ""
    for line in sys.stdin:
        frame = json.loads(line)
        match frame.get("method"):
            case "initialize":
                say(id=frame["id"], result={"protocolVersion": 1, "agentCapabilities": {"loadSession": False}})
            case "session/new":
                say(id=frame["id"], result={"sessionId": "session-1", **options(effort)})
            case "session/set_config_option" if sys.argv[1:]:
                effort = frame["params"]["value"]
                say(id=frame["id"], result=options(effort))
            case "session/prompt":
                prompts += 1
                update = {"sessionUpdate": CHUNK, "content": {"type": "text", "text": f"prompt {prompts}"}}
                say(method="session/update", params={"sessionId": "session-1", "update": update})
                say(id=frame["id"], result={"stopReason": "end_turn"})
            case _ if "id" in frame:
                say(id=frame["id"], error={"code": -32601, "message": "no such method"})


if __name__ == "__main__":
    main()
