"""The two servers that are measured side by side, each in a home of its own: ours, and the binary of the peer.

Both listen on 127.0.0.1 without a token, and both start the same external agent (`external_agent.py`): ours because its
settings name the command, the other because it stands where that server looks for the launcher of an agent.
"""

from __future__ import annotations

import http.client
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from bench import setup
from bench.goals import Verdict
from bench.sheet import at_least, below
from bench.stage import NotMeasured, Stage

OURS: Final = "ours"
THEIRS: Final = "sandbox-agent"
HEALTHY_S: Final = 60.0
STOP_S: Final = 20.0
POLL_S: Final = 0.002
EXTERNAL: Final = Path(__file__).with_name("external_agent.py")
LAUNCHERS: Final = Path(".local/share/sandbox-agent/bin/agent_processes")


class Contestant(msgspec.Struct, frozen=True, kw_only=True):
    """One server: `argv` without its port, and by which name it knows the external agent. `why`: it cannot run."""

    name: str
    argv: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    home: Path = Path()
    external: str = ""
    why: str = ""


def contestants(stage: Stage) -> list[Contestant]:
    """Both, ours first."""
    return [ours(stage), _theirs(stage)]


def ours(stage: Stage) -> Contestant:
    home = _home(stage, OURS)
    command = ", ".join(map(json.dumps, (sys.executable, "-IS", str(EXTERNAL))))
    settings = home / "settings.toml"
    settings.write_text(f"[acp_agents.external]\ncommand = [{command}]\n")
    own = {"FOOTPLATE_DATA_DIR": str(home / "data"), "FOOTPLATE_CONFIG": str(settings)}
    return Contestant(
        name=OURS,
        argv=(sys.executable, "-m", "footplate", "server", "--no-token"),
        environment={**stage.environment, "HOME": str(home), **own},
        home=home,
        external="external",
    )


def _theirs(stage: Stage) -> Contestant:
    try:
        program = setup.server()
    except NotMeasured as why:
        return Contestant(name=THEIRS, why=str(why))
    home = _home(stage, THEIRS)
    launcher = home / LAUNCHERS / "mock-acp"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    launcher.write_text(f"#!/bin/sh\nexec {shlex.join((sys.executable, '-IS', str(EXTERNAL)))}\n")
    launcher.chmod(0o755)
    return Contestant(
        name=THEIRS,
        argv=(str(program), "server", "--no-telemetry", "--no-token"),
        environment={**stage.environment, "HOME": str(home)},
        home=home,
        external="mock",
    )


def _home(stage: Stage, name: str) -> Path:
    home = stage.home / name
    home.mkdir(exist_ok=True)
    return home


# ---------------------------------------------------------------------------------------------------- running


