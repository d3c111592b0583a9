"""The agent of a session: one process at a time, started when it is needed, locked against other writers."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable

import msgspec

from footplate.engines.base import Engine, Options
from footplate.errors import StoreError
from footplate.events.commands import Command
from footplate.events.ids import EngineSessionId
from footplate.events.model import Event
from footplate.host.locks import SessionLock
from footplate.runtime.runner import Runner
from footplate.runtime.services import Services

log = logging.getLogger(__name__)


class Agent:
    """A running agent process, its lock, and the task that hands on what it says."""

    def __init__(
        self, runner: Runner, lock: SessionLock | None, take: Callable[[list[Event]], Awaitable[None]]
    ) -> None:
        self._runner = runner
        self._lock = lock
        self._pump = asyncio.create_task(self._hand_on(take), name="agent")

    @classmethod
    async def start(
        cls, services: Services, engine: Engine, options: Options, take: Callable[[list[Event]], Awaitable[None]]
    ) -> Agent:
        """Start the agent's process; `take` gets its events, batch by batch, until it has ended.

        Raises `EngineError` or `HostError` when it cannot start, `LockHeld` when another process writes the session.
        """
        installed = await engine.locate(services.environ)
        can = engine.capabilities(installed)
        if can.chooses_session_id and (options.resume is None or options.fork):
            options = msgspec.structs.replace(options, session_id=EngineSessionId(str(uuid.uuid4())))
        known = options.session_id or (None if options.fork else options.resume)
        lock = None
        if known is not None:
            lock = SessionLock(services.locks, f"{engine.name}:{known}", what="footplate session")
            await lock.acquire()
        try:
            runner = await Runner.start(engine, installed, options, keeper=services.keeper, environ=services.environ)
        except BaseException:
            if lock is not None:
                lock.release()
            raise
        return cls(runner, lock, take)

    async def _hand_on(self, take: Callable[[list[Event]], Awaitable[None]]) -> None:
        try:
            async for batch in self._runner.batches():
                await take(batch)
        except StoreError as problem:
            # What cannot be written down must not go on: the agent is stopped, and every call says why.
            log.error("the agent is stopped, its events cannot be stored: %s", problem)  # noqa: TRY400
            await self._runner.end(close_wait=0.0)
        finally:
            if self._lock is not None:
                self._lock.release()

    def prepare(self, command: Command) -> tuple[bytes, ...]:
        """The frames of a command, checked and not yet written."""
        return self._runner.prepare(command)

    async def write(self, frames: tuple[bytes, ...]) -> None:
        """Write prepared frames. Raises `EngineGone`."""
        await self._runner.write(frames)

    async def command(self, command: Command) -> None:
        """Ask something of it. Raises `EngineGone`."""
        await self._runner.command(command)

    async def end(self, *, close_wait: float) -> None:
        """See it out: its last events are handed on before this returns."""
        await self._runner.end(close_wait=close_wait)
        await asyncio.wait((self._pump,))
