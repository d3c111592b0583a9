"""An ACP agent at the other end of pipes, as an editor has it, and what its processes take beside the agent's CLI."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from bench.servers import status_of, tree
from bench.stage import NotMeasured

TICKS: Final = os.sysconf("SC_CLK_TCK")
LEAVE_S: Final = 15.0


class _Answer(msgspec.Struct):
    id: int | str | None = None
    method: str = ""
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: msgspec.Raw = msgspec.Raw(b"")


class _Opened(msgspec.Struct, rename="camel"):
    session_id: str


_decoder: Final = msgspec.json.Decoder(_Answer)


class Pipe:
    """One agent process, driven by requests one after the other."""

    def __init__(self, name: str, argv: tuple[str, ...], environment: Mapping[str, str], cwd: Path, cli: Path) -> None:
        self._name = name
        self._cli = cli.resolve()
        self._cwd = cwd
        self._numbers = 0
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(
            argv, env=environment, cwd=cwd, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def initialize(self) -> None:
        """Begin the connection."""
        self._call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})

    def open(self) -> str:
        """A new session."""
        result = self._call("session/new", {"cwd": str(self._cwd), "mcpServers": []})
        return msgspec.json.decode(result, type=_Opened).session_id

    def prompt(self, session: str, text: str) -> float:
        """A whole turn; how many milliseconds it took."""
        began = time.perf_counter()
        self._call("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})
        return (time.perf_counter() - began) * 1000

    def cpu_ms(self) -> float:
        """CPU so far of what stands between the editor and the CLI, in steps of the kernel's clock."""
        return sum(map(_ticks, self._between())) * 1000 / TICKS

    def rss_mb(self) -> float:
        """Resident memory of the process that the editor started."""
        return status_of(self._child.pid, "VmRSS") / 1024

    def pss_mb(self) -> float:
        """Memory of all that stands between the editor and the CLI; what processes share is divided among them."""
        return sum(map(_pss_kb, self._between())) / 1024

    def close(self) -> None:
        """The editor leaves; whatever does not leave then is killed."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        try:
            self._child.wait(LEAVE_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()
        assert self._child.stdout is not None
        self._child.stdout.close()

    def _between(self) -> list[int]:
        """Our child and all below it, without the CLI and what that starts."""
        beyond: set[int] = set()
        for each in tree(self._child.pid):
            if each not in beyond and self._is_cli(each):
                beyond.update(tree(each))
        return [each for each in tree(self._child.pid) if each not in beyond]

    def _is_cli(self, process: int) -> bool:
        try:
            return Path(f"/proc/{process}/exe").resolve() == self._cli
        except FileNotFoundError:  # it ended while we looked
            return False

    def _call(self, method: str, params: object) -> msgspec.Raw:
        self._numbers += 1
        message = {"jsonrpc": "2.0", "id": self._numbers, "method": method, "params": params}
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            self._child.stdin.write(msgspec.json.encode(message) + b"\n")
            self._child.stdin.flush()
        except BrokenPipeError as gone:
            raise NotMeasured(f"{self._name} has ended") from gone
        while line := self._child.stdout.readline():
            if b'"session/update"' in line:
                continue
            answer = _decoder.decode(line)
            if not answer.method and answer.id == self._numbers:
                if answer.error:
                    raise NotMeasured(f"{self._name}: {method}: {bytes(answer.error).decode()[:200]}")
                return answer.result
        raise NotMeasured(f"{self._name} ended during {method}")


def _ticks(process: int) -> int:
    with suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
    return 0


def _pss_kb(process: int) -> int:
    with suppress(OSError):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return 0