class Server:
    """A server that runs. `healthy_ms` is how long it took until it said that it is well."""

    def __init__(self, contestant: Contestant, child: subprocess.Popen[bytes], port: int, healthy_ms: float) -> None:
        self.name = contestant.name
        self.external = contestant.external
        self.home = contestant.home
        self.port = port
        self.healthy_ms = healthy_ms
        self._child = child

    def call(self, method: str, path: str, body: object = None) -> bytes:
        """One call, on a connection of its own. Raises `NotMeasured` unless it is answered with 2xx."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            given = None if body is None else json.dumps(body)
            connection.request(method, path, given, {"content-type": "application/json"} if given else {})
            answer = connection.getresponse()
            said = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise NotMeasured(f"{self.name}: {method} {path} was answered {answer.status}: {said[:200]!r}")
        return said

    def rpc(self, name: str, method: str, params: object, *, agent: str = "", rpc_id: int = 1) -> bytes:
        """One ACP request on the connection of that name."""
        query = f"?agent={agent}" if agent else ""
        message = {"jsonrpc": "2.0", "id": rpc_id, "method": method, "params": params}
        return self.call("POST", f"/v1/acp/{name}{query}", message)

    def begin(self, name: str) -> None:
        """A connection to the external agent, with a session."""
        self.rpc(name, "initialize", {"protocolVersion": 1, "clientCapabilities": {}}, agent=self.external)
        self.rpc(name, "session/new", {"cwd": str(self.home), "mcpServers": []}, rpc_id=2)

    def cpu_s(self) -> float:
        """Seconds of CPU of the server's own process so far."""
        fields = Path(f"/proc/{self._child.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mb(self) -> float:
        """The resident memory of the server and everything that it has started, pages they share counted each time."""
        return sum(status_of(process, "VmRSS") for process in tree(self._child.pid)) / 1024

    def peak_mb(self) -> float:
        """The highest resident memory of the server's own process since `forget_peak`."""
        return status_of(self._child.pid, "VmHWM") / 1024

    def forget_peak(self) -> None:
        """Begin to note the highest anew."""
        Path(f"/proc/{self._child.pid}/clear_refs").write_text("5")


@contextmanager
def running(contestant: Contestant) -> Iterator[Server]:
    """Start it, and stop it with everything it has started."""
    port = _free_port()
    argv = (*contestant.argv, "--host", "127.0.0.1", "--port", str(port))
    with (
        (contestant.home / "server.log").open("ab") as log,
        subprocess.Popen(
            argv,
            env=contestant.environment,
            cwd=contestant.home,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        ) as child,
    ):
        began = time.monotonic()
        try:
            _wait_healthy(contestant, child, port, began)
            yield Server(contestant, child, port, (time.monotonic() - began) * 1e3)
        finally:
            _stop(child)


@contextmanager
def all_running(found: Sequence[Contestant]) -> Iterator[list[Server]]:
    """Those that can run, at the same time."""
    with ExitStack() as stack:
        yield [stack.enter_context(running(each)) for each in found if not each.why]


def _wait_healthy(contestant: Contestant, child: subprocess.Popen[bytes], port: int, began: float) -> None:
    while time.monotonic() - began < HEALTHY_S:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as probe:
            probe.sendall(b"GET /v1/health HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
            answer = b""
            while piece := probe.recv(65536):
                answer += piece
            if b" 200 " in answer[:16] and b'"ok"' in answer:
                return
        if child.poll() is not None:
            raise NotMeasured(f"{contestant.name} ended with {child.returncode}")
        time.sleep(POLL_S)
    raise NotMeasured(f"{contestant.name} was not healthy after {HEALTHY_S:g} s")


def _stop(child: subprocess.Popen[bytes]) -> None:
    left = tree(child.pid)[1:]
    child.terminate()
    try:
        child.wait(STOP_S)
    except subprocess.TimeoutExpired:
        child.kill()
    for process in left:  # the peer leaves its agents behind
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def tree(root: int) -> list[int]:
    """The process and all below it, itself first."""
    found, rest = [], [root]
    while rest:
        process = rest.pop()
        found.append(process)
        with suppress(OSError):
            for task in Path(f"/proc/{process}/task").iterdir():
                rest += map(int, (task / "children").read_text().split())
    return found


def status_of(process: int, name: str) -> float:
    """A size of a process in KB; 0 once it is gone."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return float(line.split()[1])
    return 0.0


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


# ------------------------------------------------------------------------------------------------------ goals


def against(
    judge: Callable[[str, Sequence[float], float], Verdict],
    goal: str,
    pairs: tuple[Sequence[float] | None, Sequence[float] | None],
    limit: float,
) -> Verdict:
    """A goal on the ratio of the first to the second, round by round; None when one of them was not measured."""
    above, under = pairs
    if not above or not under:
        return Verdict(goal=goal, found="not measured", met=None)
    return judge(goal, [one / other for one, other in zip(above, under, strict=True)], limit)


def times_more(goal: str, ratios: Sequence[float], limit: float) -> Verdict:
    """For `against`: at least so many times."""
    return at_least(goal, ratios, limit)


def times_less(goal: str, ratios: Sequence[float], limit: float) -> Verdict:
    """For `against`: under so many times."""
    return below(goal, ratios, limit, "x")
