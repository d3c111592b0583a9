"""The real server is killed, stopped and started again: no process of a client is left, and each is accounted for."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from footplate.host.table import look

SOURCE = Path(__file__).resolve().parents[4] / "src"
SCRIPT = "setsid sleep 300 & echo $!; wait"


@contextmanager
def server(home: Path) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    env = {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(SOURCE),
        "FOOTPLATE_DATA_DIR": str(home / "data"),
    }
    argv = [sys.executable, "-m", "footplate", "server", "--port", "0", "--token", "t"]
    running = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert running.stdout is not None
        line = next(line for line in running.stdout if "listens on" in line)
        url = line.split("listens on ")[1].strip()
        with httpx.Client(base_url=url, headers={"authorization": "Bearer t"}, timeout=30, trust_env=False) as client:
            yield running, client
    finally:
        if running.poll() is None:
            running.terminate()
        running.communicate()


def until(fact: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not fact():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


def start(client: httpx.Client) -> tuple[str, int, int]:
    """A process whose grandchild is in a session of its own: its id, and both pids."""
    info = client.post("/v1/processes", json={"command": "sh", "args": ["-c", SCRIPT]}).json()

    def entries() -> list[dict[str, str]]:
        found: list[dict[str, str]] = client.get(f"/v1/processes/{info['id']}/logs").json()["entries"]
        return found

    until(entries)
    return info["id"], info["pid"], int(base64.b64decode(entries()[0]["data"]))


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM])
def test_processes_go_with_the_server_and_the_next_one_says_so(tmp_path: Path, signum: int) -> None:
    with server(tmp_path) as (running, client):
        done = client.post("/v1/processes", json={"command": "sh", "args": ["-c", "exit 5"]}).json()["id"]
        until(lambda: client.get(f"/v1/processes/{done}").json()["status"] == "exited")
        process, *pids = start(client)
        os.kill(running.pid, signum)
        running.wait(30)
        until(lambda: all(look(pid) is None for pid in pids))
    with server(tmp_path) as (_, client):
        listed = client.get("/v1/processes").json()["processes"]
        assert [each["id"] for each in listed] == [done, process]
        first, second = listed
        assert (first["status"], first["exitCode"]) == ("exited", 5)
        assert (second["status"], "exitCode" in second, "pid" in second) == ("exited", False, False)
        assert second.get("lost", False) is (signum == signal.SIGKILL)
        assert client.delete(f"/v1/processes/{process}").status_code == 204
        assert start(client)[0] == "proc_3"
