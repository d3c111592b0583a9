"""What sessions share: the store, the keeper, the settings, the environment, the rules of the operator."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import msgspec

from footplate.config.live import LiveSettings
from footplate.config.rules import Rule
from footplate.config.settings import Settings
from footplate.engines.base import Engine
from footplate.errors import StoreError
from footplate.events.ids import SessionId
from footplate.events.model import RequestAnswered
from footplate.events.requests import Request
from footplate.host.keepers import Keepers
from footplate.host.spawner import Spawner
from footplate.runtime.bulletin import Bulletin
from footplate.runtime.guard import GUARD, judge
from footplate.runtime.handlers import Handler
from footplate.runtime.patience import patiently
from footplate.runtime.projects import Projects
from footplate.runtime.surroundings import Surroundings
from footplate.runtime.taps import Taps
from footplate.runtime.warm import Place, WarmPool
from footplate.store.base import Store

log = logging.getLogger(__name__)
AUDIT = "audit"
"""The documents in which every answer to a request is written down, in order of time. Retention leaves them alone."""


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One answer: who decided what, from where, about which call."""

    time: float
    session: SessionId
    request: str
    kind: str
    tool: str
    title: str
    by: str
    surface: str
    answer: object


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
        self.data = data
        self.locks = data / "locks"
        self.bulletin = Bulletin()
        self.provide: Callable[[Engine], Awaitable[bool]] | None = None
        """Installs an agent that is asked for and not there, where that is wanted; False when it cannot."""
        self.taps = Taps()
        self.projects = Projects(settings, environ)
        self.hooks: dict[str, Handler] = {GUARD: self._judge}
        """Handlers that any agent of ours may call, by name."""
        place = Place(keeper, environ=environ, locks=self.locks, hooks=self.hooks, surroundings=self.surroundings)
        self.warm = WarmPool(place, size=settings.runtime.prewarm, unused_s=settings.runtime.prewarm_s)

    @property
    def live(self) -> Settings:
        """What the operator decided, as the file has it now: for what may change while sessions run."""
        return self._live.now

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The operator's rules as they are now."""
        return self._rules or self.live.rules

    async def _judge(self, given: msgspec.Raw) -> msgspec.Raw:
        return judge(given, self.rules)

    async def audit(self, session: SessionId, request: Request, answered: RequestAnswered) -> None:
        """Write an answer into the audit log."""
        entry = AuditEntry(
            time=self.surroundings.time(),
            session=session,
            request=answered.request,
            kind=request.kind,
            tool=request.tool,
            title=request.title,
            by=answered.by,
            surface=answered.surface,
            answer=answered.answer,
        )
        documents, key, body = self.store.documents(AUDIT), self.surroundings.new_id(), msgspec.json.encode(entry)
        try:
            limit_s = self.surroundings.bounds.store_retry_s
            await patiently(lambda: documents.put(key, body, durable=False), limit_s=limit_s)
        except StoreError as problem:
            # The answer is stored in the session's log; it must not end the session that this copy is missing.
            log.error("session %s: no audit entry of request %s: %s", session, answered.request, problem)  # noqa: TRY400
