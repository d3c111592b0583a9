"""A running `footplate serve` of its own for a test: its address, its token, its output."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

MINIMAL_PATH = "/usr/local/bin:/usr/bin:/bin"
START_S = 60


class RunningServer:
    """The process, and what it has printed so far."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self._ready = threading.Event()
        self._readers = [self._follow(stream) for stream in (process.stdout, process.stderr) if stream is not None]

    def _follow(self, stream: IO[str]) -> threading.Thread:
        def read() -> None:
            for line in stream:
                self.lines.append(line.rstrip("\n"))
                if line.startswith("  engines"):
                    self._ready.set()
            self._ready.set()

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        return thread

    def wait_until_ready(self, *, within: float = START_S) -> None:
        """Everything it says at its start is there."""
        assert self._ready.wait(within), self.output
        assert self.process.poll() is None, self.output

    def wait_for(self, seen: Callable[[list[str]], bool]) -> None:
        """Wait until its output shows it."""
        deadline = time.monotonic() + START_S
        while not seen(self.lines):
            assert time.monotonic() < deadline, self.output
            time.sleep(0.02)

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return "\n".join(self.lines)

    @property
    def url(self) -> str:
        """Its address."""
        found = re.search(r"listens on (\S+)", self.output)
        assert found, self.output
        return found[1]

    @property
    def token(self) -> str:
        """The token it has shown."""
        found = re.search(r"#token=(\S+)", self.output)
        assert found, self.output
        return found[1]

    def stop(self, *, within: float = 30) -> int:
        """Ask it to stop; its exit code."""
        self.process.terminate()
        code = self.process.wait(within)
        for thread in self._readers:
            thread.join(10)
        return code


@contextmanager
def running_server(
    folder: Path, *arguments: str, env: Mapping[str, str] | None = None, command: str = "serve"
) -> Iterator[RunningServer]:
    """A server on a free port with a data folder of its own; ended with the block, whatever happened."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    environ = {
        "HOME": str(home),
        "PATH": MINIMAL_PATH,
        "FOOTPLATE_DATA_DIR": str(folder / "data"),
        "FOOTPLATE_MOCK_PACE_MS": "0",
        "FOOTPLATE__RUNTIME__REATTACH_GRACE_S": "0",
        "SANDBOX_AGENT_REQUIRE_PREINSTALL": "1",
        **(env or {}),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "footplate", command, "--port", "0", *arguments],
        env=environ,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    server = RunningServer(process)
    try:
        server.wait_until_ready()
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
