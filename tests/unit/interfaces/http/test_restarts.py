"""The real server is killed, stopped and started again: processes of clients go on, or are accounted for.

Those of `footplate serve` are taken over by the next one; those of `footplate server` end with it.
"""

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
def server(home: Path, command: str = "server") -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    env = {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(SOURCE),
        "FOOTPLATE_DATA_DIR": str(home / "data"),
    }
    argv = [sys.executable, "-m", "footplate", command, "--port", "0", "--token", "t"]
    running = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert running.stdout is not None
        line = next(line for line in running.stdout if "listens on" in line)
        url = line.split("listens on ")[1].strip()
        with httpx.Client(base_url=url, headers={"authorization": "Bearer t"}, timeout=30, trust_env=False) as client:
            yield running, client
    finally:
        if running.poll() is None:
            running.send_signal(signal.SIGINT)
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


# ---- processes that go on ----

WAITS = "until [ -e go ]; do sleep 0.02; done; echo meanwhile"
ASKS = f"echo one; echo bad >&2; read a; echo got $a; {WAITS}; echo worse >&2; read b; echo end $b; exit 7"
ENDS = f"echo here; {WAITS}; printf bye; exit 9"


def said(client: httpx.Client, process: str, stream: str = "combined") -> str:
    """All of its output; its numbers are dense from 1."""
    entries = client.get(f"/v1/processes/{process}/logs?stream={stream}").json()["entries"]
    if stream == "combined":
        assert [each["sequence"] for each in entries] == list(range(1, len(entries) + 1))
    return b"".join(base64.b64decode(each["data"]) for each in entries).decode()


def tell(client: httpx.Client, process: str, text: str) -> None:
    answer = client.post(f"/v1/processes/{process}/input", json={"data": text, "encoding": "utf8"})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM])
def test_the_next_server_goes_on_with_the_processes_of_the_last(tmp_path: Path, signum: int) -> None:
    def begin(client: httpx.Client, script: str, **more: object) -> dict[str, object]:
        asked = {"command": "sh", "args": ["-c", script] if script else [], "cwd": str(tmp_path), **more}
        info: dict[str, object] = client.post("/v1/processes", json=asked).json()
        return info

    with server(tmp_path, "serve") as (running, client):
        infos = [begin(client, ASKS), begin(client, ENDS), begin(client, "", tty=True, rows=31, cols=97)]
        asks, ends, shell = (str(info["id"]) for info in infos)
        tell(client, asks, "input\n")
        tell(client, shell, "echo $((40 + 2)); trap 'echo re''sized' WINCH\n")
        until(lambda: "got input" in said(client, asks) and "bad" in said(client, asks))
        until(lambda: "here" in said(client, ends) and "\n42" in said(client, shell).replace("\r", ""))
        before = client.get(f"/v1/processes/{asks}/logs").json()["entries"]
        os.kill(running.pid, signum)
        running.wait(30)
    (tmp_path / "go").touch()
    until(lambda: look(int(str(infos[1]["pid"]))) is None)
    with server(tmp_path, "serve") as (_, client):
        listed = {each["id"]: each for each in client.get("/v1/processes").json()["processes"]}
        assert [listed[each]["pid"] for each in (asks, shell)] == [infos[0]["pid"], infos[2]["pid"]]
        assert not any(each.get("lost") for each in listed.values())
        until(lambda: client.get(f"/v1/processes/{ends}").json()["status"] == "exited")
        assert client.get(f"/v1/processes/{ends}").json()["exitCode"] == 9
        assert said(client, ends) == "here\nmeanwhile\nbye"
        until(lambda: "worse" in said(client, asks, "stderr"))
        tell(client, asks, "more\n")
        until(lambda: client.get(f"/v1/processes/{asks}").json()["status"] == "exited")
        assert client.get(f"/v1/processes/{asks}").json()["exitCode"] == 7
        assert said(client, asks, "stdout") == "one\ngot input\nmeanwhile\nend more\n"
        assert said(client, asks, "stderr") == "bad\nworse\n"
        assert client.get(f"/v1/processes/{asks}/logs").json()["entries"][: len(before)] == before
        tell(client, shell, "stty size\n")
        until(lambda: "31 97" in said(client, shell))
        client.post(f"/v1/processes/{shell}/terminal/resize", json={"rows": 20, "cols": 60})
        tell(client, shell, "stty size\n")
        until(lambda: "20 60" in said(client, shell))
    assert look(int(str(infos[2]["pid"]))) is None  # Ctrl-C ended it
    with server(tmp_path, "serve") as (_, client):
        assert said(client, ends) == "here\nmeanwhile\nbye"
        assert client.get(f"/v1/processes/{shell}").json()["status"] == "exited"
