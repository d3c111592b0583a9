"""The agent itself, a program: counts the words of its last argument and says so in JSON lines on its stdout.

A prompt that begins with `fail`, `die` or `hang` does just that. `--session ID` goes on with a conversation.
"""

from __future__ import annotations

import json
import sys
import time
import uuid


def tell(event: str, **fields: str) -> None:
    """One line."""
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Serve one prompt."""
    session = arguments[1] if arguments[0] == "--session" else str(uuid.uuid4())
    prompt = arguments[-1]
    tell("hello", session=session)
    if prompt.startswith("fail"):
        tell("failed", why="there is nothing to count in a failure")
        return 1
    tell("begin", id="1", what="count", text=prompt)
    if prompt.startswith("hang"):
        time.sleep(3600)
    if prompt.startswith("die"):
        sys.stderr.write("last words\n")
        return 7
    tell("end", id="1", result=str(len(prompt.split())))
    tell("answer", text=f"{len(prompt.split())} words")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
