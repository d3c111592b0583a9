"""The keeper at work: who speaks to it, its agents and what is asked about them; `keeper.py` tells the protocol.

Standard library only, one thread, never blocked: not by a service that does not read, nor by a slow exec.
"""
# ruff: noqa: PTH102, PTH105, PTH123 (the keeper must not pay for pathlib)

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time

from .births import Births
from .channel import OLDEST, VERSION, Channel, close_all, common_version, remove
from .door import Door, owner_of
from .endings import Endings
from .kept import Agent
from .loop import Loop, catch_signals
from .spool import LIMIT
from .table import Sweep, start_time

TYPE_CHECKING = False  # the keeper must not pay for `typing`
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

FOR_ALL = ("hello", "list")  # what may be asked by who is not the driver


class Keeping:
    """The driver and other visitors, the agents, and the time for which they are kept."""

    def __init__(self, sock: socket.socket, marker: str, state_dir: str | None, door: Door | None = None) -> None:
        self.loop = Loop()
        self.driver: Channel | None = Channel(sock)
        self.speaker = self.driver
        self.handed: list[int] = []  # what came with the request that is being served
        self.visitors: dict[int, Channel] = {}
        self.marker = marker
        self.door = door
        self.folder = f"{state_dir}/keepers/{marker}" if door else ""
        self.pid = os.getpid()
        self.start = start_time(self.pid)
        self.record = f"{state_dir}/keepers/{self.pid}-{self.start}.json" if state_dir else None
        self.agents: dict[str, Agent] = {}
        self.endings = Endings(self.loop, self.agents, marker, self.end_sweep)
        self.grace_s = 0.0
        self.spool_limit = LIMIT
        self.absences = 0
        self.away_since = 0.0  # 0 while there is a driver
        self.retiring = False
        self.signals = catch_signals()
        self.births = Births(
            self.loop, self.agents, self.send, folder=self.folder, marker=marker, record=self.write_record
        )

    # ------------------------------------------------------------------------------------------ from start to end

    def run(self) -> None:
        """Serve until there is nobody to serve and everything is swept."""
        self.births.setting.adopt_strays()
        if self.door:
            self.births.setting.allow_files()
            os.mkdir(self.folder, 0o700)
            self.loop.watch(self.door.open(), self.on_knock)
        self.write_record()
        self.loop.watch(self.signals, self.on_signals)
        if self.driver:
            self.say(self.driver, self.hello())
        self.loop.run()
        for agent in list(self.agents.values()):
            agent.forget(self.loop)
        if self.door:
            remove(self.folder, os.rmdir)
        final = self.endings.final
        if self.record and final and not final.survivors:
            remove(self.record)

    def hello(self) -> dict[str, Any]:
        told = {"type": "hello", "v": VERSION, "min": OLDEST, "pid": self.pid}
        return {**told, "start_time": self.start, "marker": self.marker}

    def on_signals(self) -> None:
        caught = os.read(self.signals, 4096)
        self.reap()
        if signal.SIGTERM in caught:
            self.close()

    def close(self, *, gently: bool = False) -> None:
        """End every agent, then everything that is left, then ourselves; nobody is let in any more."""
        if self.endings.closing:
            return
        if self.door:
            self.loop.unwatch(self.door.close())
            self.door.drop_lock()
        if self.driver:
            self.loop.unwatch(self.driver.sock.fileno())
        self.endings.end_all(gently=gently)

    def write_record(self, coming: str | None = None) -> None:
        """Leave word for the next start: who we are, how to reach us, what our agents carry."""
        if not self.record:
            return
        content = {"v": VERSION, "pid": self.pid, "start_time": self.start, "marker": self.marker}
        markers = self.endings.markers() | ({coming} if coming else set())
        with open(self.record + ".new", "w", encoding="utf-8") as file:
            json.dump({**content, "keeps": bool(self.door), "markers": sorted(markers)}, file)
        os.replace(self.record + ".new", self.record)

    # ------------------------------------------------------------------------------------------ who speaks to us

    def on_knock(self) -> None:
        sock = self.door.accept() if self.door else None
        if sock:
            self.visitors[sock.fileno()] = Channel(sock)
            self.say(self.visitors[sock.fileno()], self.hello())

    def say(self, channel: Channel, message: dict[str, Any], fds: Iterable[int] = ()) -> None:
        channel.send(message, fds)
        self.write_more(channel)

    def send(self, message: dict[str, Any], fds: Iterable[int] = ()) -> None:
        """Say something to the driver; while there is none, nobody hears it."""
        if self.driver:
            self.say(self.driver, message, fds)
        else:
            close_all(fds)

    def write_more(self, channel: Channel) -> None:
        """Flush; as long as the other side does not read, wait for the socket to take more."""
        events = select.POLLIN if channel.flush() else select.POLLIN | select.POLLOUT
        if not self.endings.closing:
            self.loop.watch(channel.sock.fileno(), lambda: self.on_socket(channel), events)

    def on_socket(self, channel: Channel) -> None:
        for payload, fds in channel.receive():
            self.handed = fds
            self.on_request(payload, channel)
            close_all(fds)
        if channel.open:
            self.write_more(channel)
        elif channel is self.driver:
            self.on_driver_gone(channel)
        else:
            self.dismiss(channel)

    def dismiss(self, channel: Channel) -> None:
        self.visitors.pop(channel.sock.fileno(), None)
        self.loop.unwatch(channel.sock.fileno())
        channel.close()

    def on_driver_gone(self, channel: Channel) -> None:
        """End all when there is nothing to keep; else keep it, for a while."""
        if self.endings.closing or not self.grace_s or not any(a.kept and a.report < 0 for a in self.agents.values()):
            self.close()
            return
        self.dismiss(channel)
        self.driver = None
        self.away_since = time.monotonic()
        self.absences += 1
        absence = self.absences
        self.loop.later(self.grace_s, lambda: self.on_grace_over(absence))
        for agent in list(self.agents.values()):
            self.keep_or_end(agent)

    def keep_or_end(self, agent: Agent) -> None:
        if agent.kept and agent.report < 0:
            if agent.attached:
                agent.take_back()
                agent.drain(self.loop)
        elif agent.alive:
            agent.sweep_on_exit = True
            agent.discard(self.loop)
            self.endings.terminate(agent, 1.0, 2.0)
        else:
            self.endings.begin_sweep(agent)

    def on_grace_over(self, absence: int) -> None:
        if not self.driver and absence == self.absences:
            self.close(gently=True)

    def on_request(self, payload: bytes, channel: Channel) -> None:
        request: dict[str, Any] = {}
        self.speaker = channel
        try:
            request = dict(json.loads(payload))
            if channel is not self.driver and request["type"] not in FOR_ALL:
                raise ValueError(f"only the driver may ask for {request['type']}")  # noqa: TRY301
            getattr(self, "do_" + request["type"])(request)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            told = {"type": "refused", "id": request.get("id")}
            self.say(channel, {**told, "reason": f"{type(error).__name__}: {error}"})

    # ------------------------------------------------------------------------------------------ what is asked of us

    def do_hello(self, request: dict[str, Any]) -> None:
        common = common_version(int(request["v"]), int(request.get("min", request["v"])))
        channel = self.speaker
        if channel is not self.driver and request.get("role") != "look":
            if self.driver:
                self.on_socket(self.driver)  # it may be gone, and we have not looked yet
            if self.driver or self.endings.closing:
                pid = owner_of(self.driver.sock)[0] if self.driver else 0
                self.say(channel, {"type": "busy", "pid": pid})
                return
            self.visitors.pop(channel.sock.fileno(), None)
            self.driver, self.away_since = channel, 0.0
        if channel is self.driver and self.door:
            self.grace_s = float(request.get("grace_s", self.grace_s))
            self.spool_limit = int(request.get("spool_limit", self.spool_limit))
        self.say(channel, {"type": "welcome", "v": common})

    def do_list(self, _request: dict[str, Any]) -> None:
        away = time.monotonic() - self.away_since if self.away_since else 0.0
        ours = {"grace_s": self.grace_s, "away_s": away, "retiring": self.retiring}
        driver = owner_of(self.driver.sock)[0] if self.driver else 0
        told = {**ours, "driver": driver, "agents": [a.facts() for a in self.agents.values()]}
        self.say(self.speaker, {"type": "listed", **told})

    def do_signal(self, request: dict[str, Any]) -> None:
        agent = self.agents.get(request["id"])
        if agent and agent.alive:  # a child of ours, not reaped: its number cannot belong to another
            self.endings.deliver(agent, int(request["signum"]))

    def do_end(self, request: dict[str, Any]) -> None:
        agent = self.agents.get(request["id"])
        if agent and agent.alive:
            agent.sweep_on_exit = True
            self.endings.terminate(agent, float(request["term_s"]), float(request["kill_s"]))
        else:
            self.do_sweep(request)

    def do_sweep(self, request: dict[str, Any]) -> None:
        agent = self.agents.get(request["id"])
        if agent and not (agent.swept and not agent.alive):
            self.endings.begin_sweep(agent)
        else:
            told = {"type": "swept", "id": request["id"], "pids": [], "survivors": []}
            self.send(agent.swept if agent and agent.swept else told)

    def do_note(self, request: dict[str, Any]) -> None:
        agent = self.agents.get(request["id"])
        if not agent:
            return
        agent.kept = bool(request.get("kept", agent.kept))
        agent.waiting = bool(request.get("waiting", agent.waiting))
        agent.about = {**agent.about, **request.get("about", {})}

    def do_hold(self, request: dict[str, Any]) -> None:
        agent = self.agents.get(request["id"])
        if agent and agent.alive and self.handed:
            agent.hold(self.handed.pop())

    def do_close_stdin(self, request: dict[str, Any]) -> None:
        agent = self.agents.get(request["id"])
        if agent and agent.report < 0:
            agent.close_stdin()

    def do_attach(self, request: dict[str, Any]) -> None:
        agent = self.agents[request["id"]]
        if agent.attached:
            raise ValueError("it is attached")
        if agent.report >= 0 or not agent.pipes:
            raise ValueError("it has not started")
        agent.leave_alone(self.loop)
        agent.out.write(b"")
        told = {"type": "attached", **agent.facts(), "rest": agent.out.held.decode("latin-1")}
        try:
            self.send(told, agent.hand_over())
        except OSError:
            agent.drain(self.loop)
            raise
        if not agent.alive:
            self.send(agent.ending())
            if agent.swept:
                self.send(agent.swept)

    def do_direct(self, request: dict[str, Any]) -> None:
        self.agents[request["id"]].direct = True

    def do_settled(self, request: dict[str, Any]) -> None:
        spool = self.agents[request["id"]].out
        if "upto" in request:
            spool.begin = max(spool.begin, spool.given + int(request["upto"]))
        else:
            spool.drop()

    def do_give(self, request: dict[str, Any]) -> None:
        agent = self.agents[request["id"]]
        agent.out.write(request["data"].encode("latin-1"))
        agent.direct = False  # all that was read is here

    def do_release(self, request: dict[str, Any]) -> None:
        agent = self.agents.get(request["id"])
        if agent:
            agent.kept = False
            if not agent.alive and agent.swept:
                self.forget(agent)

    def do_retire(self, _request: dict[str, Any]) -> None:
        self.retiring = True
        if self.door:
            self.door.drop_lock()
        if not self.agents:
            self.close()

    def do_close(self, _request: dict[str, Any]) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------ agents

    def do_spawn(self, request: dict[str, Any]) -> None:
        self.births.spawn(request, limit=self.spool_limit)

    def reap(self) -> None:
        """Take in every child that ended: agents, and strays that came to us."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for agent in [a for a in self.agents.values() if a.alive and a.pid == pid]:
                self.on_exit(agent, os.waitstatus_to_exitcode(status))

    def on_exit(self, agent: Agent, code: int) -> None:
        if agent.report >= 0:  # it was quicker than its own report
            self.births.on_report(agent)
        agent.alive = False
        agent.code = code
        agent.unlock()
        agent.swept = None
        if agent.name in self.agents:
            self.send(agent.ending())
            if agent.sweep_on_exit and not self.endings.closing:
                self.endings.begin_sweep(agent)
        if self.endings.closing and not self.endings.living():
            self.endings.begin_final()

    def end_sweep(self, agent: Agent, sweep: Sweep) -> None:
        told = {"type": "swept", "id": agent.name, "pids": sorted(sweep.killed)}
        agent.swept = {**told, "survivors": sorted(sweep.survivors)}
        self.send(agent.swept)
        if not agent.alive and not (self.door and agent.kept):
            self.forget(agent)

    def forget(self, agent: Agent) -> None:
        del self.agents[agent.name]
        agent.forget(self.loop)
        if self.retiring and not self.agents:
            self.close()


def main(number: str, marker: str, state_dir: str | None = None, keep: str = "") -> None:
    """Be the keeper; what breaks it is told to the service before it goes."""
    fd = int(number)
    os.set_inheritable(fd, False)  # noqa: FBT003  it takes no keyword
    sock = socket.socket(fileno=fd)
    keeping = None
    try:
        door = Door(f"{state_dir}/keepers", marker + ".sock") if keep else None
        holder = door.take_lock() if door else 0
        if holder:
            Channel(sock).send({"type": "taken", "pid": holder})
            return
        keeping = Keeping(sock, marker, state_dir, door)
        keeping.run()
    except Exception as error:
        trace = error.__traceback__
        while trace and trace.tb_next:
            trace = trace.tb_next
        line = trace.tb_lineno if trace else 0
        driver = keeping.driver if keeping else Channel(sock)
        if driver:
            driver.send({"type": "crashed", "reason": f"{type(error).__name__}: {error} (line {line})"})
        raise
