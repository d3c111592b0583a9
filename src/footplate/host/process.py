"""The service's side of one keeper: spawn agents through it, take over those that it keeps, end them or leave them.

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
from collections.abc import Callable, Generator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, assert_never

import msgspec

from footplate.errors import KeeperBusy, KeeperGone, KeeperRefused, SpawnFailed
from footplate.tasks import spawn

from . import channel
from .channel import Channel, close_all
from .child import Process
from .messages import (
    Attached,
    Busy,
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
    Taken,
    Welcome,
    decode_message,
)
from .pipes import HIGH_WATER
from .program import Program, launch_keeper
from .spawn import Exit, Spawn
from .spool import LIMIT
from .sweep import sweep_marked

__all__ = ["Exit", "Keeper", "Process", "Spawn", "Starting"]

HELLO_WAIT: Final = 20.0
BIRTH_WAIT: Final = 30.0  # how long a keeper may take to start a program; one that is stopped answers nothing
FAREWELL_WAIT: Final = 10.0  # how long a keeper may take to end everything before it is killed
LEAVE_WAIT: Final = 5.0  # how long a frame that is written in part, and what is given back, may take
LEFT: Final = "it was left"

log = logging.getLogger(__name__)


class Birth(msgspec.Struct, kw_only=True):
    """A spawn, or an attachment, on its way: what was asked, and who waits for it."""

    spec: Spawn
    high_water: int
    make: Callable[..., Process]
    process: asyncio.Future[Process]


class Keeping(msgspec.Struct, frozen=True, kw_only=True):
    """What a keeper is told about keeping: for how long without a service, and how much of each agent's output."""

    grace_s: float = 0.0
    spool_limit: int = LIMIT


