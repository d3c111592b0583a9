"""A fake `claude` that plays a stream: answers what the SDKs ask first, then writes as fast as it is read.

Standard library only, and nothing of this package: it is started as a script. Its CPU is nobody's concern.
Usage: player.py BLOCK_FILE REPETITIONS PACE [the arguments of the CLI...]
PACE: lines a second; 0 is as fast as it is read.
"""

import json
import os
import sys
import time

MARK = b"@@turn@@"
VERSION = "2.1.325 (Claude Code)"


def main() -> None:
    """Play the block when the conversation has begun."""
    block_file, repetitions, pace, *arguments = sys.argv[1:]
    if {"-v", "--version"} & set(arguments):
        sys.stdout.write(VERSION + "\n")
        return
    if "--input-format" in arguments:
        wait_for_prompt()
    with open(block_file, "rb") as file:  # noqa: PTH123
        block = file.read()
    for number in range(int(repetitions)):
        play(block.replace(MARK, b"%08x" % number), int(pace))


def play(block: bytes, pace: int) -> None:
    """Write the block, at that pace."""
    if not pace:
        write(block)
        return
    begun = time.monotonic()
    for number, line in enumerate(block.splitlines(keepends=True), 1):
        write(line)
        time.sleep(max(0.0, begun + number / pace - time.monotonic()))


def wait_for_prompt() -> None:
    """Answer every control request until the first message of the user; end when nobody is there any more."""
    while line := sys.stdin.buffer.readline():
        frame = json.loads(line)
        if frame["type"] == "user":
            return
        if frame["type"] == "control_request":
            write(json.dumps(answer(frame["request_id"])).encode() + b"\n")
    sys.exit(0)


def answer(request_id: str) -> dict[str, object]:
    """The answer to any control request: success, with what `initialize` is asked for."""
    found = {"commands": [], "agents": [], "models": [], "account": {}, "output_style": "default", "pid": os.getpid()}
    response = {"subtype": "success", "request_id": request_id, "response": found}
    return {"type": "control_response", "response": response}


def write(data: bytes) -> None:
    """Write all of it to stdout, whatever kind of pipe that is."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        sys.exit(1)
