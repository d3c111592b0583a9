"""The keeper's program as a process: how it is started, and how its end is seen."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from .birth import FILES
from .spawn import Exit
from .table import kill_exactly, look, open_pidfd

LOOK_AGAIN: Final = 0.02  # where there are no pidfds
SOURCE: Final = Path(__file__).with_name("keeper.py")

log = logging.getLogger(__name__)


_own_files: int | None = None
"""The soft limit of open files that we had before it was raised."""


def allow_files() -> None:
    """Raise the soft limit of open files to the hard limit, for this process and not for its agents.

    Programs that use select(2) fail with high descriptors: a keeper gives agents the limit that we were started with.
    """
    global _own_files  # noqa: PLW0603 - a limit belongs to the process
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError) as problem:  # macOS refuses "unlimited"
        log.warning("the limit of open files stays at %d: %s", soft, problem)
    else:
        _own_files = soft


def launch_keeper(fd: int, marker: str, state_dir: Path | None, *, keep: bool = False) -> subprocess.Popen[bytes]:
    """Start the keeper program: a session of its own, an empty environment, none of our descriptors but one.

    One that is to `keep` forks, and is nobody's child; what is returned then ends at once.
    """
    argv = [sys.executable, "-I", "-S", str(SOURCE), str(fd), marker]
    if state_dir is not None:
        (state_dir / "keepers").mkdir(mode=0o700, parents=True, exist_ok=True)
        argv.append(str(state_dir.absolute()))
    if keep:
        argv.append("keep")
    null = subprocess.DEVNULL
    env = {} if _own_files is None else {FILES: str(_own_files)}
    return subprocess.Popen(
        argv, env=env, cwd="/", pass_fds=[fd], start_new_session=True, stdin=null, stdout=null, stderr=null
    )


class Program:
    """One process that is a keeper: a child of ours, or anybody's, known by its number and its start."""

    def __init__(self, pid: int, *, start_time: int = 0, child: subprocess.Popen[bytes] | None = None) -> None:
        self.pid = pid
        self._start_time = start_time
        self._child = child
        self._loop = asyncio.get_running_loop()

    @property
    def over(self) -> bool:
        """Whether it has ended; a child is reaped by that."""
        if self._child is not None:
            return self._child.poll() is not None
        seen = look(self.pid)
        return seen is None or seen.start != self._start_time

    def ending(self) -> Exit | None:
        """How it ended, where that can be known: of a child of ours."""
        code = self._child.returncode if self._child is not None else None
        if code is None:
            return None
        return Exit(signal=-code) if code < 0 else Exit(code=code)

    def signal(self, signum: int) -> None:
        """Signal that very process, and never one that got its number later."""
        if self._child is not None:
            self._child.send_signal(signum)
        elif (seen := look(self.pid)) is not None and seen.start == self._start_time:
            kill_exactly(seen, signum)

    def kill(self) -> None:
        """End it by force."""
        self.signal(signal.SIGKILL)

    async def ended(self, patience: float) -> bool:
        """Wait for its end; False when it does not come."""
        until = self._loop.time() + patience
        fd = -1 if self.over else open_pidfd(self.pid)
        if fd >= 0:
            over: asyncio.Future[None] = self._loop.create_future()
            self._loop.add_reader(fd, over.cancel)
            try:
                await asyncio.wait([over], timeout=patience)
            finally:
                self._loop.remove_reader(fd)
                os.close(fd)
        while not self.over and self._loop.time() < until:  # noqa: ASYNC110  nothing else can tell
            await asyncio.sleep(LOOK_AGAIN)
        return self.over