class Keeper:
    """The keeper as the service sees it: `async with Keeper.start() as keeper`, or `await` it and `close`.

    One that `keeps` (of `keepers.py`) can be left as well: it goes on with its agents, for the time it was told.
    """

    def __init__(self, sock: socket.socket, *, program: Program | None = None, folder: Path | None = None) -> None:
        self.marker = ""
        self.version = 0
        self.start_time = 0
        self._program = program
        self._folder = folder
        self._channel = Channel(sock)
        self._loop = asyncio.get_running_loop()
        self._names = (f"{secrets.token_hex(4)}-{n}" if folder else str(n) for n in itertools.count(1))
        self._births: dict[str, Birth] = {}
        self._processes: dict[str, Process] = {}
        self._listings: list[asyncio.Future[Listed]] = []
        self._hello: asyncio.Future[Hello] = self._loop.create_future()
        self._greeted: asyncio.Future[None] = self._loop.create_future()
        self._gone: str | None = None
        self._burial: asyncio.Task[None] | None = None
        self._loop.add_reader(sock.fileno(), self._on_readable)

    @staticmethod
    def start(*, state_dir: str | Path | None = None) -> Starting:
        """Start a keeper that goes with us; in `state_dir` it leaves a record of itself for `sweep_leftovers`."""
        return Starting(Path(state_dir) if state_dir is not None else None)

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._program.pid if self._program else 0

    @property
    def gone(self) -> str | None:
        """Why it is not there any more; None as long as it is."""
        return self._gone

    @property
    def keeps(self) -> bool:
        """Whether it can outlive us."""
        return self._folder is not None

    # ------------------------------------------------------------------------------------------- asking

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
        name = next(self._names)
        asked = {"type": "spawn", "id": name, "sweep_on_exit": sweep_on_exit, "marker": spec.marker}
        bounds = {"limits": spec.limits, "oom_score_adj": spec.oom_score_adj, "layers": spec.layers, "tty": spec.tty}
        keeping = {"kept": spec.kept, "about": spec.about, "whole": spec.whole} if self.keeps else {}
        request = {**asked, **bounds, **keeping, "argv": spec.argv, "env": spec.env, "cwd": spec.cwd}
        return await self._await_birth(request, spec, high_water, make)

    async def take(
        self, agent: KeptAgent, *, high_water: int = HIGH_WATER, make: Callable[..., Process] = Process
    ) -> Process:
        """Take over an agent that it keeps: first what the spool holds is read, then the pipe itself.

        Raises `SpawnFailed` when the keeper does not have it, or we have it already.
        """
        request: dict[str, object] = {"type": "attach", "id": agent.id}
        spec = Spawn(argv=(agent.program,), env={}, cwd="/", layers=agent.layers)
        return await self._await_birth(request, spec, high_water, make)

    async def _await_birth(
        self, request: dict[str, object], spec: Spawn, high_water: int, make: Callable[..., Process]
    ) -> Process:
        self._check()
        birth = Birth(spec=spec, high_water=high_water, make=make, process=self._loop.create_future())
        self._births[str(request["id"])] = birth
        self._ask(request)
        try:
            async with asyncio.timeout(BIRTH_WAIT):
                return await birth.process
        except TimeoutError:  # one that is stopped, or whose machine hangs; what it starts later is ended at once
            reason = f"the keeper did not answer within {BIRTH_WAIT:g} s"
            raise SpawnFailed(spec.argv[0], errno.ETIMEDOUT, reason, stage="keeper") from None
        except asyncio.CancelledError:
            if birth.process.done() and not birth.process.cancelled() and not birth.process.exception():
                birth.process.result().begin_end(close_wait=0, term_wait=0)
            raise

    async def agents(self) -> tuple[KeptAgent, ...]:
        """Ask the keeper what it keeps."""
        return (await self.look()).agents

    async def look(self) -> Listed:
        """Ask the keeper for all that it tells of itself."""
        self._check()
        listing: asyncio.Future[Listed] = self._loop.create_future()
        self._listings.append(listing)
        self._ask({"type": "list"})
        return await listing

    def retire(self) -> None:
        """Ask it to go with its last agent, and to make room for another keeper."""
        self._ask({"type": "retire"})

    def end(self, agent: KeptAgent, *, term_s: float = 1.0) -> None:
        """End an agent that nobody has taken over, and forget what it said."""
        self._ask({"type": "note", "id": agent.id, "kept": False})
        self._ask({"type": "end", "id": agent.id, "term_s": term_s, "kill_s": 2.0})

    async def close(self) -> None:
        """End every agent, then the keeper; goes through though the caller be cancelled. One that was left is left."""
        if self._gone == LEFT:
            return
        if self._gone is None:
            if self.keeps:
                self._ask({"type": "close"})
            self._lose("it was closed")
            if not self.keeps:
                self._channel.sock.shutdown(socket.SHUT_WR)
        await asyncio.shield(self._bury())

    async def leave(self) -> None:
        """Let go of the keeper and its agents without ending them; what nobody has read yet goes back to it.

        Of one that does not keep, this is `close`. Whatever `Process.read` has given is not given again.
        """
        if not self.keeps or self._gone is not None:
            await self.close()
            return
        await self._patiently(lambda: not any(process.torn for process in self._processes.values()))
        for process in list(self._processes.values()):
            process.leave()
        await self._patiently(self._channel.flush)
        await self.drop()

    async def _patiently(self, fact: Callable[[], bool]) -> None:
        until = self._loop.time() + LEAVE_WAIT
        while not fact() and self._loop.time() < until:  # noqa: ASYNC110  neither has an event
            await asyncio.sleep(0.005)

    async def drop(self) -> None:
        """Hang up, without a word."""
        if self._burial is not None:
            await asyncio.shield(self._burial)
            return
        self._lose(LEFT)
        self._loop.remove_reader(self._channel.sock.fileno())
        self._loop.remove_writer(self._channel.sock.fileno())
        self._channel.close()

    # ------------------------------------------------------------------------------------------- the first words

    async def greet(self, keeping: Keeping | None = None, *, role: str = "driver") -> None:
        """Exchange the first words. Raises `KeeperBusy`, `KeeperRefused` (of its version), `KeeperGone`."""
        told = msgspec.to_builtins(keeping or Keeping())
        self._ask({"type": "hello", "v": channel.VERSION, "min": channel.OLDEST, "role": role, **told})
        try:
            async with asyncio.timeout(HELLO_WAIT):
                hello = await self._hello
                self.marker, self.version, self.start_time = hello.marker, hello.v, hello.start_time
                if self._program is None:
                    self._program = Program(hello.pid, start_time=hello.start_time)
                await self._greeted
        except TimeoutError:
            raise KeeperGone(f"it said nothing for {HELLO_WAIT:.0f} s") from None

    def _check(self) -> None:
        if self._gone is not None:
            raise KeeperGone(self._gone)

    def _ask(self, request: dict[str, object], fds: tuple[int, ...] = ()) -> None:
        """Send a request; when the keeper is gone its burial answers in its place. Descriptors are ours no more."""
        if self._gone is None:
            self._channel.send(request, fds)
            self._flush()
        else:
            close_all(fds)

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

    # ------------------------------------------------------------------------------------------- hearing

    def _on_message(self, message: Message, fds: list[int]) -> None:
        match message:
            case Hello() | Welcome() | Busy() | Taken():
                self._on_greeting(message)
            case Spawned() | Attached():
                self._on_born(message, fds)
            case NotSpawned():
                self._fail(message.id, message.errno, message.reason, message.stage)
            case Exited() if process := self._processes.get(message.id):
                process.take_exit(Exit(code=message.code, signal=message.signal))
            case SweptAway() if process := self._processes.get(message.id):
                process.take_swept(message.pids, message.survivors)
            case Listed():
                self._listings.pop(0).set_result(message)
            case Refused():
                self._on_refused(message)
            case Crashed():
                self._lose(f"it crashed: {message.reason}")
            case Exited() | SweptAway():
                pass  # of a process whose spawn was given up
            case _:
                assert_never(message)

    def _on_greeting(self, message: Hello | Welcome | Busy | Taken) -> None:
        match message:
            case Hello() if not self._hello.done():
                self._hello.set_result(message)
            case Welcome() if not self._greeted.done():
                self._greeted.set_result(None)
            case Busy() | Taken() if not self._greeted.done():
                self._greeted.set_exception(KeeperBusy(message.pid))
                if not self._hello.done():
                    self._hello.set_exception(KeeperBusy(message.pid))

    def _on_refused(self, message: Refused) -> None:
        if not self._greeted.done():
            self._greeted.set_exception(KeeperRefused(message.reason))
            return
        log.error("the keeper refused a request: %s", message.reason)
        self._fail(message.id, errno.EINVAL, message.reason, "exec")

    def _on_born(self, told: Spawned | Attached, fds: list[int]) -> None:
        birth = self._births.pop(told.id, None)
        wanted = 5 + told.locked if isinstance(told, Attached) else 3
        if birth is None or birth.process.done() or len(fds) != wanted:
            close_all(fds)
            self._ask({"type": "end", "id": told.id, "term_s": 0, "kill_s": 1})
            if birth and not birth.process.done():
                lost = SpawnFailed(birth.spec.argv[0], errno.EMFILE, os.strerror(errno.EMFILE), stage="pipe")
                birth.process.set_exception(lost)
            return
        process = birth.make(
            birth.spec,
            told,
            fds,
            ask=self._ask,
            on_released=self._forget,
            high_water=birth.high_water,
            keeps=self.keeps,
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

    # ------------------------------------------------------------------------------------------- its end

    def _lose(self, reason: str) -> None:
        """From here on there is no keeper; whoever waits for its word learns so."""
        self._gone = reason
        births, self._births = self._births, {}
        listings, self._listings = self._listings, []
        waiters: list[asyncio.Future[Any]] = [birth.process for birth in births.values()]
        for waiting in [*waiters, *listings, self._hello, self._greeted]:
            if not waiting.done():
                waiting.set_exception(KeeperGone(reason))
                waiting.exception()  # whoever awaits it gets it; if nobody does, that is well, too

    def _bury(self) -> asyncio.Task[None]:
        if self._burial is None:
            self._burial = spawn(self._burying(), name=f"bury keeper {self.pid}")
        return self._burial

    async def _burying(self) -> None:
        """See the keeper to its end; when it did not end in order, sweep in its place."""
        program = self._program
        if program is not None and not await program.ended(FAREWELL_WAIT):
            log.error("the keeper (pid %d) did not end in %.0f s: killed", self.pid, FAREWELL_WAIT)
            program.kill()
            await program.ended(FAREWELL_WAIT)
        self._on_readable()
        self._channel.close()
        for process in self._processes.values():
            process.take_exit(Exit(reason=f"the keeper is gone: {self._gone}"))
        if not self._ended_in_order():
            await self._sweep_after(program.ending() if program else None)
        for process in list(self._processes.values()):
            process.take_swept()
            process.close_pipes()

    def _ended_in_order(self) -> bool:
        """Whether nothing was left for us to do: it says so by its exit code, or by taking its record away."""
        if self._folder is not None:
            return not (self._folder / f"{self.pid}-{self.start_time}.json").exists()
        ending = self._program.ending() if self._program else None
        return ending is not None and ending.code == 0

    async def _sweep_after(self, ending: Exit | None) -> None:
        how = ending.describe() if ending else "killed"
        self._gone = f"{self._gone} ({how})"
        log.error("the keeper (pid %d) is gone: %s", self.pid, how)
        markers = {process.marker for process in self._processes.values()}
        swept = await asyncio.to_thread(sweep_marked, markers, keeper=self.marker)
        if swept.survivors:
            log.error("processes that could not be killed: %s", swept.survivors)


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
        keeper = Keeper(ours, program=Program(child.pid, child=child))
        keeper.marker = marker
        try:
            await keeper.greet()
        except BaseException:
            await keeper.close()
            raise
        return keeper
