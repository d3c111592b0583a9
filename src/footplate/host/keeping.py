"""The keeper at work: its loop, its agents, the ladder and the sweeps; `keeper.py` tells the protocol.

Standard library only, one thread, never blocked: not by a service that does not read, nor by a slow exec.
"""
# ruff: noqa: PTH105, PTH108, PTH123 (the keeper must not pay for pathlib)

from __future__ import annotations

import errno
import json
import os
import select
import signal
import socket
import time

from .birth import Plan, Setting, become, open_ends
from .channel import Channel, close_all
from .table import LINUX, PAUSE_S, Sweep, Table, kill_exactly, kill_group, start_time

TYPE_CHECKING = False  # the keeper must not pay for `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

VERSION = 1
TERM_S = 1.0  # what an agent gets between SIGTERM and SIGKILL when the service is gone
KILL_S = 2.0  # how long a killed agent may take to vanish before we go on without it


class Agent:
    """One agent, from fork until its descendants are swept."""

    def __init__(self, request: dict[str, Any], marker: str) -> None:
        self.name = str(request["id"])
        self.marker = marker
        self.sweep_on_exit = bool(request.get("sweep_on_exit", True))
        self.layers = int(request.get("layers") or 0)
        self.pid = self.start = 0
        self.report = -1  # where the child tells of exec; -1 once it has
        self.pipes: list[int] = []  # the service's ends, until they are sent
        self.alive = True
        self.known: set[tuple[int, int]] = set()  # descendants (pid, start) seen while it was being ended
        self.sweep: Sweep | None = None


