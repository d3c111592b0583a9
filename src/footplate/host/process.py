"""The service's side of the keeper: start it, spawn agents through it, end them all.

`Keeper` is the handle on the keeper program (`keeper.py`), `Process` (of `child.py`) on one agent. No thread
belongs to any child: pipes, socket and the keeper's own end are watched by the event loop.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import logging
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, assert_never

import msgspec

from footplate.errors import KeeperGone, SpawnFailed

from .channel import Channel, close_all
from .child import Process
from .messages import (
    Crashed,
    Exited,
    Hello,
    KeptAgent,
    Listed,
    Message,
    NotSpawned,
    Refused,
    Spawned,
    SweptAway,
    decode_message,
)
from .pipes import HIGH_WATER
from .spawn import Exit, Spawn
from .sweep import sweep_marked
from .table import open_pidfd

__all__ = ["Exit", "Keeper", "Process", "Spawn", "Starting"]

HELLO_WAIT: Final = 20.0
FAREWELL_WAIT: Final = 10.0  # how long a keeper may take to end everything before it is killed
LOOK_AGAIN: Final = 0.02  # where there are no pidfds
PROGRAM: Final = Path(__file__).with_name("keeper.py")

log = logging.getLogger(__name__)


class Birth(msgspec.Struct, kw_only=True):
    """A spawn on its way: what was asked, and who waits for it."""

    spec: Spawn
    high_water: int
    make: Callable[..., Process]
    process: asyncio.Future[Process]


class Keeper:
    """The keeper as the service sees it: `async with Keeper.start() as keeper`, or `await` it and `close`."""

    def __init__(self, child: subprocess.Popen[bytes], sock: socket.socket, marker: str) -> None:
        self.marker = marker
        self.pid = child.pid
        self._child = child
        self._channel = Channel(sock)
        self._loop = asyncio.get_running_loop()
        self._ids = itertools.count(1)
        self._births: dict[str, Birth] = {}
        self._processes: dict[str, Process] = {}
        self._listings: list[asyncio.Future[tuple[KeptAgent, ...]]] = []
        self._greeted: asyncio.Future[None] = self._loop.create_future()
        self._gone: str | None = None
        self._burial: asyncio.Task[None] | None = None
        self._loop.add_reader(sock.fileno(), self._on_readable)

    @staticmethod
    def start(*, state_dir: str | Path | None = None) -> Starting:
        """Start a keeper; in `state_dir` it leaves a record of itself for `sweep_leftovers`."""
        return Starting(Path(state_dir) if state_dir is not None else None)

    @property
    def gone(self) -> str | None:
        """Why it is not there any more; None as long as it is."""
        return self._gone

    async def spawn(
        self,
        spec: Spawn,
        *,
        sweep_on_exit: bool = True,
        high_water: int = HIGH_WATER,
        make: Callable[..., Process] = Process,
    ) -> Process:
        """Start a program; raises `SpawnFailed`, or `KeeperGone` when there is no keeper to do it.

        `make` makes the handle on it: another kind of `Process` reads its pipes in another way.
        """
        self._check()
        name = str(next(self._ids))
        birth = Birth(spec=spec, high_water=high_water, make=make, process=self._loop.create_future())
        self._births[name] = birth
        asked = {"type": "spawn", "id": name, "sweep_on_exit": sweep_on_exit, "marker": spec.marker}
        bounds = {"limits": spec.limits, "oom_score_adj": spec.oom_score_adj, "layers": spec.layers, "tty": spec.tty}
        self._ask({**asked, **bounds, "argv": spec.argv, "env": spec.env, "cwd": spec.cwd})
        try:
            return await birth.process
        except asyncio.CancelledError:
            if birth.process.done() and not birth.process.cancelled() and not birth.process.exception():
                birth.process.result().begin_end(close_wait=0, term_wait=0)
            raise

    async def agents(self) -> tuple[KeptAgent, ...]:
        """Ask the keeper what it keeps."""
        self._check()
        listing: asyncio.Future[tuple[KeptAgent, ...]] = self._loop.create_future()
        self._listings.append(listing)
        self._ask({"type": "list"})
        return await listing

    async def close(self) -> None:
        """End every agent, then the keeper; goes through though the caller be cancelled."""
        if self._gone is None:
            self._lose("it was closed")
            self._channel.sock.shutdown(socket.SHUT_WR)
        await asyncio.shield(self._bury())

    async def greet(self) -> None:
        """Exchange the first words."""
        self._ask({"type": "hello", "v": 1})
        try:
            async with asyncio.timeout(HELLO_WAIT):
                await self._greeted
        except TimeoutError:
            raise KeeperGone(f"it said nothing for {HELLO_WAIT:.0f} s") from None

    def _check(self) -> None:
        if self._gone is not None:
            raise KeeperGone(self._gone)

    def _ask(self, request: dict[str, object]) -> None:
        """Send a request; when the keeper is gone its burial answers in its place."""
        if self._gone is None:
            self._channel.send(request)
            self._flush()

    def _flush(self) -> None:
        fd = self._channel.sock.fileno()
        if not self._channel.flush():
            self._loop.add_writer(fd, self._flush)
            return
        self._loop.remove_writer(fd)
        if not self._channel.writable:
            self._on_closed()

    def _on_readable(self) -> None:
        for payload, fds in self._channel.receive():
            self._on_message(decode_message(payload), fds)
        if not self._channel.open:
            self._on_closed()

    def _on_closed(self) -> None:
        self._loop.remove_reader(self._channel.sock.fileno())
        self._loop.remove_writer(self._channel.sock.fileno())
        if self._gone is None:
            self._lose("its socket is closed")
        self._bury()

    def _on_message(self, message: Message, fds: list[int]) -> None:
        match message:
            case Hello():
                self._settle(self._greeted)
            case Spawned():
                self._on_spawned(message, fds)
            case NotSpawned():
                self._fail(message.id, message.errno, message.reason, message.stage)
            case Exited() if process := self._processes.get(message.id):
                process.take_exit(Exit(code=message.code, signal=message.signal))
            case SweptAway() if process := self._processes.get(message.id):
                process.take_swept(message.pids, message.survivors)
            case Listed():
                self._listings.pop(0).set_result(message.agents)
            case Refused():
                log.error("the keeper refused a request: %s", message.reason)
                self._fail(message.id, errno.EINVAL, message.reason, "exec")
            case Crashed():
                self._lose(f"it crashed: {message.reason}")
            case Exited() | SweptAway():
                pass  # of a process whose spawn was given up
            case _:
                assert_never(message)

    def _settle(self, waiting: asyncio.Future[None]) -> None:
        if not waiting.done():
            waiting.set_result(None)

    def _on_spawned(self, told: Spawned, fds: list[int]) -> None:
        birth = self._births.pop(told.id, None)
        if birth is None or birth.process.done() or len(fds) != 3:
            close_all(fds)
            self._ask({"type": "end", "id": told.id, "term_s": 0, "kill_s": 1})
            if birth and not birth.process.done():
                lost = SpawnFailed(birth.spec.argv[0], errno.EMFILE, os.strerror(errno.EMFILE), stage="pipe")
                birth.process.set_exception(lost)
            return
        process = birth.make(
            birth.spec, told, fds, ask=self._ask, on_released=self._forget, high_water=birth.high_water
        )
        self._processes[told.id] = process
        birth.process.set_result(process)

    def _fail(self, name: str | None, number: int, reason: str, stage: str) -> None:
        birth = self._births.pop(name, None) if name is not None else None
        if birth and not birth.process.done():
            program = birth.spec.argv[0] if birth.spec.argv else ""
            birth.process.set_exception(SpawnFailed(program, number, reason, stage=stage))

    def _forget(self, name: str) -> None:
        self._processes.pop(name, None)

    def _lose(self, reason: str) -> None:
        """From here on there is no keeper; whoever waits for its word learns so."""
        self._gone = reason
        births, self._births = self._births, {}
        listings, self._listings = self._listings, []
        waiters: list[asyncio.Future[Any]] = [birth.process for birth in births.values()]
        for waiting in [*waiters, *listings, self._greeted]:
            if not waiting.done():
                waiting.set_exception(KeeperGone(reason))

    def _bury(self) -> asyncio.Task[None]:
        if self._burial is None:
            self._burial = asyncio.create_task(self._burying(), name=f"bury keeper {self.pid}")
        return self._burial

    async def _burying(self) -> None:
        """See the keeper to its end; when it did not end in order, sweep in its place."""
        if not await self._ended(FAREWELL_WAIT):
            log.error("the keeper (pid %d) did not end in %.0f s: killed", self.pid, FAREWELL_WAIT)
            self._child.kill()
            await self._ended(FAREWELL_WAIT)
        self._on_readable()
        self._channel.close()
        code = self._child.returncode
        for process in self._processes.values():
            process.take_exit(Exit(reason=f"the keeper is gone: {self._gone}"))
        if code != 0:
            await self._sweep_after(code)
        for process in list(self._processes.values()):
            process.take_swept()
            process.close_pipes()

    async def _sweep_after(self, code: int | None) -> None:
        ending = Exit(signal=-code) if code is not None and code < 0 else Exit(code=code)
        self._gone = f"{self._gone} ({ending.describe()})"
        log.error("the keeper (pid %d) is gone: %s", self.pid, ending.describe())
        markers = {process.marker for process in self._processes.values()}
        swept = await asyncio.to_thread(sweep_marked, markers, keeper=self.marker)
        if swept.survivors:
            log.error("processes that could not be killed: %s", swept.survivors)

    async def _ended(self, patience: float) -> bool:
        """Wait for the keeper's exit and reap it; False when it does not come."""
        until = self._loop.time() + patience
        fd = open_pidfd(self.pid) if self._child.returncode is None else -1
        if fd >= 0:
            ended: asyncio.Future[None] = self._loop.create_future()
            self._loop.add_reader(fd, self._settle, ended)
            try:
                await asyncio.wait([ended], timeout=patience)
            finally:
                self._loop.remove_reader(fd)
                os.close(fd)
        while self._child.poll() is None and self._loop.time() < until:  # noqa: ASYNC110  nothing else can tell
            await asyncio.sleep(LOOK_AGAIN)
        return self._child.returncode is not None


