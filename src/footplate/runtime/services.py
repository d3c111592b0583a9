"""What sessions share: the store, the keeper, the settings, the environment, the rules of the operator."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import msgspec

from footplate.config.live import LiveSettings
from footplate.config.rules import Rule
from footplate.config.settings import Settings
from footplate.engines.base import Engine
from footplate.errors import LockHeld
from footplate.events.base import ResumeToken
from footplate.events.ids import EngineSessionId
from footplate.host.keepers import Keepers
from footplate.host.locks import SessionLock
from footplate.host.spawner import Spawner
from footplate.runtime.audit import Audit
from footplate.runtime.audit_head import HeadKeeper
from footplate.runtime.bulletin import Bulletin
from footplate.runtime.guard import GUARD, judge
from footplate.runtime.handlers import Handler
from footplate.runtime.housekeeping import Housekeeping, audit_step, retention_step
from footplate.runtime.projects import Projects
from footplate.runtime.recorder import Recorder
from footplate.runtime.surroundings import Surroundings
from footplate.runtime.taps import Taps
from footplate.runtime.warm import Place, WarmPool
from footplate.store.base import Store


class Services:
    """The surroundings of every session of one process."""

    def __init__(
        self,
        store: Store,
        keeper: Spawner,
        *,
        settings: Settings,
        environ: Mapping[str, str],
        data: Path,
        rules: tuple[Rule, ...] = (),
        keepers: Keepers | None = None,
        surroundings: Surroundings | None = None,
        start_waiting: bool = True,
    ) -> None:
        """`keepers` are those that outlive this process, where `keeper` stands for them.

        Without `start_waiting` prompts of an earlier service wait until a prompt or `Continue` starts them.
        """
        self.store = store
        self.start_waiting = start_waiting
        self.surroundings = surroundings or Surroundings()
        self.keeper = keeper
        self.keepers = keepers
        self.settings = settings
        self.environ = environ
        self._rules = rules
        self._live = LiveSettings(settings, environ)
        self._settings_recorded: Callable[[], Awaitable[None]] | None = None
        self.data = data
        self.locks = data / "locks"
        self.audit = Audit(store.audit, self.surroundings)
        self.audit_head: HeadKeeper | None = None
        """Notes the newest audit record outside of the store, where a service runs that does."""
        self.bulletin = Bulletin()
        self.provide: Callable[[Engine], Awaitable[bool]] | None = None
        """Installs an agent that is asked for and not there, where that is wanted; False when it cannot."""
        self.release: Callable[[ResumeToken], Awaitable[bool]] | None = None
        """Ends an idle agent process that has this conversation of its engine; False when there is none."""
        self.taps = Taps()
        self.housekeeping = Housekeeping(self.surroundings.bounds)
        self.housekeeping.add("retention", retention_step(store, self.audit, lambda: self.live.retention))
        self.housekeeping.add("retention of the audit log", audit_step(self.audit, lambda: self.live.retention))
        self.recorder = Recorder(store, self.surroundings, enabled=lambda: self.live.retention.frames)
        self.recorder.on_volume = self.housekeeping.hurry
        self.projects = Projects(settings, environ)
        self.hooks: dict[str, Handler] = {GUARD: self._judge}
        """Handlers that any agent of ours may call, by name."""
        place = Place(keeper, environ=environ, locks=self.locks, hooks=self.hooks, surroundings=self.surroundings)
        self.warm = WarmPool(place, size=settings.runtime.prewarm, unused_s=settings.runtime.prewarm_s)

    async def lock_conversation(self, engine: Engine, session: EngineSessionId) -> SessionLock:
        """Lock a conversation that is resumed. Another session of ours gives it up if its agent is idle.

        Raises `LockHeld` when somebody has it who works, or who is no session of ours.
        """
        lock = self.warm.lock_on(engine, session)
        try:
            await lock.acquire()
        except LockHeld:
            if self.release is None or not await self.release(ResumeToken(engine=engine.name, value=session)):
                raise
            await lock.acquire()
        return lock

    @property
    def live(self) -> Settings:
        """What the operator decided, as the file has it now: for what may change while sessions run."""
        return self._live.now

    def on_settings_change(
        self, listener: Callable[[], None] | None, recorded: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Have this called when the settings were read again; `recorded` waits until a change is in the audit log."""
        self._live.on_change = listener
        self._settings_recorded = recorded

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The operator's rules as they are now."""
        return self._rules or self.live.rules

    async def recorded_rules(self) -> tuple[Rule, ...]:
        """The operator's rules as they are now, for a verdict: a change of them is in the audit log before it."""
        rules = self.rules
        if self._settings_recorded is not None:
            await self._settings_recorded()
        return rules

    async def _judge(self, given: msgspec.Raw) -> msgspec.Raw:
        return judge(given, await self.recorded_rules())