class Keeping:
    """The loop, the agents, the ladder and the sweeps."""

    def __init__(self, sock: socket.socket, marker: str, state_dir: str | None) -> None:
        self.channel = Channel(sock)
        self.marker = marker
        self.pid = os.getpid()
        self.start = start_time(self.pid)
        self.record = f"{state_dir}/keepers/{self.pid}-{self.start}.json" if state_dir else None
        self.agents: dict[str, Agent] = {}
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.handlers: dict[int, Callable[[], None]] = {}
        self.poll = select.poll()
        self.closing = self.done = self.ticking = False
        self.final: Sweep | None = None
        self.signals = self.catch_signals()
        self.setting = Setting()

    def run(self) -> None:
        """Serve until the socket closes or SIGTERM comes, and everything is swept."""
        self.setting.adopt_strays()
        self.write_record()
        self.watch(self.signals, self.on_signals)
        self.watch(self.channel.sock.fileno(), self.on_socket)
        self.send({"type": "hello", "v": VERSION, "pid": self.pid, "start_time": self.start})
        while not self.done:
            for fd, _ in self.poll.poll(self.patience()):
                if fd in self.handlers:
                    self.handlers[fd]()
            self.run_timers()
        if self.record and self.final and not self.final.survivors:
            os.unlink(self.record)

    def catch_signals(self) -> int:
        """Make the terminal's signals harmless, and bytes to read of SIGCHLD and SIGTERM."""
        read, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for signum in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(signum, lambda *_: None)
        for signum in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP):
            signal.signal(signum, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        return read

    def on_signals(self) -> None:
        caught = os.read(self.signals, 4096)
        self.reap()
        if signal.SIGTERM in caught:
            self.close()

    def watch(self, fd: int, handler: Callable[[], None], events: int = select.POLLIN) -> None:
        self.handlers[fd] = handler
        self.poll.register(fd, events)

    def unwatch(self, fd: int) -> None:
        if self.handlers.pop(fd, None):
            self.poll.unregister(fd)

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        self.timers.append((time.monotonic() + seconds, call))

    def patience(self) -> int | None:
        if not self.timers:
            return None
        return max(0, int((min(when for when, _ in self.timers) - time.monotonic()) * 1000) + 1)

    def run_timers(self) -> None:
        now = time.monotonic()
        due = [call for when, call in self.timers if when <= now]
        self.timers = [timer for timer in self.timers if timer[0] > now]
        for call in due:
            call()

    def write_record(self, coming: str | None = None) -> None:
        """Leave word for the next start, in case we are killed: who we are, what our agents carry."""
        if not self.record:
            return
        content = {"v": VERSION, "pid": self.pid, "start_time": self.start, "marker": self.marker}
        markers = self.markers() | ({coming} if coming else set())
        with open(self.record + ".new", "w", encoding="utf-8") as file:
            json.dump({**content, "markers": sorted(markers)}, file)
        os.replace(self.record + ".new", self.record)

    def markers(self) -> set[str]:
        return {agent.marker for agent in self.agents.values()}

    def send(self, message: dict[str, Any], fds: Iterable[int] = ()) -> None:
        self.channel.send(message, fds)
        self.write_more()

    def write_more(self) -> None:
        """Flush; as long as the service does not read, wait for the socket to take more."""
        events = select.POLLIN if self.channel.flush() else select.POLLIN | select.POLLOUT
        if not self.closing:
            self.watch(self.channel.sock.fileno(), self.on_socket, events)

    def on_socket(self) -> None:
        for payload, fds in self.channel.receive():
            close_all(fds)
            self.on_request(payload)
        if self.channel.open:
            self.write_more()
        else:
            self.close()

    def on_request(self, payload: bytes) -> None:
        request: dict[str, Any] = json.loads(payload)
        try:
            getattr(self, "do_" + request["type"])(request)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            told = {"type": "refused", "id": request.get("id")}
            self.send({**told, "reason": f"{type(error).__name__}: {error}"})

    def do_hello(self, request: dict[str, Any]) -> None:
        if request["v"] != VERSION:
            raise ValueError(f"the keeper speaks version {VERSION}")

    def do_list(self, _request: dict[str, Any]) -> None:
        agents = [
            {"id": a.name, "pid": a.pid, "start_time": a.start, "marker": a.marker, "alive": a.alive}
            for a in self.agents.values()
        ]
        self.send({"type": "listed", "agents": agents})

    def do_signal(self, request: dict[str, Any]) -> None:
        agent = self.agents.get(request["id"])
        if agent and agent.alive:  # a child of ours, not reaped: its number cannot belong to another
            self.deliver(agent, int(request["signum"]))

    def do_end(self, request: dict[str, Any]) -> None:
        agent = self.agents.get(request["id"])
        if agent and agent.alive:
            agent.sweep_on_exit = True
            self.terminate(agent, float(request["term_s"]), float(request["kill_s"]))
        else:
            self.do_sweep(request)

    def do_sweep(self, request: dict[str, Any]) -> None:
        agent = self.agents.get(request["id"])
        if agent:
            self.begin_sweep(agent)
        else:
            self.send({"type": "swept", "id": request["id"], "pids": [], "survivors": []})

    def do_spawn(self, request: dict[str, Any]) -> None:
        agent = Agent(request, str(request.get("marker") or f"{self.marker}.{request['id']}"))
        if self.closing or agent.name in self.agents:
            self.fail(agent, "fork", errno.EBUSY, "the keeper is closing" if self.closing else "the id is taken")
            return
        stage = "exec"
        try:
            plan = Plan(request, agent.marker)
            stage = "record"
            if not agent.marker.startswith(self.marker + "."):
                self.write_record(agent.marker)
            stage = "pipe"
            pipes = open_ends(plan.tty)
            stage = "fork"
            self.fork(agent, plan, pipes)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self.fail(agent, stage, getattr(error, "errno", None) or errno.EINVAL, reason)
            return
        self.agents[agent.name] = agent
        self.watch(agent.report, lambda: self.on_report(agent))

    def fork(self, agent: Agent, plan: Plan, pipes: list[tuple[int, int]]) -> None:
        """Fork with every signal held back, so that the child never runs a handler of ours."""
        (in_read, in_write), (out_read, out_write), (err_read, err_write), (told, tell) = pipes
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            agent.pid = os.fork()
            if agent.pid == 0:
                become(plan, [in_read, out_write, err_write], tell, self.setting)
        except OSError:
            close_all([in_write, out_read, err_read, told])
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            close_all([in_read, out_write, err_write, tell])
        os.set_blocking(told, False)
        agent.pipes, agent.report = [in_write, out_read, err_read], told
        agent.start = start_time(agent.pid)

    def on_report(self, agent: Agent) -> None:
        """Tell the service that exec has happened (the report ends empty) or how it failed."""
        try:
            report = os.read(agent.report, 64).decode().split()
        except BlockingIOError:  # a stale wake-up, of a descriptor that had this number before
            return
        self.unwatch(agent.report)
        close_all([agent.report])
        pipes, agent.pipes, agent.report = agent.pipes, [], -1
        if report:
            close_all(pipes)
            del self.agents[agent.name]
            self.fail(agent, report[0], int(report[1]), os.strerror(int(report[1])))
            return
        told = {"type": "spawned", "id": agent.name, "pid": agent.pid, "start_time": agent.start}
        self.send({**told, "marker": agent.marker}, pipes)

    def fail(self, agent: Agent, stage: str, number: int, reason: str) -> None:
        told = {"type": "spawn_failed", "id": agent.name, "errno": number}
        self.send({**told, "reason": reason, "stage": stage})

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
            self.on_report(agent)
        agent.alive = False
        if agent.name in self.agents:
            told = {"type": "exited", "id": agent.name, "code": code if code >= 0 else None}
            self.send({**told, "signal": -code if code < 0 else None})
            if agent.sweep_on_exit and not self.closing:
                self.begin_sweep(agent)
        if self.closing and not self.living():
            self.begin_final()

    def living(self) -> list[Agent]:
        return [agent for agent in self.agents.values() if agent.alive]

    def terminate(self, agent: Agent, term_s: float, kill_s: float) -> None:
        self.remember(agent)
        self.deliver(agent, signal.SIGTERM)
        self.later(term_s, lambda: self.kill(agent, kill_s))

    def deliver(self, agent: Agent, signum: int) -> None:
        """Signal the agent itself; while the layers around it are not all there yet, the outermost."""
        inner = Table().inside(agent.pid, agent.layers) if agent.layers and signum != signal.SIGKILL else None
        if inner is None:
            os.kill(agent.pid, signum)
        else:
            kill_exactly(inner, signum)

    def kill(self, agent: Agent, kill_s: float) -> None:
        if agent.alive:
            self.remember(agent)
            os.kill(agent.pid, signal.SIGKILL)
            self.later(kill_s, lambda: self.begin_sweep(agent) if agent.alive else None)

    def remember(self, agent: Agent) -> None:
        """Note its descendants while they can be told from others'; when it is gone they come to us."""
        if self.closing:  # then all are swept alike
            return
        table = Table()
        agent.known |= {(pid, table.seen[pid].start) for pid in table.below([agent.pid])}

    def begin_sweep(self, agent: Agent) -> None:
        if not LINUX and not agent.alive:
            kill_group(agent.pid)
        if agent.sweep is None and agent.name in self.agents:
            agent.sweep = Sweep(lambda table: self.belongings(agent, table))
            self.tick_soon(0)

    def tick_soon(self, seconds: float) -> None:
        if not self.ticking:
            self.ticking = True
            self.later(seconds, self.tick)

    def tick(self) -> None:
        """Take one look at the process table for all sweeps that are under way."""
        self.ticking = False
        table = Table()
        for agent in list(self.agents.values()):
            if agent.sweep and agent.sweep.step(table):
                self.end_sweep(agent, agent.sweep)
        if self.final:
            self.done = self.final.step(table)
        if self.final or any(agent.sweep for agent in self.agents.values()):
            self.tick_soon(PAUSE_S)

    def end_sweep(self, agent: Agent, sweep: Sweep) -> None:
        agent.sweep = None
        told = {"type": "swept", "id": agent.name, "pids": sorted(sweep.killed)}
        self.send({**told, "survivors": sorted(sweep.survivors)})
        if not agent.alive:
            del self.agents[agent.name]

    def belongings(self, agent: Agent, table: Table) -> set[int]:
        """Choose what descends from one agent; a marker that another agent carries too proves nothing."""
        kept = [other for other in self.agents.values() if other.alive or not other.sweep_on_exit]
        others = [other for other in kept if other is not agent]
        found = below = table.below([self.pid])
        if others:
            seen = [table.seen[pid] for pid in below]
            roots = {s.pid for s in seen if s.session == agent.pid or (s.pid, s.start) in agent.known}
            found = roots | table.below(roots)
        if agent.marker not in [other.marker for other in others]:
            found = found | table.marked(lambda marker: marker == agent.marker)
        return found - {a.pid for a in self.living()}

    def close(self) -> None:
        """End every agent at once, then everything that is left, then ourselves."""
        if self.closing:
            return
        self.closing = True
        self.unwatch(self.channel.sock.fileno())
        for agent in self.living():
            self.terminate(agent, TERM_S, KILL_S)
        self.later(TERM_S + KILL_S if self.living() else 0, self.begin_final)

    def begin_final(self) -> None:
        if self.final is None:
            self.final = Sweep(self.everything)
            self.tick_soon(0)

    def everything(self, table: Table) -> set[int]:
        markers, ours = self.markers(), self.marker + "."
        marked = table.marked(lambda marker: marker in markers or marker.startswith(ours))
        return marked | table.below([self.pid])


def main(number: str, marker: str, state_dir: str | None = None) -> None:
    """Be the keeper; what breaks it is told to the service before it goes."""
    fd = int(number)
    os.set_inheritable(fd, False)  # noqa: FBT003  it takes no keyword
    keeping = Keeping(socket.socket(fileno=fd), marker, state_dir)
    try:
        keeping.run()
    except Exception as error:
        trace = error.__traceback__
        while trace and trace.tb_next:
            trace = trace.tb_next
        line = trace.tb_lineno if trace else 0
        keeping.channel.send({"type": "crashed", "reason": f"{type(error).__name__}: {error} (line {line})"})
        raise
