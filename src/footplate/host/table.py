"""The process table: who lives, below whom, with which marker; and a sweep that kills what it picks.

Standard library only. The keeper sweeps with it after its agents, the service after a keeper that was killed.
"""
# ruff: noqa: PTH123, PTH208 (the keeper must not pay for pathlib)

from __future__ import annotations

import os
import signal
import sys
import time

from .birth import VARIABLE
from .channel import close_all

TYPE_CHECKING = False  # the keeper must not pay for `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SWEEP_S = 3.0  # how long a sweep may take before it names survivors
PAUSE_S = 0.01  # between two scans of a sweep
LINUX = sys.platform == "linux"


class Seen:
    """One process as a scan saw it; `pid` and `start` together name it for good."""

    __slots__ = ("pid", "ppid", "session", "start", "state")

    def __init__(self, pid: int, stat: bytes) -> None:
        fields = stat[stat.rindex(b")") + 2 :].split()
        self.pid = pid
        self.state = fields[0]
        self.ppid = int(fields[1])
        self.session = int(fields[3])
        self.start = int(fields[19])


def look(pid: int) -> Seen | None:
    """Read one process from /proc; None when there is none, only its zombie, or we may not see it."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            seen = Seen(pid, file.read())
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    return None if seen.state in (b"Z", b"X") else seen


def start_time(pid: int) -> int:
    """Give the start of a process in clock ticks since boot; 0 when it cannot be known."""
    seen = look(pid)
    return seen.start if seen else 0


def marker_of(pid: int) -> str:
    """Read FOOTPLATE_RUN from a process's environment; empty when it has none or we may not read it."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            found = (b"\0" + file.read()).partition(b"\0" + VARIABLE.encode() + b"=")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""
    return found[2].partition(b"\0")[0].decode("utf-8", "surrogateescape")


class Table:
    """The living processes of this machine at one moment."""

    def __init__(self) -> None:
        found = [look(int(name)) for name in os.listdir("/proc") if name.isdigit()] if LINUX else []
        self.seen = {seen.pid: seen for seen in found if seen}
        self.markers: dict[int, str] = {}
        self.children: dict[int, list[int]] = {}
        for seen in self.seen.values():
            self.children.setdefault(seen.ppid, []).append(seen.pid)

    def below(self, roots: Iterable[int]) -> set[int]:
        """Give every descendant of the roots."""
        found: set[int] = set()
        waiting = list(roots)
        while waiting:
            fresh = [pid for pid in self.children.get(waiting.pop(), ()) if pid not in found]
            found.update(fresh)
            waiting.extend(fresh)
        return found

    def inside(self, outer: int, layers: int) -> Seen | None:
        """Give the process so many generations below, always by the oldest child; None when there is none."""
        for _ in range(layers):
            children = [self.seen[pid] for pid in self.children.get(outer, [])]
            if not children:
                return None
            outer = min(children, key=lambda seen: (seen.start, seen.pid)).pid
        return self.seen.get(outer)

    def marked(self, fits: Callable[[str], bool]) -> set[int]:
        """Give every process whose marker fits, and what stands below it."""
        if not self.markers:
            self.markers = {pid: marker_of(pid) for pid in self.seen}
        found = {pid for pid, marker in self.markers.items() if marker and fits(marker)}
        return found | self.below(found)

    def untouchable(self) -> set[int]:
        """Give what must never be signalled: init, ourselves, our own ancestors."""
        chain = {0, 1}
        pid = os.getpid()
        while pid not in chain:
            chain.add(pid)
            pid = self.seen[pid].ppid if pid in self.seen else 0
        return chain


def kill_exactly(seen: Seen, signum: int) -> bool:
    """Signal that very process and never one that got its number later; False when we may not."""
    fd = open_pidfd(seen.pid)
    try:
        now = look(seen.pid)
        if now is None or now.start != seen.start:
            return True
        if fd < 0:
            os.kill(seen.pid, signum)
        else:
            signal.pidfd_send_signal(fd, signum)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    finally:
        close_all([fd] if fd >= 0 else [])
    return True


def open_pidfd(pid: int) -> int:
    """Open a handle on a process; -1 where there are none, then the look before the kill must do."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1


class Sweep:
    """Kills what a choice picks from the process table, until two scans in a row find nothing of it."""

    def __init__(self, choose: Callable[[Table], set[int]]) -> None:
        self.choose = choose
        self.killed: set[int] = set()
        self.survivors: set[int] = set()
        self.empty = 0
        self.deadline = time.monotonic() + SWEEP_S

    def step(self, table: Table) -> bool:
        """Kill what a fresh table shows; True when the sweep is over. Wait `PAUSE_S` between two steps.

        Parents die before their children, so that no script gets to its next line because one is gone.
        """
        chosen = (self.choose(table) & table.seen.keys()) - table.untouchable()
        oldest_first = sorted((table.seen[pid] for pid in chosen), key=lambda seen: (seen.start, seen.pid))
        self.survivors = {seen.pid for seen in oldest_first if not kill_exactly(seen, signal.SIGKILL)}
        self.killed |= chosen - self.survivors
        self.empty = self.empty + 1 if chosen == self.survivors else 0
        if self.empty < 2 and time.monotonic() > self.deadline:
            self.survivors = chosen
            return True
        return self.empty >= 2


def kill_group(group: int) -> None:
    """Kill a process group, where that is all we can name."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # nobody left in it, or nobody of ours
