"""What an agent may use of the machine: limits, what its processes use, and which limit that is over. Linux.

Two means, each for what it can do. The kernel's own limits are set in the child before exec, for what counts per
process: CPU time (the last line behind the watch) and open files. What counts for an agent with all that it started is
measured from `/proc`: memory, CPU time, number of processes. The kernel's limits cannot do that: RLIMIT_AS and
RLIMIT_DATA hold for each process alone and count what a JavaScript engine reserves and never touches (5.5 GB in a
Claude CLI that uses 160 MB); RLIMIT_NPROC counts everything of the user and does not hold for root. Control groups can,
but only where somebody has delegated one.
"""
# ruff: noqa: PTH123, PTH208 (read again and again: pathlib would cost more than the kernel)

from __future__ import annotations

import os
import signal
import time
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from footplate.config.settings import CommonSettings
from footplate.events.wording import format_duration

from .table import PAUSE_S, SWEEP_S, Table, kill_exactly, look, marker_of

PAGE: Final = os.sysconf("SC_PAGE_SIZE")
TICK: Final = os.sysconf("SC_CLK_TCK")
MB: Final = 1024 * 1024
CPU_SLACK_S: Final = 30
"""How much later than the watch the kernel's own CPU limit holds."""

BELOW_THE_SERVICE: Final = 300
"""The `oom_score_adj` of agents: when memory is out, the kernel takes one of them and not the service."""

Positive = Annotated[int, Meta(gt=0)]


class ResourceLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one agent may use, with all that it started; None is no limit."""

    memory_mb: Positive | None = None
    cpu_s: Positive | None = None
    processes: Positive | None = None
    open_files: Positive | None = None

    @property
    def watched(self) -> bool:
        """Whether anything must be measured while it runs."""
        return (self.memory_mb, self.cpu_s, self.processes) != (None, None, None)

    def kernel_limits(self) -> dict[str, int]:
        """What the kernel itself holds each process to, as names of the `resource` module."""
        limits = {}
        if self.cpu_s is not None:
            limits["RLIMIT_CPU"] = self.cpu_s + CPU_SLACK_S
        if self.open_files is not None:
            limits["RLIMIT_NOFILE"] = self.open_files
        return limits


def read_resources(common: CommonSettings) -> ResourceLimits:
    """The limits that the settings of an engine ask for."""
    return ResourceLimits(
        memory_mb=common.memory_mb, cpu_s=common.cpu_s, processes=common.processes, open_files=common.open_files
    )


def stricter(first: ResourceLimits, second: ResourceLimits) -> ResourceLimits:
    """Both limits at once: of each the smaller."""

    def least(*values: int | None) -> int | None:
        return min((value for value in values if value is not None), default=None)

    return ResourceLimits(
        memory_mb=least(first.memory_mb, second.memory_mb),
        cpu_s=least(first.cpu_s, second.cpu_s),
        processes=least(first.processes, second.processes),
        open_files=least(first.open_files, second.open_files),
    )


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent uses, with all that it started; in CPU time also what has ended, if it was waited for."""

    memory_mb: int = 0
    cpu_s: float = 0.0
    processes: int = 0


class Excess(msgspec.Struct, frozen=True, kw_only=True):
    """A limit that is over."""

    name: str
    text: str


def excess(limits: ResourceLimits, usage: Usage) -> Excess | None:
    """The first limit that the usage is over."""
    if limits.memory_mb is not None and usage.memory_mb > limits.memory_mb:
        return Excess(name="agent memory", text=f"the agent uses {usage.memory_mb} MB of {limits.memory_mb} MB memory")
    if limits.cpu_s is not None and usage.cpu_s > limits.cpu_s:
        used = format_duration(usage.cpu_s)
        return Excess(name="agent cpu", text=f"the agent used {used} of {format_duration(limits.cpu_s)} CPU time")
    if limits.processes is not None and usage.processes > limits.processes:
        return Excess(
            name="agent processes", text=f"the agent runs {usage.processes} of at most {limits.processes} processes"
        )
    return None


def share(limits: ResourceLimits, usage: Usage) -> float:
    """How much of the scarcest limit is used: 1.0 is all of it."""
    parts = [
        used / limit
        for used, limit in (
            (usage.memory_mb, limits.memory_mb),
            (usage.cpu_s, limits.cpu_s),
            (usage.processes, limits.processes),
        )
        if limit is not None
    ]
    return max(parts, default=0.0)


class Tree:
    """An agent and all that it started: what stands below it, and strays that carry its marker.

    `layers` processes stand between our child and the agent itself, where a sandbox is around it.
    """

    def __init__(self, pid: int, marker: str, *, layers: int = 0) -> None:
        self.pid = pid
        self.marker = marker
        self.layers = layers

    def members(self) -> set[int]:
        """Every process of it that lives now."""
        found = {self.pid}
        waiting = [self.pid]
        while waiting:
            fresh = [child for child in children_of(waiting.pop()) if child not in found]
            found.update(fresh)
            waiting.extend(fresh)
        return found | self._strays(found)

    def usage(self, *, exact: bool = False) -> Usage:
        """What it uses now. Shared pages count once for each who shares them, unless it is to be exact."""
        members = self.members()
        measure = proportional if exact else resident
        return Usage(
            memory_mb=sum(map(measure, members)) // MB,
            cpu_s=sum(map(cpu_ticks, members)) / TICK,
            processes=max(len(members) - self.layers, 0),
        )

    def freeze(self) -> None:
        """Stop everything but the agent itself, so that nothing uses more while the agent is being ended.

        Blocks until two scans in a row find nothing new: one scan misses what is forked behind it, and a stray that is
        just executing a program, whose environment is empty in that moment and so shows no marker.
        """
        done, outer = {self.pid}, self.pid
        for _ in range(self.layers):
            inner = children_of(outer)
            outer = inner[0] if inner else outer
            done.add(outer)
        scans_without_new = 0
        deadline = time.monotonic() + SWEEP_S
        while scans_without_new < 2 and time.monotonic() < deadline:
            new = self.members() - done
            for process in filter(None, map(look, new)):
                kill_exactly(process, signal.SIGSTOP)
            done |= new
            scans_without_new = 0 if new else scans_without_new + 1
            time.sleep(PAUSE_S)

    def _strays(self, known: set[int]) -> set[int]:
        """What moved away and came to the keeper, with its descendants; other agents stand there, too."""
        agent = look(self.pid)
        if agent is None:
            return set()
        roots = [pid for pid in children_of(agent.ppid) if pid not in known and marker_of(pid) == self.marker]
        found = set(roots)
        while roots:
            fresh = [child for child in children_of(roots.pop()) if child not in found]
            found.update(fresh)
            roots.extend(fresh)
        return found


def children_of(pid: int) -> list[int]:
    """The children of a process, of all its threads."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                found += map(int, file.read().split())
    except (FileNotFoundError, ProcessLookupError):  # it has ended, or this kernel does not list children
        return found or (Table().children.get(pid, []) if look(pid) else [])
    return found


def resident(pid: int) -> int:
    """The bytes of a process that are in memory."""
    statm = _read(pid, "statm").split()
    return int(statm[1]) * PAGE if statm else 0


def proportional(pid: int) -> int:
    """The same with shared pages divided among those who share them; it costs the kernel a walk over all of them."""
    for line in _read(pid, "smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return resident(pid)


def cpu_ticks(pid: int) -> int:
    """The CPU time of a process and of its children that were waited for."""
    stat = _read(pid, "stat")
    return sum(map(int, stat[stat.rindex(b")") + 2 :].split()[11:15])) if stat else 0


def _read(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""
