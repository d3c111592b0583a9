"""What a session takes from the machine it runs on: clocks, ids, threads, locks, memory, and the limits of its buffers.

One value, injected through `Services`, so that the simulator (`tests/simulation`) replaces all of it at once: nothing
in the session core may ask the machine directly, or a run could not be repeated.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import msgspec

from footplate.host.locks import SessionLock
from footplate.runtime import unstored
from footplate.runtime.memory import memory_is_short
from footplate.runtime.unstored import Unstored
from footplate.ulid import new_ulid

P = ParamSpec("P")
T = TypeVar("T")


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes and intervals of the session core that are not settings."""

    reader_bytes: int = 1_000_000
    """How much may wait for one live reader before it is sent back to its cursor."""

    page_rows: int = 500
    """How many events are read from the store at a time."""

    backlog_bytes: int = 4 * 1024 * 1024
    """How much of an agent's output may wait as unread events before its pipe is left alone."""

    stdin_bytes: int = 8 * 1024 * 1024
    """How much may wait to be written to an agent that does not read, besides the frame that is being written."""

    write_s: float = 30.0
    """How long an agent may take to read one frame before it counts as one that does not read."""

    interrupt_s: float = 10.0
    """How long an agent that does not read may take to read an interrupt before its process is ended."""

    start_s: float = 60.0
    """How long the start of an agent process may take, the keeper's part included."""

    rejoin_s: float = 30.0
    """How long an agent process that was reattached may take to answer before it is ended."""

    store_retry_s: float = 30.0
    """How long events of an agent that cannot be stored are tried again before the session is given up."""

    settle_s: float = 3.0
    """How long a piece of work may take to end when its session is released: it may hang on a start or an agent."""

    stop_s: float = 10.0
    """How long a session may take to be released; then its tasks are cancelled."""

    wake_s: float = 1.0
    """The first pause before a session that has work left, and could not be woken, is tried again."""

    sweep_s: float = 5.0
    """Between two looks for agents and sessions that have been idle for too long."""

    unused_s: float = 60.0
    """How long a session without agent, reader, timer and caller stays in memory."""

    housekeeping_first_s: float = 60.0
    """The time between the start of the service and its first housekeeping: a service that starts has enough to do."""

    housekeeping_every_s: float = 600.0
    """How often a job of housekeeping is run, unless it says otherwise."""


class Surroundings:
    """The machine as sessions see it."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self.bounds = bounds or Bounds()

    def time(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""
        return time.monotonic()

    def new_id(self) -> str:
        """A new ULID."""
        return new_ulid()

    def new_uuid(self) -> str:
        """A new random UUID."""
        return str(uuid.uuid4())

    async def blocking(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function that waits for the disk in a thread."""
        return await asyncio.to_thread(function, *args, **kwargs)

    def lock_on(self, folder: Path, key: str, what: str) -> SessionLock:
        """A lock between processes, not yet acquired."""
        return SessionLock(folder, key, what=what)

    def memory_is_short(self) -> bool:
        """Whether idle agents should be ended to free memory."""
        return memory_is_short()

    def open_mark(self, data: Path, session: str) -> Unstored:
        """The mark that shows the next service whether output of the session's agent was read and not stored."""
        return Unstored(data, session)

    def is_whole(self, data: Path, session: str) -> bool:
        """Whether all output that was read from the session's agent is stored."""
        return unstored.is_whole(data, session)

    def forget_mark(self, data: Path, session: str) -> None:
        """Remove the mark of an agent that is gone."""
        unstored.forget(data, session)
