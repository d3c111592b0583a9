"""The hub: finds, opens, closes and evicts the sessions of this process; each has one actor, whoever asks for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from footplate.engines.base import Engine
from footplate.engines.catalog import make_engine
from footplate.errors import FootplateError, InvalidValue, SessionOver, UnknownSession
from footplate.events.base import ResumeToken
from footplate.events.codec import ReadEnvelope
from footplate.events.ids import SessionId
from footplate.events.reduce import SessionReducer
from footplate.host.keepers import Held, Keepers
from footplate.runtime.child import ABOUT
from footplate.runtime.log import SessionLog
from footplate.runtime.memory import choose_evictions
from footplate.runtime.rejoining import Rejoin, find_record
from footplate.runtime.services import Services
from footplate.runtime.session import Session
from footplate.runtime.spec import SPECS, SessionSpec
from footplate.store.projection import RequestRow, SessionRow
from footplate.store.values import Lease, Page, RequestFilter, SessionFilter
from footplate.tasks import spawn

ARCHIVED = "archived"
"""The documents that name the sessions that were put aside."""

log = logging.getLogger(__name__)
DRAIN_LOOK_S = 0.05


class Hub:
    """Every session of this process, live or in the store."""

    def __init__(self, services: Services, *, idle_s: float = 600.0) -> None:
        self._services = services
        self._idle_s = idle_s
        self.leaving = False
        """Whether agents are left to the keeper at the end, not ended."""

        self._live: dict[SessionId, Session] = {}
        self._opening: dict[SessionId, asyncio.Lock] = {}
        self._evictor = spawn(self._evict_idle(), name="evictor")

    @classmethod
    @asynccontextmanager
    async def open(cls, services: Services, *, idle_s: float = 600.0) -> AsyncIterator[Hub]:
        """A hub for as long as the block lasts; afterwards no session of it is live."""
        hub = cls(services, idle_s=idle_s)
        try:
            yield hub
        finally:
            await hub.close()

    # -------------------------------------------------------------------------------------------- sessions

    async def create(self, spec: SessionSpec, *, title: str = "", resume: ResumeToken | None = None) -> Session:
        """Open a new session. The agent starts with the first prompt."""
        engine = self._engine(spec.engine)
        if resume is not None and resume.engine != spec.engine:
            raise InvalidValue("resume", resume.value, f"a session of {spec.engine}, not of {resume.engine}")
        self._check_folder(spec.cwd)
        session = SessionId(self._services.surroundings.new_id())
        await self._services.store.documents(SPECS).put(session, msgspec.json.encode(spec), expect=0)
        lease = await self._services.store.claim(session)
        made = Session(self._services, engine, spec, self._log(lease, SessionReducer()))
        await made.begin(title=title, resume=resume)
        self._live[session] = made
        return made

    async def get(self, session: SessionId) -> Session:
        """The session, live or opened again from the store. Raises `UnknownSession`."""
        async with self._opening.setdefault(session, asyncio.Lock()):
            live = self._live.get(session)
            if live is None:
                live = self._live[session] = await self._reopen(session)
            return live

    async def take_up_left(self) -> None:
        """Open again what a process that stopped has left in the middle: every list says then how it stands."""
        left = [row.session async for row in self._rows() if _was_left(row)]
        for session in left:
            try:
                await self.get(session)
            except FootplateError as problem:
                log.warning("session %s cannot be taken up again: %s", session, problem)

    async def _rows(self) -> AsyncGenerator[SessionRow, None]:
        after: str | None = None
        while True:
            page = await self.sessions(after=after)
            for row in page.items:
                yield row
            after = page.after
            if after is None:
                return

    async def fork(self, session: SessionId, *, title: str = "") -> Session:
        """A session that goes on from where this one stands, and leaves it alone."""
        parent = await self.get(session)
        view = parent.view()
        if view.resume is None:
            raise InvalidValue("session", session, "a session that has had a turn")
        spec = msgspec.structs.replace(parent.spec, fork=True)
        return await self.create(spec, title=title or f"{view.title} (fork)".strip(), resume=view.resume)

    async def delete(self, session: SessionId) -> None:
        """End it if it is live, then remove it with its log."""
        await self.forget(session)
        await self._services.store.documents(SPECS).delete(session)
        await self._services.store.documents(ARCHIVED).delete(session)
        if not await self._services.store.delete_session(session):
            raise UnknownSession(session)

    async def archive(self, session: SessionId, *, archived: bool = True) -> None:
        """Put a session aside, or back: it stays as it is and is only left out of the usual list."""
        await self.get(session)
        documents = self._services.store.documents(ARCHIVED)
        if archived:
            await documents.put(session, b"")
        else:
            await documents.delete(session)

    async def archived(self) -> frozenset[SessionId]:
        """The sessions that were put aside."""
        documents = self._services.store.documents(ARCHIVED)
        found: set[SessionId] = set()
        after: str | None = None
        while True:
            page = await documents.list(after=after)
            found.update(SessionId(each.key) for each in page.items)
            after = page.after
            if after is None:
                return frozenset(found)

    async def forget(self, session: SessionId) -> None:
        """Let go of a live session; it stays in the store."""
        self._opening.pop(session, None)
        live = self._live.pop(session, None)
        if live is not None:
            await live.shut()

    async def sessions(self, only: SessionFilter | None = None, *, after: str | None = None) -> Page[SessionRow]:
        """The sessions in the store, the latest active first."""
        return await self._services.store.projections.sessions(only, after=after)

    async def requests(self, only: RequestFilter | None = None, *, after: str | None = None) -> Page[RequestRow]:
        """The requests of all sessions, the oldest first."""
        return await self._services.store.projections.requests(only, after=after)

    def export(self, session: SessionId) -> AsyncGenerator[bytes, None]:
        """The session as JSONL."""
        return self._services.store.export(session)

    async def close(self) -> None:
        """Let go of every session; their agents end."""
        await self._stop()
        for session in tuple(self._live):
            await self.forget(session)

    async def detach(self) -> None:
        """Let go of every session and leave the agents that work to the keeper: the next service goes on with them.

        One that has nothing to do is ended; the next prompt resumes it by its id.
        """
        await self._stop()
        live, self._live = self._live, {}
        await asyncio.gather(*(each.detach() if each.working else each.shut() for each in live.values()))

    @property
    def working(self) -> int:
        """How many agents have something to do, or wait for an answer."""
        return sum(each.working for each in self._live.values())

    async def drain(self, patience_s: float) -> bool:
        """Wait until no turn runs; False when some still do after so many seconds. Nothing new is begun meanwhile."""
        until = self._services.surroundings.monotonic() + patience_s
        for live in self._live.values():
            live.hold()
        while any(live.busy for live in self._live.values()):
            if self._services.surroundings.monotonic() > until:
                return False
            await asyncio.sleep(DRAIN_LOOK_S)
        return True

    async def rejoin_kept(self) -> tuple[SessionId, ...]:
        """Take over every agent that outlived the last service; the sessions whose agents they are.

        One that belongs to no session, or that cannot be taken over, is ended.
        """
        keepers = self._services.keepers
        if keepers is None:
            return ()
        return tuple([each for held in await keepers.held() if (each := await self._rejoin(keepers, held)) is not None])

    async def _rejoin(self, keepers: Keepers, held: Held) -> SessionId | None:
        if ABOUT in held.agent.about:
            return None  # a process of the table, which takes it over itself
        record = await find_record(self._services, held)
        if record is None:
            keepers.end(held)
            return None
        try:
            async with self._opening.setdefault(record.session, asyncio.Lock()):
                self._live[record.session] = await self._reopen(record.session, Rejoin(held, record))
        except FootplateError as problem:
            log.warning("agent %s of session %s is ended: %s", held.agent.id, record.session, problem)
            keepers.end(held)
            return None
        return record.session

    async def _stop(self) -> None:
        self._evictor.cancel()
        await asyncio.wait((self._evictor,))
        await self._services.warm.close()

    # --------------------------------------------------------------------------------------------- inside

    async def _reopen(self, session: SessionId, rejoin: Rejoin | None = None) -> Session:
        spec = await self._spec(session)
        lease = await self._services.store.claim(session)
        reducer = SessionReducer()
        async for envelope in self._read(session):
            reducer.apply(envelope)
        opened = self._log(lease, reducer)
        session_again = Session(self._services, self._engine(spec.engine), spec, opened)
        try:
            await self._take_up(session_again, rejoin)
        except BaseException:
            await session_again.shut()
            raise
        return session_again

    async def _spec(self, session: SessionId) -> SessionSpec:
        """How it was opened; of one that was imported, as far as its log tells. Raises `UnknownSession`."""
        document = await self._services.store.documents(SPECS).get(session)
        if document is not None:
            return msgspec.json.decode(document.body, type=SessionSpec)
        row = await self._services.store.projections.session(session)
        if row is None:
            raise UnknownSession(session)
        return SessionSpec(engine=row.engine, cwd=row.cwd)

    async def _take_up(self, session: Session, rejoin: Rejoin | None) -> None:
        """Go on with a session: with its living agent, or without; one that was closed stays closed."""
        if session.view().state == "closed":
            if rejoin is not None:
                raise SessionOver(session.id)
            session.retire()
        elif rejoin is not None:
            await session.rejoin(rejoin)
        else:
            await session.take_up()

    def _log(self, lease: Lease, reducer: SessionReducer) -> SessionLog:
        log = SessionLog(self._services.store, lease.session, reducer, self._services.surroundings)
        log.claim(lease)
        log.watch = self._services.bulletin.post
        return log

    async def _read(self, session: SessionId) -> AsyncGenerator[ReadEnvelope, None]:
        after = 0
        while rows := await self._services.store.read(session, after, self._services.surroundings.bounds.page_rows):
            for row in rows:
                yield row.envelope()
            after = rows[-1].seq

    def _engine(self, name: str) -> Engine:
        return make_engine(name, self._services.settings)

    def _check_folder(self, cwd: str) -> None:
        if not Path(cwd).is_dir():
            raise InvalidValue("cwd", cwd, "a folder that exists")

    async def _evict_idle(self) -> None:
        surroundings = self._services.surroundings
        while True:
            await asyncio.sleep(min(surroundings.bounds.sweep_s, self._idle_s))
            now, short = surroundings.monotonic(), surroundings.memory_is_short()
            for live in choose_evictions(self._live.values(), now=now, idle_s=self._idle_s, short=short):
                await live.evict()


def _was_left(row: SessionRow) -> bool:
    """Whether its process is gone without a word, or an answer waits in it that nobody has carried on."""
    return row.attached or (row.turn is not None and not row.open_requests)
