"""The keeper's protocol, spoken by hand: the program as a plain file, without the service's side."""

from __future__ import annotations

import json
import os
import secrets
import select
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from footplate.host.channel import OLDEST, VERSION, Channel, close_all

from .conftest import ENV, SOURCE

PROGRAM = f"{SOURCE}/footplate/host/keeper.py"


class Talk:
    """One end of the socket: say something, hear the next thing."""

    def __init__(self, sock: socket.socket) -> None:
        self.channel = Channel(sock)
        self.heard: list[dict[str, Any]] = []
        self.fds: list[int] = []

    def say(self, kind: str, **fields: object) -> None:
        self.channel.send({"type": kind, **fields})

    def hear(self) -> dict[str, Any]:
        while not self.heard:
            assert select.select([self.channel.sock], [], [], 10)[0], "the keeper says nothing"
            for payload, fds in self.channel.receive():
                self.heard.append(json.loads(payload))
                self.fds += fds
            assert self.heard or self.channel.open, "the keeper is gone"
        return self.heard.pop(0)

    def spawn(self, script: str, *, name: str = "a") -> dict[str, Any]:
        self.say("spawn", id=name, argv=["sh", "-c", script], env=ENV, cwd="/")
        return self.hear()

    def close(self) -> None:
        close_all(self.fds)
        self.channel.close()


@contextmanager
def keeper(*argv: str) -> Iterator[Talk]:
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-I", "-S", PROGRAM, str(theirs.fileno()), secrets.token_hex(6), *argv]
    with subprocess.Popen(command, env={}, pass_fds=[theirs.fileno()], stderr=subprocess.DEVNULL) as program:
        theirs.close()
        talk = Talk(ours)
        try:
            yield talk
        finally:
            talk.close()
            program.wait(timeout=10)


def test_each_side_says_hello_with_its_version() -> None:
    with keeper() as talk:
        hello = talk.hear()
        assert (hello["type"], hello["v"], hello["min"]) == ("hello", VERSION, OLDEST)
        talk.say("hello", v=VERSION + 1)
        assert talk.hear() == {
            "type": "refused",
            "id": None,
            "reason": f"ValueError: versions {OLDEST} to {VERSION} are spoken here, not {VERSION + 1} to {VERSION + 1}",
        }


def test_what_the_keeper_does_not_know_it_refuses_and_lives_on() -> None:
    with keeper() as talk:
        talk.hear()
        talk.say("dance", id="x")
        assert (refused := talk.hear())["type"] == "refused"
        assert refused["id"] == "x"
        talk.say("spawn", id="y", argv=None, env={}, cwd="/")
        assert (refused := talk.hear())["type"] == "refused"
        assert refused["id"] == "y"
        talk.say("list")
        assert talk.hear()["agents"] == []


def test_spawn_exited_swept_come_in_this_order() -> None:
    with keeper() as talk:
        talk.hear()
        spawned = talk.spawn("exit 4")
        assert (spawned["type"], spawned["id"]) == ("spawned", "a")
        assert spawned["marker"].endswith(".a")
        assert len(talk.fds) == 3
        assert talk.hear() == {"type": "exited", "id": "a", "code": 4, "signal": None}
        assert talk.hear() == {"type": "swept", "id": "a", "pids": [], "survivors": []}


def test_an_id_that_is_taken_is_refused_until_it_is_swept() -> None:
    with keeper() as talk:
        talk.hear()
        talk.spawn("sleep 300")
        assert talk.spawn("true") == {
            "type": "spawn_failed",
            "id": "a",
            "errno": 16,
            "reason": "the id is taken",
            "stage": "fork",
        }
        talk.say("end", id="a", term_s=1, kill_s=1)
        assert [talk.hear()["type"], talk.hear()["type"]] == ["exited", "swept"]
        assert talk.spawn("true")["type"] == "spawned"


def test_a_sweep_takes_the_descendants_and_leaves_the_agent(gone: Callable[[int], bool]) -> None:
    with keeper() as talk:
        talk.hear()
        agent = talk.spawn("setsid sleep 300 & echo $!; exec sleep 300")["pid"]
        child = int(os.read(talk.fds[1], 100))
        talk.say("sweep", id="a")
        assert talk.hear() == {"type": "swept", "id": "a", "pids": [child], "survivors": []}
        assert (gone(child), gone(agent)) == (True, False)
        talk.say("sweep", id="nobody")
        assert talk.hear() == {"type": "swept", "id": "nobody", "pids": [], "survivors": []}


def test_a_signal_that_is_none_is_refused_and_one_to_nobody_is_nothing() -> None:
    with keeper() as talk:
        talk.hear()
        talk.spawn("sleep 300")
        talk.say("signal", id="nobody", signum=15)
        talk.say("signal", id="a", signum=999)
        assert talk.hear()["type"] == "refused"


def test_a_keeper_that_breaks_says_why(tmp_path: Path) -> None:
    with keeper(str(tmp_path / "missing")) as talk:
        crashed = talk.hear()
        assert crashed["type"] == "crashed"
        assert "FileNotFoundError" in crashed["reason"]


def test_the_keeper_is_not_held_up_by_a_service_that_does_not_read() -> None:
    with keeper() as talk:
        talk.hear()
        for number in range(2000):
            talk.say("dance", id=str(number), filler="x" * 500)
            talk.channel.flush()
        talk.say("list")
        while talk.hear()["type"] != "listed":
            talk.channel.flush()
