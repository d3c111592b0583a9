"""Locks between processes: one holder per key, known by name, freed by the kernel when it dies."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import re
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from footplate.errors import LockHeld

from .table import start_time

FIRST_PAUSE: Final = 0.02
LAST_PAUSE: Final = 0.2
LEFT_S: Final = 2.0  # how long a lock may outlive its holder before it is taken for one that was left to the keeper


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a lock, as written in its file."""

    pid: int
    start_time: int
    what: str

    @property
    def dead(self) -> bool:
        """Whether it is gone. What it holds all the same it has left to the keeper, together with an agent."""
        return start_time(self.pid) != self.start_time

    def describe(self) -> str:
        """Say it in a few words."""
        if self.dead:
            return "an agent that goes on without its service, under the keeper: `footplate doctor` shows it"
        return f"{self.what} (pid {self.pid})"


class SessionLock:
    """An exclusive lock on a key: between processes, and between two tasks of one.

    The lock is flock's, on a file of its own under `folder`; the file's content only tells who holds it.
    The kernel frees it when the holder dies, so a file that is left over means nothing.
    """

    def __init__(self, folder: str | Path, key: str, *, what: str = "footplate", wait: bool = False) -> None:
        self.key = key
        self.path = Path(folder) / lock_name(key)
        self._what = what
        self._wait = wait
        self._fd = -1

    @property
    def held(self) -> bool:
        """Tell whether this object holds the lock."""
        return self._fd >= 0

    async def acquire(self, *, wait: bool = False, left_s: float | None = None) -> None:
        """Take the lock; when it is held, wait for it or raise `LockHeld` with the holder's name.

        One that an agent has whose service is gone is waited for no longer than `left_s`: it may go on for long.
        """
        patience = LEFT_S if left_s is None else left_s
        if self.held:
            raise RuntimeError(f"this lock on {self.key} is taken already")
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        pause = FIRST_PAUSE
        dead_s = 0.0
        while not self._try():
            holder = self.holder()
            left = holder is not None and holder.dead
            dead_s = dead_s + pause if left else 0.0
            if not wait or dead_s > patience:
                raise LockHeld(self.key, holder.describe() if holder else "another process", left=left)
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, LAST_PAUSE)

    @property
    def fd(self) -> int:
        """The descriptor that holds it; whoever has a copy of it holds the lock as well. -1 when it is not held."""
        return self._fd

    def adopt(self, fd: int) -> None:
        """Go on with a lock that another process has held, by a copy of its descriptor, which is ours from here on."""
        if self.held:
            raise RuntimeError(f"this lock on {self.key} is taken already")
        self._sign(fd)
        self._fd = fd

    def give_to(self, other: SessionLock) -> bool:
        """Let `other` hold what this holds, if it is the lock on that key; False when it is not.

        The descriptor that a keeper gives back may be of another key than the one that is written down: a service that
        was killed had locked a new key and not stored it.
        """
        if not (self.held and other._is_current(self._fd)):
            return False
        other.adopt(self._fd)
        self._fd = -1
        return True

    def leave(self) -> None:
        """Let go of it without freeing it: who has a copy of the descriptor holds it on."""
        if self.held:
            os.close(self._fd)
            self._fd = -1

    def release(self) -> None:
        """Free the lock and remove its file; does nothing when it is not held."""
        if self.held:
            if self._is_current(self._fd):
                self.path.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = -1

    def holder(self) -> Holder | None:
        """Read who holds the lock, or held it last; None when that is not written there."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=Holder)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    async def __aenter__(self) -> Self:
        await self.acquire(wait=self._wait)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _try(self) -> bool:
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._is_current(fd):
                self._sign(fd)
                self._fd, fd = fd, -1
        except BlockingIOError:
            return False
        finally:
            if fd >= 0:
                os.close(fd)
        return self.held

    def _is_current(self, fd: int) -> bool:
        """Tell whether the file we locked is still the one at the path: a releasing holder removes it."""
        try:
            return os.path.samestat(os.fstat(fd), self.path.stat())
        except FileNotFoundError:
            return False

    def _sign(self, fd: int) -> None:
        holder = Holder(pid=os.getpid(), start_time=start_time(os.getpid()), what=self._what)
        os.ftruncate(fd, 0)
        os.pwrite(fd, msgspec.json.encode(holder), 0)


def lock_name(key: str) -> str:
    """Name the file of a key: readable as far as it can be, and no two alike."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", key)[:40].strip(".-")
    return f"{readable}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.lock"
