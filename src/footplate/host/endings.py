"""How agents of the keeper end: the ladder of signals, the sweeps after it, and the end of all."""

from __future__ import annotations

import os
import signal

from .table import LINUX, PAUSE_S, Sweep, Table, kill_exactly, kill_group

TYPE_CHECKING = False  # the keeper must not pay for `typing`
if TYPE_CHECKING:
    from collections.abc import Callable

    from .kept import Agent
    from .loop import Loop

INT_S = 3.0  # what an agent gets between SIGINT and SIGTERM when the grace is over
TERM_S = 1.0  # what it gets between SIGTERM and SIGKILL when the service is gone
KILL_S = 2.0  # how long a killed agent may take to vanish before we go on without it


class Endings:
    """Ends agents, and sweeps what stands below them or carries their markers."""

    def __init__(
        self, loop: Loop, agents: dict[str, Agent], marker: str, swept: Callable[[Agent, Sweep], None]
    ) -> None:
        self.loop = loop
        self.agents = agents
        self.marker = marker
        self.swept = swept
        self.pid = os.getpid()
        self.ticking = False
        self.closing = False
        self.final: Sweep | None = None

    def living(self) -> list[Agent]:
        """Agents that run."""
        return [agent for agent in self.agents.values() if agent.alive]

    def markers(self) -> set[str]:
        """What our agents carry in their environment."""
        return {agent.marker for agent in self.agents.values()}

    # -------------------------------------------------------------------------------------------- the ladder

    def deliver(self, agent: Agent, signum: int) -> None:
        """Signal the agent itself; while the layers around it are not all there yet, the outermost."""
        inner = Table().inside(agent.pid, agent.layers) if agent.layers and signum != signal.SIGKILL else None
        if inner is None:
            os.kill(agent.pid, signum)
        else:
            kill_exactly(inner, signum)

    def interrupt(self, agent: Agent) -> None:
        """Ask it to stop what it does, then to end; the whole ladder for an agent that nobody waits for any more."""
        self.deliver(agent, signal.SIGINT)
        agent.close_stdin()
        self.loop.later(INT_S, lambda: self.terminate(agent, TERM_S, KILL_S))

    def terminate(self, agent: Agent, term_s: float, kill_s: float) -> None:
        """SIGTERM, and SIGKILL when that does not help."""
        if agent.alive:
            self.remember(agent)
            self.deliver(agent, signal.SIGTERM)
            self.loop.later(term_s, lambda: self.kill(agent, kill_s))

    def kill(self, agent: Agent, kill_s: float) -> None:
        """SIGKILL, and a sweep though it should not vanish."""
        if agent.alive:
            self.remember(agent)
            os.kill(agent.pid, signal.SIGKILL)
            self.loop.later(kill_s, lambda: self.begin_sweep(agent) if agent.alive else None)

    def remember(self, agent: Agent) -> None:
        """Note its descendants while they can be told from others'; when it is gone they come to us."""
        if self.closing:  # then all are swept alike
            return
        table = Table()
        agent.known |= {(pid, table.seen[pid].start) for pid in table.below([agent.pid])}

    # -------------------------------------------------------------------------------------------- the sweeps

    def begin_sweep(self, agent: Agent) -> None:
        """Kill what it has left behind; `swept` is called when that is done."""
        if not LINUX and not agent.alive:
            kill_group(agent.pid)
        if agent.sweep is None and agent.name in self.agents:
            agent.sweep = Sweep(lambda table: self.belongings(agent, table))
            self.tick_soon(0)

    def tick_soon(self, seconds: float) -> None:
        """Look at the process table soon, once for all."""
        if not self.ticking:
            self.ticking = True
            self.loop.later(seconds, self.tick)

    def tick(self) -> None:
        """Take one look at the process table for all sweeps that are under way."""
        self.ticking = False
        table = Table()
        for agent in list(self.agents.values()):
            if agent.sweep and agent.sweep.step(table):
                sweep, agent.sweep = agent.sweep, None
                self.swept(agent, sweep)
        if self.final:
            self.loop.done = self.final.step(table)
        if self.final or any(agent.sweep for agent in self.agents.values()):
            self.tick_soon(PAUSE_S)

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

    # -------------------------------------------------------------------------------------------- the end of all

    def end_all(self, *, gently: bool) -> None:
        """End every agent, then everything that is left, then the loop. Gently: interrupt who waits for nobody."""
        self.closing = True
        patience = 0.0
        for agent in self.living():
            if gently and not agent.waiting:
                self.interrupt(agent)
                patience = INT_S + TERM_S + KILL_S
            else:
                self.terminate(agent, TERM_S, KILL_S)
                patience = max(patience, TERM_S + KILL_S)
            agent.discard(self.loop)
        self.loop.later(patience, self.begin_final)

    def begin_final(self) -> None:
        """Sweep everything that is or was ours."""
        if self.final is None:
            self.final = Sweep(self.everything)
            self.tick_soon(0)

    def everything(self, table: Table) -> set[int]:
        """Choose all that descends from us or carries a marker of ours."""
        markers, ours = self.markers(), self.marker + "."
        marked = table.marked(lambda marker: marker in markers or marker.startswith(ours))
        return marked | table.below([self.pid])
