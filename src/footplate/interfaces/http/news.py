"""News: what happens in all sessions that somebody may have to look at, told once for every reader.

A reader begins with a snapshot of what stands now, so who comes back has missed nothing that still matters.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from footplate.errors import FootplateError
from footplate.events import model as m
from footplate.events.ids import RequestId, SessionId
from footplate.events.model import Envelope, SessionState
from footplate.interfaces.http.fan import Fan, FanFeed, frame
from footplate.interfaces.http.request_shapes import RequestInfo, load_request
from footplate.interfaces.http.shapes import SessionInfo
from footplate.runtime.access import Grant
from footplate.store.base import Store
from footplate.store.values import RequestFilter, SessionFilter
from footplate.tasks import spawn

log = logging.getLogger(__name__)
ACTIVE: tuple[SessionState, ...] = ("starting", "running", "waiting", "parked")
Kind = Literal["request", "session"]


class News(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that changed: a request, or a session, as it stands now."""

    kind: Kind
    session: SessionId
    event: str
    time: float
    info: SessionInfo | None = None
    request: RequestInfo | None = None


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What stands now: the open requests, and the sessions that do something or wait."""

    requests: tuple[RequestInfo, ...]
    sessions: tuple[SessionInfo, ...]


REQUESTS = (
    m.RequestOpened,
    m.RequestAnswered,
    m.RequestApplied,
    m.RequestRejected,
    m.RequestWithdrawn,
    m.RequestUnanswered,
)
SESSIONS = (
    *(m.SessionOpened, m.StateChanged, m.TitleChanged, m.TurnEnded, m.SessionClosed, m.LimitReached),
    m.EngineDetached,
)


class Attention:
    """Turns what happens in all sessions into news, once, for every reader with the same reach."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._fans: dict[Grant | None, Fan] = {None: Fan()}
        self._waiting: asyncio.Queue[Envelope] = asyncio.Queue()
        self._task = spawn(self._tell(), name="attention")
        self._unsubscribe: Callable[[], None] | None = None

    def follow(self, subscribe: Callable[[Callable[[Sequence[Envelope]], None]], Callable[[], None]]) -> None:
        """Begin to listen to the bulletin."""
        self._unsubscribe = subscribe(self._note)

    def _note(self, envelopes: Sequence[Envelope]) -> None:
        for envelope in envelopes:
            if isinstance(envelope.event, REQUESTS + SESSIONS):
                self._waiting.put_nowait(envelope)

    def fan(self, grant: Grant) -> Fan:
        """The news that the grant reaches."""
        return self._fans.setdefault(grant if grant.limited else None, Fan())

    def tell(self, event: Literal["SessionArchived", "SessionDeleted"], info: SessionInfo) -> None:
        """News of what stands in no log: a session was put aside, or back, or removed with its log."""
        self._send(News(kind="session", session=info.id, event=event, time=time.time(), info=info), info.id, info.cwd)

    async def close(self) -> None:
        """No more news."""
        if self._unsubscribe is not None:
            self._unsubscribe()
        self._task.cancel()
        await asyncio.wait((self._task,))
        for fan in self._fans.values():
            fan.close()

    async def _tell(self) -> None:
        while True:
            envelope = await self._waiting.get()
            try:
                await self._publish(envelope)
            except FootplateError as problem:
                log.error("news of session %s could not be told: %s", envelope.session, problem)  # noqa: TRY400

    async def _publish(self, envelope: Envelope) -> None:
        row = await self._store.projections.session(envelope.session)
        if row is None:
            return
        self._send(await self._news(envelope, SessionInfo.of(row)), row.session, row.cwd)

    def _send(self, news: News, session: SessionId, cwd: str) -> None:
        body = msgspec.json.encode(news)
        for grant, fan in self._fans.items():
            if grant is None or grant.reaches(session, cwd):
                fan.publish(frame(body, event=news.kind, cursor=fan.last + 1))

    async def _news(self, envelope: Envelope, info: SessionInfo) -> News:
        event = envelope.event
        about: RequestId | None = getattr(event, "request", None) if isinstance(event, REQUESTS) else None
        if isinstance(event, m.RequestOpened):
            about = event.request.id
        row = None if about is None else await self._store.projections.request(envelope.session, about)
        return News(
            kind="session" if about is None else "request",
            session=envelope.session,
            event=type(event).__name__,
            time=envelope.time,
            info=info,
            request=None if row is None else await load_request(self._store, row),
        )


class AttentionFeed:
    """What stands now, then the news."""

    def __init__(self, news: FanFeed, snapshot: Snapshot) -> None:
        self._news = news
        self._snapshot: Snapshot | None = snapshot

    async def next(self) -> Sequence[bytes]:
        """The chunks that are ready."""
        if self._snapshot is None:
            return await self._news.next()
        first, self._snapshot = self._snapshot, None
        return (frame(msgspec.json.encode(first), event="snapshot", cursor=self._news.cursor),)

    def close(self) -> None:
        """No more is wanted."""
        self._news.close()


async def take_snapshot(store: Store, grant: Grant) -> Snapshot:
    """What stands now, as far as the grant reaches."""
    asked = (await store.projections.requests(RequestFilter(states=("open",)), limit=500)).items
    active = (await store.projections.sessions(SessionFilter(states=ACTIVE), limit=500)).items
    sessions = [SessionInfo.of(row) for row in active if grant.reaches(row.session, row.cwd)]
    reached = {info.id for info in sessions}
    requests = [await load_request(store, row) for row in asked if not grant.limited or row.session in reached]
    return Snapshot(requests=tuple(requests), sessions=tuple(sessions))
