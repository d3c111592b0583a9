"""The mock agent as a program of its own: `footplate mock-agent`, ACP on stdin and stdout. Cheap to start."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

from footplate.engines.mock.agent import serve

STDIN: Final = 0
STDOUT: Final = 1
CHUNK: Final = 1 << 16
USAGE: Final = """\
usage: footplate mock-agent

An ACP agent without a model, on stdin and stdout: one JSON-RPC message per line.
The first word of a prompt decides what it does; the prompt `demo` shows all of it.
"""


def main(argv: Sequence[str]) -> int:
    """Run until stdin ends; gives back the exit code. `argv` is what stands behind `mock-agent`."""
    if argv:
        wants_help = argv[0] in ("-h", "--help")
        os.write(STDOUT if wants_help else 2, USAGE.encode())
        return 0 if wants_help else 2
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return asyncio.run(_run())


async def _run() -> int:
    wire = _Stdio(asyncio.get_running_loop())
    return await serve(wire.lines(), wire.write, env=dict(os.environ), cwd=str(Path.cwd()), complain=_complain)


def _complain(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


class _Stdio:
    """Lines from stdin by a thread (stdin may be a pipe, a file or a terminal), lines to stdout as they are."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._gone = False
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def _read(self) -> None:
        rest: list[bytes] = []
        while chunk := os.read(STDIN, CHUNK):
            whole, newline, tail = chunk.rpartition(b"\n")
            if newline:
                self._hand_over(b"".join((*rest, whole)))
                rest.clear()
            rest.append(tail)
        self._hand_over(b"".join(rest))
        self._hand_over(None)

    def _hand_over(self, lines: bytes | None) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._queue.put_nowait, lines)

    async def lines(self) -> AsyncIterator[bytes]:
        """What the client wrote, cut at line ends, until it is done."""
        while (chunk := await self._queue.get()) is not None:
            yield chunk

    async def write(self, data: bytes) -> None:
        """Write lines; once nobody reads them any more, that is the end of the client."""
        view = memoryview(data)
        try:
            while view and not self._gone:
                view = view[os.write(STDOUT, view) :]
        except BrokenPipeError:
            self._gone = True
            self._queue.put_nowait(None)
        await asyncio.sleep(0)
