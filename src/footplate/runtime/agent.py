"""The agent of a session: one process at a time, started when it is needed, locked against other writers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import msgspec

from footplate.engines.base import Engine, Options, Query
from footplate.errors import StoreError
from footplate.events.commands import Command
from footplate.events.ids import SessionId
from footplate.events.model import EngineDetached, Event
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
        cls,
        services: Services,
        engine: Engine,
        options: Options,
        take: Callable[[list[Event]], Awaitable[None]],
        *,
        lock: SessionLock | None = None,
    ) -> Agent:
        """Start the agent's process; `take` gets its events, batch by batch, until it has ended.

        `lock` is the one on its session, if the caller has it already: it is freed at the end of the process.
        Raises `EngineError` or `HostError` when it cannot start, `LockHeld` when another process writes the session.
        """
        started = await services.warm.start(engine, options, lock=lock)
        return cls(started.runner, started.lock, take)

    async def _hand_on(self, take: Callable[[list[Event]], Awaitable[None]]) -> None:
        try:
            async for batch in self._runner.batches():
                if any(isinstance(event, EngineDetached) for event in batch):
                    self._free()  # it is gone: whoever hears so may start the next one
                await take(batch)
        except StoreError as problem:
            # What cannot be written down must not go on: the agent is stopped, and every call says why.
            log.error("the agent is stopped, its events cannot be stored: %s", problem)  # noqa: TRY400
            await self._runner.end(close_wait=0.0)
        finally:
            self._free()

    def _free(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def name(self, session: SessionId) -> None:
        """Say whose agent this is; its frames are logged under that."""
        self._runner.session = session

    @property
    def ready(self) -> bool:
        """Whether it has said that it is there."""
        return self._runner.ready

    def prepare(self, command: Command) -> tuple[bytes, ...]:
        """The frames of a command, checked and not yet written."""
        return self._runner.prepare(command)

    async def write(self, frames: tuple[bytes, ...]) -> None:
        """Write prepared frames. Raises `EngineGone`."""
        await self._runner.write(frames)

    async def command(self, command: Command) -> None:
        """Ask something of it. Raises `EngineGone`."""
        await self._runner.command(command)

    async def ask(self, command: Command) -> msgspec.Raw | None:
        """Ask something of it and wait for its word. Raises `EngineDeclined`, `EngineSilent`, `EngineGone`."""
        return await self._runner.ask(command)

    async def query(self, query: Query) -> msgspec.Raw:
        """Ask about it. Raises what `ask` raises, and `UnsupportedOption` where the engine cannot tell."""
        return await self._runner.query(query)

    async def end(self, *, close_wait: float | None) -> None:
        """See it out: its last events are handed on before this returns. With None its stdin stays open till then."""
        await self._runner.end(close_wait=close_wait)
        await asyncio.wait((self._pump,))
