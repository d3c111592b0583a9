"""An ACP command that misbehaves on request, for the relay's tests: run as a program of its own.

The method of a request says what it does; it never looks at sessions. Arguments: `deaf` ignores the end of its stdin.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time


def say(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def say_deep(rpc_id: object, *, ask: bool) -> None:
    """Answer, or ask first, in a line that is nested too deep to be decoded."""
    nested = "[" * 3000 + "]" * 3000
    body = (
        f'"id":"q1","method":"x/question","params":{nested}' if ask else f'"id":{json.dumps(rpc_id)},"result":{nested}'
    )
    sys.stdout.write(f'{{"jsonrpc":"2.0",{body}}}\n')
    sys.stdout.flush()
    if ask:
        say({"id": rpc_id, "result": json.loads(sys.stdin.readline())})


def serve(message: dict[str, object]) -> None:
    method, rpc_id, params = message.get("method"), message.get("id"), message.get("params")
    match method:
        case "initialize":
            say({"id": rpc_id, "result": {"protocolVersion": 1, "agentCapabilities": {}, "pid": os.getpid()}})
        case "x/silent":
            pass
        case "x/crash":
            sys.stderr.write("a last word\n")
            sys.stderr.flush()
            os._exit(7)
        case "x/kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "x/garbage":
            sys.stdout.write("this is not JSON\n[1]\n")
            say({"id": rpc_id, "result": {}})
        case "x/deep":
            say_deep(rpc_id, ask=isinstance(params, dict) and bool(params.get("ask")))
        case "x/big":
            say({"method": "x/big", "params": {"text": "x" * (8 * 1024 * 1024)}})
            say({"id": rpc_id, "result": {}})
        case "x/burst":
            count = int(params["count"]) if isinstance(params, dict) else 0
            for index in range(count):
                say({"method": "x/tick", "params": {"index": index}})
            say({"id": rpc_id, "result": {"count": count}})
        case "x/ask":
            say({"id": "q1", "method": "x/question", "params": {}})
            say({"method": "x/asked", "params": {"for": rpc_id}})
        case "x/permission":
            options = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]
            call = {"toolCallId": "c1", "title": "rm -rf build", "kind": "execute", "rawInput": {"command": "rm"}}
            say(
                {
                    "id": 7,
                    "method": "session/request_permission",
                    "params": {"sessionId": "s9", "toolCall": call, "options": options},
                }
            )
        case "x/slow":
            for index in range(5):
                time.sleep(0.8)
                say({"method": "x/tick", "params": {"index": index}})
            say({"id": rpc_id, "result": {}})
        case _:
            say({"id": rpc_id, "result": {"method": method, "params": params}})


def main() -> None:
    asked: object = None
    for line in sys.stdin:
        message = json.loads(line)
        if "method" not in message:
            say({"id": asked, "result": {"answer": message.get("result")}})
        elif "id" not in message:
            say({"method": "x/heard", "params": {"method": message["method"]}})
        else:
            asked = message["id"]
            serve(message)
    while "deaf" in sys.argv[1:]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)


if __name__ == "__main__":
    main()
