"""A fake `claude` that has said far more than anybody has read when it is interrupted.

Like the real CLI it keeps what the pipe does not take, goes on listening, and puts the answer behind all of it. When it
heard of the interrupt is written to a file, on the clock that all processes share.
Standard library only, and nothing of this package: it is started as a script.
Usage: flood.py BLOCK_FILE REPETITIONS HEARD_FILE [the arguments of the CLI...]
"""

import json
import os
import select
import sys
import time
from collections import deque

MARK = b"@@turn@@"


class Flood:
    """Lines in, and whatever waits to be written."""

    def __init__(self, block: bytes, repetitions: int, heard: str) -> None:
        self._block = block
        self._repetitions = repetitions
        self._heard = heard
        self._typed = b""
        self._waiting: deque[memoryview] = deque()

    def run(self) -> None:
        """Listen and speak side by side until stdin is closed."""
        os.set_blocking(1, False)
        while True:
            readable, writable, _ = select.select([0], [1] if self._waiting else [], [])
            if writable:
                self._write()
            if readable and not self._read():
                return

    def _write(self) -> None:
        part = self._waiting.popleft()
        written = os.write(1, part[:65536])
        if written < len(part):
            self._waiting.appendleft(part[written:])

    def _read(self) -> bool:
        typed = os.read(0, 65536)
        *lines, self._typed = (self._typed + typed).split(b"\n")
        for line in lines:
            self._take(json.loads(line))
        return bool(typed)

    def _take(self, frame: dict[str, object]) -> None:
        if frame["type"] == "user":
            for number in range(self._repetitions):
                self._waiting.append(memoryview(self._block.replace(MARK, b"%08x" % number)))
        request = frame.get("request")
        if isinstance(request, dict):
            self._answer(frame["request_id"], request["subtype"])

    def _answer(self, request_id: object, subtype: object) -> None:
        if subtype == "interrupt":
            with open(self._heard, "w") as file:  # noqa: PTH123
                file.write(str(time.monotonic()))
        response = {"subtype": "success", "request_id": request_id, "response": {}}
        line = json.dumps({"type": "control_response", "response": response}) + "\n"
        self._waiting.append(memoryview(line.encode()))


def main() -> None:
    """Play the flood."""
    block_file, repetitions, heard, *_ = sys.argv[1:]
    with open(block_file, "rb") as file:  # noqa: PTH123
        Flood(file.read(), int(repetitions), heard).run()


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        sys.exit(1)