class Starting:
    """A keeper about to start: await it, or enter it."""

    def __init__(self, state_dir: Path | None) -> None:
        self._state_dir = state_dir
        self._keeper: Keeper | None = None

    def __await__(self) -> Generator[None, None, Keeper]:
        return self._start().__await__()

    async def __aenter__(self) -> Keeper:
        self._keeper = await self._start()
        return self._keeper

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._keeper is not None:
            await self._keeper.close()

    async def _start(self) -> Keeper:
        marker = secrets.token_hex(8)
        ours, theirs = socket.socketpair()
        try:
            child = launch_keeper(theirs.fileno(), marker, self._state_dir)
        except OSError as error:
            ours.close()
            raise KeeperGone(f"it could not be started: {error}") from error
        finally:
            theirs.close()
        keeper = Keeper(child, ours, marker)
        try:
            await keeper.greet()
        except BaseException:
            await keeper.close()
            raise
        return keeper


def launch_keeper(fd: int, marker: str, state_dir: Path | None) -> subprocess.Popen[bytes]:
    """Start the keeper program: a session of its own, no environment, none of our descriptors but one."""
    argv = [sys.executable, "-I", "-S", str(PROGRAM), str(fd), marker]
    if state_dir is not None:
        (state_dir / "keepers").mkdir(mode=0o700, parents=True, exist_ok=True)
        argv.append(str(state_dir.absolute()))
    null = subprocess.DEVNULL
    return subprocess.Popen(
        argv, env={}, cwd="/", pass_fds=[fd], start_new_session=True, stdin=null, stdout=null, stderr=null
    )
