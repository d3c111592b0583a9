"""The keepers of a data folder that outlive the service: the current one, and older ones that still have agents.

`Keepers.open` finds those that an earlier service has left, takes them over, and starts one when there is none. A
keeper of another version is asked to retire: the agents that it has stay with it to their end, new ones begin under a
keeper of our own version.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from footplate.errors import KeeperBusy, KeeperGone, KeeperRefused

from . import channel
from .channel import Address
from .child import Process
from .messages import KeptAgent
from .pipes import HIGH_WATER
from .process import FAREWELL_WAIT, Keeper, Keeping
from .program import Program, launch_keeper
from .spawn import Spawn
from .sweep import Reaped, Record, collect_leftovers, read_records

TRIES: Final = 5
DYING_WAIT: Final = 1.0  # from SIGKILL to the end of a process, on a busy machine
FINAL_WAIT: Final = 15.0  # how long a keeper whose grace is over may take for the ladder and the sweep

log = logging.getLogger(__name__)


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that a keeper kept while no service was there."""

    agent: KeptAgent
    marker: str
    """Of the keeper that has it."""


class Keepers:
    """Every keeper that keeps agents for the services of one data folder. One service at a time drives them."""

    def __init__(self, data: Path, keeping: Keeping) -> None:
        self._data = data
        self._keeping = keeping
        self._keepers: list[Keeper] = []
        self._opening = asyncio.Lock()
        self.reaped = Reaped()
        """What was found left over, and ended or removed."""

    @classmethod
    async def open(cls, data: str | Path, *, grace_s: float, spool_limit: int | None = None) -> Keepers:
        """Take over the keepers of the folder, or start one. Raises `KeeperBusy` when another service drives them.

        What keepers that were killed have left is ended and removed first; `reaped` tells what it was.
        """
        keeping = Keeping(grace_s=grace_s) if spool_limit is None else Keeping(grace_s=grace_s, spool_limit=spool_limit)
        keepers = cls(Path(data), keeping)
        try:
            keepers.reaped = await asyncio.to_thread(collect_leftovers, keepers._data)
            for record in await asyncio.to_thread(read_records, keepers._data):
                if record.keeps and record.alive():
                    await keepers._take_over(record)
            await keepers._current()
        except BaseException:
            await keepers.leave()
            raise
        return keepers

    @property
    def current(self) -> Keeper | None:
        """The keeper under which new agents begin."""
        for keeper in self._keepers:
            if keeper.gone is None and keeper.version == channel.VERSION:
                return keeper
        return None

    @property
    def all(self) -> tuple[Keeper, ...]:
        """Every keeper that is there."""
        return tuple(keeper for keeper in self._keepers if keeper.gone is None)

    async def spawn(
        self,
        spec: Spawn,
        *,
        sweep_on_exit: bool = True,
        high_water: int = HIGH_WATER,
        make: Callable[..., Process] = Process,
    ) -> Process:
        """Start a program under the current keeper; one that was killed is replaced. Raises what `Keeper` raises."""
        keeper = await self._current()
        return await keeper.spawn(spec, sweep_on_exit=sweep_on_exit, high_water=high_water, make=make)

    async def held(self) -> tuple[Held, ...]:
        """The agents that wait to be taken over."""
        found: list[Held] = []
        for keeper in self.all:
            found += [Held(agent=each, marker=keeper.marker) for each in await keeper.agents() if not each.attached]
        return tuple(found)

    async def take(
        self, held: Held, *, high_water: int = HIGH_WATER, make: Callable[..., Process] = Process
    ) -> Process:
        """Take over one of them: its spool is read first, then its pipe. Raises what `Keeper.take` raises."""
        return await self._keeper_of(held).take(held.agent, high_water=high_water, make=make)

    def end(self, held: Held) -> None:
        """End one of them that nobody wants."""
        self._keeper_of(held).end(held.agent)

    async def leave(self) -> None:
        """Leave every keeper to itself: kept agents go on, for as long as the grace lasts."""
        for keeper in self._keepers:
            await keeper.leave()

    async def close(self) -> None:
        """End every agent of every keeper, and the keepers."""
        for keeper in self._keepers:
            await keeper.close()

    # ------------------------------------------------------------------------------------------- inside

    def _keeper_of(self, held: Held) -> Keeper:
        for keeper in self.all:
            if keeper.marker == held.marker:
                return keeper
        raise KeeperGone("it ended meanwhile")

    async def _current(self) -> Keeper:
        async with self._opening:
            for _ in range(TRIES):
                if (keeper := self.current) is not None:
                    return keeper
                try:
                    self._keepers.append(await self._start())
                except KeeperBusy as taken:  # by one that is about to go, or that has just been started
                    await self._wait_for(taken.pid)
            raise KeeperGone("the lock of the data folder is held, and nobody answers")

    async def _wait_for(self, pid: int) -> None:
        """Let the holder of the lock end, or take it over."""
        for record in await asyncio.to_thread(read_records, self._data):
            if record.pid == pid and record.alive():
                await self._take_over(record)
                return
        await asyncio.sleep(0.1)

    async def _take_over(self, record: Record) -> None:
        """Become the driver of a keeper that runs; one that ends is waited for, one that we cannot use is ended."""
        program = Program(record.pid, start_time=record.start_time)
        try:
            keeper = await self._reach(record)
        except (FileNotFoundError, ConnectionError, KeeperGone):
            if not await program.ended(FINAL_WAIT):
                await self._put_down(program, "it does not answer")
            return
        except KeeperRefused as refused:
            log.warning("the keeper (pid %d) is ended with its agents: %s", record.pid, refused)
            program.signal(signal.SIGTERM)
            if not await program.ended(FINAL_WAIT):
                await self._put_down(program, "it does not end")
            return
        self._keepers.append(keeper)
        if keeper.version != channel.VERSION:
            keeper.retire()

    async def _reach(self, record: Record) -> Keeper:
        """Become its driver; a driver that was killed and is not quite dead yet is waited for."""
        until = asyncio.get_running_loop().time() + DYING_WAIT
        while True:
            keeper = await connect(self._data, record)
            try:
                await self._greet(keeper)
            except KeeperBusy:
                if asyncio.get_running_loop().time() > until:
                    raise
                await asyncio.sleep(0.05)
            else:
                return keeper

    async def _greet(self, keeper: Keeper) -> None:
        try:
            await keeper.greet(self._keeping)
        except KeeperBusy as busy:
            await keeper.drop()
            if busy.pid:
                raise
            raise KeeperGone("it is about to end") from None
        except BaseException:
            await keeper.drop()
            raise

    async def _put_down(self, program: Program, why: str) -> None:
        log.error("the keeper (pid %d) is killed: %s", program.pid, why)
        program.kill()
        await program.ended(FAREWELL_WAIT)
        await asyncio.to_thread(collect_leftovers, self._data)

    async def _start(self) -> Keeper:
        marker = secrets.token_hex(8)
        ours, theirs = socket.socketpair()
        try:
            child = launch_keeper(theirs.fileno(), marker, self._data, keep=True)
        except OSError as error:
            ours.close()
            raise KeeperGone(f"it could not be started: {error}") from error
        finally:
            theirs.close()
        keeper = Keeper(ours, folder=self._data / "keepers")
        try:
            await self._greet(keeper)
        finally:
            child.wait()  # it ends as soon as it has forked
        return keeper


async def connect(data: Path, record: Record) -> Keeper:
    """Reach the keeper of a record; nothing is said yet. Raises `FileNotFoundError` or `ConnectionError`."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    folder = data / "keepers"
    try:
        with Address(str(folder.absolute()), f"{record.marker}.sock") as address:
            sock.connect(address)
    except BaseException:
        sock.close()
        raise
    return Keeper(sock, folder=folder)
