"""The machine: what outlives the service. Disk, locks, memory of agents, and the ledger of what agents did."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from footplate.engines.mock.sessions import RamMemory
from footplate.errors import LockHeld
from tests.simulation.disk import Disk
from tests.simulation.loop import NODE

FIRST_PAUSE_S = 0.02
LAST_PAUSE_S = 0.2
LEFT_S = 2.0


class Holding(msgspec.Struct):
    """A lock that is held: by which nodes, and who took it last."""

    nodes: set[str]
    signed: str


class Locks:
    """Locks between processes: freed when every node that has a copy is dead, or by a release."""

    def __init__(self, is_dead: Callable[[str], bool]) -> None:
        self.is_dead = is_dead
        self.held: dict[str, Holding] = {}
        self.copies: dict[int, str] = {}
        """The key that each descriptor stands for."""
        self._next = 3

    def descriptor(self, key: str) -> int:
        """A new descriptor of a lock."""
        self._next += 1
        self.copies[self._next] = key
        return self._next

    def try_lock(self, key: str, node: str) -> bool:
        """Take it if nobody has it."""
        holding = self.held.get(key)
        if holding is not None and holding.nodes:
            return False
        self.held[key] = Holding({node}, node)
        return True

    def share(self, descriptor: int, node: str) -> None:
        """Another node has a copy of the descriptor from here on."""
        holding = self.held.get(self.copies[descriptor])
        if holding is not None:
            holding.nodes.add(node)

    def free(self, key: str) -> None:
        """Nobody has it."""
        self.held.pop(key, None)

    def leave(self, key: str, node: str) -> None:
        """One node lets go of its copy."""
        holding = self.held.get(key)
        if holding is not None:
            holding.nodes.discard(node)
            if not holding.nodes:
                del self.held[key]

    def drop_node(self, node: str) -> None:
        """A node has died: the kernel closes its descriptors."""
        for key in list(self.held):
            self.leave(key, node)


class SimLock:
    """The interface of `host.locks.SessionLock` on the machine's table."""

    def __init__(self, locks: Locks, key: str) -> None:
        self.key = key
        self._locks = locks
        self._fd = -1
        self._node = NODE.get()

    @property
    def held(self) -> bool:
        return self._fd >= 0

    @property
    def fd(self) -> int:
        return self._fd

    async def acquire(self, *, wait: bool = False, left_s: float | None = None) -> None:
        """As the real one does, pause by pause."""
        patience = LEFT_S if left_s is None else left_s
        if self.held:
            raise RuntimeError(f"this lock on {self.key} is taken already")
        pause, dead_s = FIRST_PAUSE_S, 0.0
        while not self._locks.try_lock(self.key, self._node):
            holding = self._locks.held[self.key]
            left = self._locks.is_dead(holding.signed)
            dead_s = dead_s + pause if left else 0.0
            if not wait or dead_s > patience:
                raise LockHeld(self.key, f"node {holding.signed}", left=left)
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, LAST_PAUSE_S)
        self._fd = self._locks.descriptor(self.key)

    def adopt(self, fd: int) -> None:
        holding = self._locks.held.setdefault(self._locks.copies[fd], Holding(set(), self._node))
        holding.nodes.add(self._node)
        holding.signed = self._node
        self._fd = fd

    def give_to(self, other: SimLock) -> bool:
        if not self.held or self._locks.copies[self._fd] != other.key:
            return False
        other.adopt(self._fd)
        self._fd = -1
        return True

    def leave(self) -> None:
        if self.held:
            self._locks.leave(self._locks.copies[self._fd], self._node)
            self._fd = -1

    def release(self) -> None:
        if self.held:
            self._locks.free(self._locks.copies[self._fd])
            self._fd = -1


class SimMark:
    """The interface of `runtime.unstored.Unstored`: True in the machine's table while something is not stored."""

    def __init__(self, marks: dict[str, bool], session: str) -> None:
        self._marks = marks
        self._session = session
        self._left = False
        marks[session] = True

    def set(self) -> None:
        if not self._left:
            self._marks[self._session] = True

    def clear(self) -> None:
        if not self._left:
            self._marks[self._session] = False

    def leave(self) -> None:
        self._left = True


class AgentLedger:
    """What agents were given and did, kept outside every node: nothing that crashes can forget it."""

    def __init__(self) -> None:
        self.kills: list[float] = []
        """When an agent was killed by the plan."""
        self.prompts: dict[int, list[str]] = {}
        """The agents that each prompt reached, by the number in its text."""
        self.ran: dict[str, int] = {}
        """How often each call was carried out."""
        self.answered: dict[str, int] = {}
        """How often each request got an answer that the agent took."""


class Machine:
    """Everything beside the service."""

    def __init__(self, clock: Callable[[], float], is_dead: Callable[[str], bool]) -> None:
        self.disk = Disk(clock)
        self.locks = Locks(is_dead)
        self.mock_memory = RamMemory()
        self.ledger = AgentLedger()
        self.short_of_memory = False
        self.marks: dict[str, bool] = {}
        self.scripts: dict[str, Any] = {}
        """The transcripts of scripted agents, by their session."""
