"""Agent processes: how one is started under its lock, and a few that are started before anybody asks for them.

A process takes its time until it can be spoken to. With `[runtime] prewarm` above zero a new session gets one that has
done so already: whenever a new conversation begins, another process is started with the same options (all but the
session's id, which each process gets anew), without a prompt, and kept for the next session that wants just that. Ones
that nobody takes are ended after a while, or at once when memory is short.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from footplate.engines.base import Engine, Installed, Options
from footplate.errors import EngineError, HostError
from footplate.events.ids import EngineSessionId
from footplate.host.locks import SessionLock
from footplate.host.spawner import Spawner
from footplate.runtime.guard import GUARD
from footplate.runtime.handlers import Handler
from footplate.runtime.runner import Runner
from footplate.runtime.surroundings import Surroundings
from footplate.tasks import Tasks

LOOK_S: Final = 5.0
"""Between two looks at processes that wait."""

log = logging.getLogger(__name__)


class Started(msgspec.Struct, frozen=True):
    """An agent process that runs, and the lock on its session, which whoever has it frees at its end."""

    runner: Runner
    lock: SessionLock | None
    installed: Installed
    options: Options

    async def end(self, *, close_wait: float = 0.0) -> None:
        """See it out, and free the lock."""
        try:
            await self.runner.end(close_wait=close_wait)
        finally:
            if self.lock is not None:
                self.lock.release()


class Place:
    """Where agents are started: the keeper that does it, the environment they are chosen from, the folder of locks."""

    def __init__(
        self,
        keeper: Spawner,
        *,
        environ: Mapping[str, str],
        locks: Path,
        hooks: Mapping[str, Handler] | None = None,
        surroundings: Surroundings | None = None,
    ) -> None:
        """`hooks` are handlers that any agent may call whose options name them."""
        self.surroundings = surroundings or Surroundings()
        self._keeper = keeper
        self._locks = locks
        self._hooks = hooks or {}
        self.environ = environ

    async def start(
        self, engine: Engine, installed: Installed, options: Options, *, lock: SessionLock | None = None
    ) -> Started:
        """Start a process; a new conversation gets an id of ours where the engine lets us choose.

        `lock` is the one on its session, where the caller has it; it is freed when the process cannot start.
        Raises `EngineError` or `HostError` when it cannot start, `LockHeld` when another process writes the session.
        """
        if engine.capabilities(installed).chooses_session_id and (options.resume is None or options.fork):
            options = msgspec.structs.replace(options, session_id=EngineSessionId(self.surroundings.new_uuid()))
        known = options.session_id or (None if options.fork or not options.resumable else options.resume)
        if known is not None and lock is None:
            lock = self.lock_on(engine, known)
            await lock.acquire()
        try:
            runner = await Runner.start(
                engine,
                installed,
                options,
                keeper=self._keeper,
                environ=self.environ,
                hooks=self._hooks,
                bounds=self.surroundings.bounds,
            )
        except BaseException:
            if lock is not None:
                lock.release()
            raise
        return Started(runner, lock, installed, options)

    def lock_on(self, engine: Engine, session: EngineSessionId) -> SessionLock:
        """The lock on a conversation of the engine's, not yet taken."""
        return self.surroundings.lock_on(self._locks, f"{engine.name}:{session}", "footplate session")


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is started for; a session takes only one of its very kind."""

    engine: str
    installed: Installed
    options: Options


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A process that waits for a session."""

    kind: Kind
    started: Started
    since: float


class WarmPool:
    """Starts agents, and keeps at most `size` of them ready, one of a kind, for sessions to come; with 0 none."""

    def __init__(
        self,
        place: Place,
        *,
        size: int = 0,
        unused_s: float = 300.0,
    ) -> None:
        self._place = place
        self._size = size
        self._unused_s = unused_s
        self._surroundings = place.surroundings
        self._waiting: list[Waiting] = []
        self._coming: list[Kind] = []
        self._beginnings = Tasks()
        self._endings = Tasks()
        self._closed = False

    @property
    def ready(self) -> int:
        """How many processes wait and can be spoken to."""
        return sum(each.started.runner.ready and not each.started.runner.over for each in self._waiting)

    def lock_on(self, engine: Engine, session: EngineSessionId) -> SessionLock:
        """The lock on a conversation of the engine's, not yet taken."""
        return self._place.lock_on(engine, session)

    async def start(self, engine: Engine, options: Options, *, lock: SessionLock | None = None) -> Started:
        """A process for a session: one that waits for just that, else a new one. Raises what `Place.start` raises."""
        installed = await engine.locate(self._place.environ)
        if not self._size or not _is_plain(options):
            return await self._place.start(engine, installed, options, lock=lock)
        kind = Kind(engine=engine.name, installed=installed, options=options)
        started = self._take(kind) or await self._place.start(engine, installed, options)
        if not self._closed and kind not in (*self._coming, *(each.kind for each in self._waiting)):
            self._coming.append(kind)
            self._beginnings.spawn(self._warm(engine, kind), name=f"warm pool: start {engine.name}")
        return started

    async def close(self) -> None:
        """End every process that waits; nothing is started ahead any more."""
        self._closed = True
        await self._beginnings.cancel()
        self._dismiss(self._waiting)
        await self._endings.wait()

    def _take(self, kind: Kind) -> Started | None:
        for each in self._waiting:
            if each.kind == kind and not each.started.runner.over:
                self._waiting.remove(each)
                return each.started
        return None

    async def _warm(self, engine: Engine, kind: Kind) -> None:
        """Start one for the next session of this kind, and look after it; the one that waits longest makes room."""
        try:
            if self._surroundings.memory_is_short():
                return
            started = await self._place.start(engine, kind.installed, kind.options)
        except (EngineError, HostError) as problem:
            log.warning("no %s process could be started ahead of its session: %s", kind.engine, problem)
            return
        finally:
            self._coming.remove(kind)
        mine = Waiting(kind=kind, started=started, since=self._surroundings.monotonic())
        self._waiting.append(mine)
        self._dismiss(self._waiting[: -self._size])
        while mine in self._waiting:
            await asyncio.sleep(min(LOOK_S, self._unused_s))
            late = self._surroundings.monotonic() - mine.since >= self._unused_s
            if mine in self._waiting and (late or started.runner.over or self._surroundings.memory_is_short()):
                self._dismiss([mine])

    def _dismiss(self, leaving: list[Waiting]) -> None:
        """End these; nobody can take one from here on."""
        gone = list(leaving)
        self._waiting = [each for each in self._waiting if each not in gone]
        for each in gone:
            self._endings.spawn(each.started.end(), name="warm pool: end")


def _is_plain(options: Options) -> bool:
    """Whether a process with these options may serve any session: a new conversation, with no handlers of its own."""
    if options.standing is not None:
        return False
    own = all(hook.name == GUARD for hook in options.hooks)
    return options.resume is None and not options.one_shot and not options.servers and own
