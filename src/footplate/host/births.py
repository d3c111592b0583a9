"""How the keeper starts agents: the fork, and the child's report of its exec. Standard library only."""

from __future__ import annotations

import errno
import os
import signal

from .birth import Plan, Setting, become, open_ends
from .channel import close_all
from .kept import Agent
from .table import start_time

TYPE_CHECKING = False  # the keeper must not pay for `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from .loop import Loop


class Births:
    """Starts agents. With a folder for spools it keeps copies of their pipes."""

    def __init__(
        self,
        loop: Loop,
        agents: dict[str, Agent],
        send: Callable[[dict[str, Any], Iterable[int]], None],
        *,
        folder: str,
        marker: str,
        record: Callable[[str], None],
    ) -> None:
        self.loop = loop
        self.agents = agents
        self.send = send
        self.folder = folder
        self.marker = marker
        self.record = record
        self.setting = Setting()

    def spawn(self, request: dict[str, Any], *, limit: int) -> None:
        """Start an agent; how that went is told to the service."""
        marker = str(request.get("marker") or f"{self.marker}.{request['id']}")
        agent = Agent(request, marker, folder=self.folder, limit=limit)
        if agent.name in self.agents:
            self.fail(agent, "fork", errno.EBUSY, "the id is taken")
            return
        stage = "exec"
        try:
            plan = Plan(request, agent.marker)
            stage = "record"
            if not agent.marker.startswith(self.marker + "."):
                self.record(agent.marker)
            stage = "pipe"
            pipes = open_ends(plan.tty)
            stage = "fork"
            self.fork(agent, plan, pipes)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self.fail(agent, stage, getattr(error, "errno", None) or errno.EINVAL, reason)
            return
        self.agents[agent.name] = agent
        self.loop.watch(agent.report, lambda: self.on_report(agent))

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
        agent.copied = bool(self.folder) and (agent.kept or not plan.tty)  # other terminals hang up with their service
        for fd in (in_write, out_read, err_read, told) if agent.copied else (told,):
            os.set_blocking(fd, False)
        agent.pipes, agent.report = [in_write, out_read, err_read], told
        agent.start = start_time(agent.pid)

    def on_report(self, agent: Agent) -> None:
        """Tell the service that exec has happened (the report ends empty) or how it failed."""
        try:
            report = os.read(agent.report, 64).decode().split()
        except BlockingIOError:  # a stale wake-up, of a descriptor that had this number before
            return
        self.loop.unwatch(agent.report)
        close_all([agent.report])
        agent.report = -1
        if report:
            close_all(agent.pipes)
            agent.pipes = []
            del self.agents[agent.name]
            self.fail(agent, report[0], int(report[1]), os.strerror(int(report[1])))
            return
        pipes = [os.dup(fd) for fd in agent.pipes] if agent.copied else agent.pipes
        if not agent.copied:
            agent.pipes = []
        told = {"type": "spawned", "id": agent.name, "pid": agent.pid, "start_time": agent.start}
        self.send({**told, "marker": agent.marker}, pipes)

    def fail(self, agent: Agent, stage: str, number: int, reason: str) -> None:
        """Tell the service that there is no such agent."""
        told = {"type": "spawn_failed", "id": agent.name, "errno": number}
        self.send({**told, "reason": reason, "stage": stage}, ())
