"""Memory and the like: an agent that uses too much is noticed, and so is a machine that is short of memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Final, Protocol, TypeVar

import msgspec

from footplate.host.resources import MB, Excess, ResourceLimits, Tree, excess, share
from footplate.tasks import spawn

CALM_S: Final = 2.0
"""Between two looks at an agent that uses less than half of its limits."""

CLOSE_S: Final = 0.2
"""Between two looks at one that uses more."""

SHORT: Final = 0.06
"""Memory is short when less than this part of it is left,"""

SHORT_MB: Final = 1024
"""or less than this, on a machine that has more than four times as much."""

SETTLED_S: Final = 5.0
"""An agent that was busy until just now is not evicted, however short memory is."""


class TreeWatch:
    """Looks at an agent's processes from time to time; when they are over a limit, all but the agent itself are stopped
    in their tracks and `on_excess` is called, once."""

    def __init__(self, tree: Tree, limits: ResourceLimits, on_excess: Callable[[Excess], Awaitable[None]]) -> None:
        self._tree = tree
        self._limits = limits
        self._on_excess = on_excess
        self._task = spawn(self._watch(), name=f"watch of agent {tree.pid}")

    async def close(self) -> None:
        """Look no more. What was begun because of an excess goes through."""
        if asyncio.current_task() is not self._task:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _watch(self) -> None:
        pause = CLOSE_S
        while True:
            await asyncio.sleep(pause)
            usage = self._tree.usage()
            over = excess(self._limits, usage)
            if over is not None:  # shared pages were counted more than once: count them well before acting
                over = excess(self._limits, await asyncio.to_thread(self._tree.usage, exact=True))
            if over is not None:
                await asyncio.to_thread(self._tree.freeze)
                await self._on_excess(over)
                return
            pause = CLOSE_S if share(self._limits, usage) > 0.5 else CALM_S


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """How much memory we may use, and how much of it is left."""

    total_mb: int
    available_mb: int

    @property
    def short(self) -> bool:
        """Whether little is left."""
        floor = SHORT_MB if self.total_mb > 4 * SHORT_MB else 0
        return self.available_mb < max(self.total_mb * SHORT, floor)


def measure_memory(root: Path = Path("/")) -> Memory | None:
    """What the machine has, or the control group that we are in, whichever has less left; None where nobody tells."""
    try:
        told = _fields(root / "proc/meminfo")
    except OSError:
        return None
    machine = Memory(total_mb=told.get("MemTotal", 0) // 1024, available_mb=told.get("MemAvailable", 0) // 1024)
    return min((machine, *_groups(root)), key=lambda memory: memory.available_mb)


def memory_is_short(root: Path = Path("/")) -> bool:
    """Whether idle agents had better go."""
    memory = measure_memory(root)
    return memory is not None and memory.short


def _groups(root: Path) -> Iterable[Memory]:
    """The limits of the control groups around us, of both versions."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, place = line.split(":", 2)
        if controllers == "memory":
            base, names = root / "sys/fs/cgroup/memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        elif not controllers:
            base, names = root / "sys/fs/cgroup", ("memory.max", "memory.current")
        else:
            continue
        for folder in (base / place.lstrip("/"), base):
            memory = _group(folder, *names)
            if memory is not None:
                yield memory


def _group(folder: Path, limit: str, usage: str) -> Memory | None:
    """One group; None when it has no limit, or is not to be seen from here. Pages of files can be had back."""
    try:
        most = int((folder / limit).read_text())
        used = int((folder / usage).read_text())
        idle = _fields(folder / "memory.stat").get("inactive_file", 0)
    except (OSError, ValueError):  # `max` is no number: no limit
        return None
    return Memory(total_mb=most // MB, available_mb=max(most - used + idle, 0) // MB)


def _fields(path: Path) -> dict[str, int]:
    rows = (line.replace(":", " ").split() for line in path.read_text().splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1}


class Evictable(Protocol):
    """A session as far as eviction is concerned."""

    @property
    def attached(self) -> bool:
        """Whether it has a process."""
        ...

    @property
    def working(self) -> bool:
        """Whether the process has a turn or a background task."""
        ...

    @property
    def resumable(self) -> bool:
        """Whether another process could go on with its conversation."""
        ...

    @property
    def idle_since(self) -> float:
        """Since when it does not."""
        ...


S = TypeVar("S", bound=Evictable)


def choose_evictions(sessions: Iterable[S], *, now: float, idle_s: float, short: bool) -> list[S]:
    """Whose process goes: those idle for too long, and when memory is short also the one that is idle longest."""
    late = (each for each in sessions if each.attached and (short or now - each.idle_since > idle_s))
    idle = sorted((each for each in late if each.resumable and not each.working), key=lambda each: each.idle_since)
    chosen = [each for each in idle if now - each.idle_since > idle_s]
    if short and not chosen and idle and now - idle[0].idle_since > min(SETTLED_S, idle_s):
        chosen = idle[:1]
    return chosen
