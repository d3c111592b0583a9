"""A program that speaks as much of the Claude protocol as a flood needs: it talks without end and hears when it can."""

from __future__ import annotations

import sys
from pathlib import Path

PROGRAM = """#!{python}
import json, queue, sys, threading

if "--version" in sys.argv:
    print("2.1.325 (Claude Code)")
    sys.exit()

heard = queue.Queue()


def hear():
    for line in sys.stdin:
        heard.put(json.loads(line))
    heard.put(None)


def say(frame):
    sys.stdout.write(json.dumps(frame) + "\\n")


def delta(number):
    event = {{"type": "content_block_delta", "index": 0, "delta": {{"type": "text_delta", "text": f"{{number}} "}}}}
    say({{"type": "stream_event", "event": event, "session_id": "s"}})


def begin():
    say({{"type": "system", "subtype": "init", "session_id": "s"}})
    start = {{"type": "message_start", "message": {{"id": "m"}}}}
    say({{"type": "stream_event", "event": start, "session_id": "s"}})


threading.Thread(target=hear, daemon=True).start()
while (frame := heard.get()) is not None:
    if frame["type"] == "user":
        begin()
        for number in range({count}):
            delta(number)
    elif frame["type"] == "control_request" and frame["request"]["subtype"] != "get_usage":
        body = {{"text": "Total cost: nothing"}}
        if frame["request"]["subtype"] == "rename_session":
            response = {{"subtype": "error", "error": "no such thing"}}
        else:
            response = {{"subtype": "success", "response": body}}
        say({{"type": "control_response", "response": {{"request_id": frame["request_id"], **response}}}})
    sys.stdout.flush()
"""


def write_flood(path: Path, *, count: int) -> Path:
    """The program as a file: it answers every prompt with so many pieces of text, and never asks whether they are read.

    It answers a control request when it has said all it had to say before; `get_usage` it never answers, and renaming
    it declines.
    """
    path.write_text(PROGRAM.format(python=sys.executable, count=count))
    path.chmod(0o755)
    return path
