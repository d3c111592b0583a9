"""The hub: finds, opens, creates, deletes and evicts the sessions of this service.

Each session that is in memory, or on its way into it or out of it, has one entry. All changes of the entries happen
without an await between test and change, so two callers never hold two objects for one session. To look at a session
claims nothing; its first command wakes it (see `session_life`).
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from footplate.config.settings import Settings
from footplate.engines.base import Engine
from footplate.engines.catalog import make_engine
from footplate.errors import FootplateError, InvalidValue, SessionExists, SessionFailed, UnknownSession, WrongEpoch
from footplate.events.base import ResumeToken
from footplate.events.ids import SessionId
from footplate.events.reduce import SessionReducer
from footplate.host.keepers import Held, Keepers
from footplate.runtime.audit import SERVICE, Principal, describe_session
from footplate.runtime.child import ABOUT
from footplate.runtime.failures import Failures
from footplate.runtime.log import SessionLog
from footplate.runtime.memory import choose_evictions
from footplate.runtime.modes import check_known_mode, check_start, session_options
from footplate.runtime.rejoining import Rejoin, find_record
from footplate.runtime.services import Services
from footplate.runtime.session import Session
from footplate.runtime.session_life import SessionLife
from footplate.runtime.spec import SPECS, SessionSpec, check_effort
from footplate.store.projection import RequestRow, SessionRow
from footplate.store.values import Page, RequestFilter, SessionFilter
from footplate.tasks import Tasks

ARCHIVED = "archived"
"""The documents that name the sessions that were put aside."""

CHOSEN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Ids that a caller may choose: they are part of paths and of names of files."""

AT_ONCE: Final = 8
"""How many sessions a service that starts wakes at a time."""

MOST_PAUSE_S: Final = 60.0
"""The longest pause before the next try to wake a session that has work left."""

DRAIN_LOOK_S: Final = 0.05

log = logging.getLogger(__name__)
S = TypeVar("S")
T = TypeVar("T")


class Opening:
    """A session that is being read from the store, or created. `problem` is set when that fails."""

    def __init__(self) -> None:
        self.done = asyncio.Event()
        self.problem: Exception | None = None


class Open:
    """A session in memory."""

    def __init__(self, session: Session) -> None:
        self.session = session


class Leaving:
    """A session that is released and stays in the store: whoever wants it waits, and opens it again."""

    def __init__(self) -> None:
        self.done = asyncio.Event()


class Deleting:
    """A session that is being deleted: unknown from here on. `problem` is set when the store refuses."""

    def __init__(self) -> None:
        self.done = asyncio.Event()
        self.problem: Exception | None = None


Entry = Opening | Open | Leaving | Deleting


class Hub:
    """Every session of this service, in memory or in the store."""

    def __init__(
        self,
        services: Services,
        *,
        idle_s: float = 600.0,
        engine_of: Callable[[str, Settings], Engine] = make_engine,
        is_folder: Callable[[Path], bool] = Path.is_dir,
    ) -> None:
        self._services = services
        self._surroundings = services.surroundings
        self._bounds = services.surroundings.bounds
        self._idle_s = idle_s
        self._engine_of = engine_of
        self._is_folder = is_folder
        self.leaving = False
        """Whether agents are left to the keeper at the end, not ended."""

        services.release = self.release
        self._entries: dict[SessionId, Entry] = {}
        self._failures = Failures(services.surroundings)
        self._closed = False
        self._holding = False
        self._tasks = Tasks()
        self._tries = Tasks()
        self._sweeper = Tasks()
        self._sweeper.spawn(self._sweep(), name="sweeper of sessions")

    @classmethod
    @asynccontextmanager
    async def open(cls, services: Services, *, idle_s: float = 600.0) -> AsyncIterator[Hub]:
        """A hub for as long as the block lasts; afterwards no session of it is in memory."""
        hub = cls(services, idle_s=idle_s)
        try:
            yield hub
        finally:
            await hub.close()

    # -------------------------------------------------------------------------------------------- finding

    @property
    def live(self) -> tuple[Session, ...]:
        """The sessions in memory."""
        return tuple(entry.session for entry in self._entries.values() if isinstance(entry, Open))

    async def get(self, session: SessionId) -> Session:
        """The session, from memory or from the store; it is not woken. Raises `UnknownSession`."""
        while True:
            match self._entries.get(session):
                case Open(session=found):
                    found.last_used = self._surroundings.monotonic()
                    return found
                case Opening() as opening:
                    await opening.done.wait()
                    if opening.problem is not None:
                        raise opening.problem
                case Leaving() as leaving:
                    await leaving.done.wait()
                case Deleting():
                    raise UnknownSession(session)
                case None:
                    self._check_running(session)
                    await self._spec(session)  # an unknown id gets no entry
                    if session not in self._entries and not self._closed:
                        self._open(session, lambda: self._load(session))

    def _open(self, session: SessionId, make: Callable[[], Awaitable[Session]]) -> Opening:
        """Make an entry for a session that comes into memory. In a task: a caller that is cancelled stops nothing."""
        opening = Opening()
        self._entries[session] = opening
        self._tasks.spawn(self._make(session, opening, make), name=f"open session {session}")
        return opening

    async def _make(self, session: SessionId, opening: Opening, make: Callable[[], Awaitable[Session]]) -> None:
        try:
            made = await make()
        except Exception as problem:  # noqa: BLE001 - it belongs to those who wait for the session
            opening.problem = problem
            del self._entries[session]
        except BaseException:
            opening.problem = SessionFailed(session, "the service is stopping")
            del self._entries[session]
            raise
        else:
            if self._holding:
                made.hold()
            self._entries[session] = Open(made)
        finally:
            opening.done.set()

    async def _load(self, session: SessionId) -> Session:
        spec = await self._spec(session)
        made = self._session(session, spec)
        await made.load()
        return made

    def _session(self, session: SessionId, spec: SessionSpec) -> Session:
        history = SessionLog(self._services.store, session, SessionReducer(), self._surroundings)
        history.watch = self._services.bulletin.post
        engine = self._engine_of(spec.engine, self._services.settings)
        return Session(self._services, engine, spec, history, failures=self._failures, on_failed=self._failed)

    async def _spec(self, session: SessionId) -> SessionSpec:
        """How it was opened; of one that was imported, as far as its log tells. Raises `UnknownSession`."""
        document = await self._services.store.documents(SPECS).get(session)
        if document is not None:
            return msgspec.json.decode(document.body, type=SessionSpec)
        row = await self._services.store.projections.session(session)
        if row is None:
            raise UnknownSession(session)
        return SessionSpec(engine=row.engine, cwd=row.cwd)

    def _check_running(self, session: SessionId) -> None:
        if self._closed:
            raise SessionFailed(session, "the service is stopping")

    # ------------------------------------------------------------------------------------------- creating

    async def create(
        self, spec: SessionSpec, *, title: str = "", resume: ResumeToken | None = None, name: str = ""
    ) -> Session:
        """Create a session. The agent starts with the first prompt.

        `name` is an id that the caller chose. Raises `SessionExists` if a session has it.
        """
        engine = self._engine_of(spec.engine, self._services.settings)
        check_known_mode(engine, spec.mode)
        check_start(engine, session_options(spec, self._services.settings), self._services.environ)
        check_effort(engine, spec.effort)
        if resume is not None and resume.engine != spec.engine:
            raise InvalidValue("resume", resume.value, f"a session of {spec.engine}, not of {resume.engine}")
        if not self._is_folder(Path(spec.cwd)):
            raise InvalidValue("cwd", spec.cwd, "a folder that exists")
        session = SessionId(name or self._surroundings.new_id())
        if name:
            await self._free_id(session)  # nothing may be awaited from here to `_open`, which takes the id
        self._check_running(session)
        opening = self._open(session, lambda: self._begin(session, spec, title, resume))
        await opening.done.wait()
        if opening.problem is not None:
            raise opening.problem
        return await self.get(session)

    async def exists(self, session: SessionId) -> bool:
        """Whether there is a session of that id; one that is being deleted is waited for."""
        while isinstance(entry := self._entries.get(session), Deleting):
            await entry.done.wait()
        return entry is not None or await self._services.store.last_seq(session) > 0

    async def _free_id(self, session: SessionId) -> None:
        """Wait until nobody uses the id. Raises `InvalidValue`, or `SessionExists`."""
        if not CHOSEN_ID.fullmatch(session):
            raise InvalidValue("id", session, "1 to 64 letters, digits, `.`, `_` or `-`; the first a letter or a digit")
        while not await self.exists(session):
            # A service that died between the first two writes of `_begin` left a spec without a log.
            await self._services.store.documents(SPECS).delete(session)
            if session not in self._entries:
                return
        raise SessionExists(session)

    async def _begin(self, session: SessionId, spec: SessionSpec, title: str, resume: ResumeToken | None) -> Session:
        """Store a new session; if that fails nothing of it stays."""
        made = self._session(session, spec)
        try:
            await self._services.store.documents(SPECS).put(session, msgspec.json.encode(spec), expect=0)
            await made.begin(title=title, resume=resume)
        except BaseException:
            await made.abandon()
            try:
                await self._erase(session)
            except FootplateError as problem:
                log.warning("session %s, which could not be created, is not removed: %s", session, problem)
            raise
        return made

    async def fork(self, session: SessionId, *, title: str = "") -> Session:
        """A session that goes on from where this one stands, and leaves it alone."""
        parent = await self.get(session)
        view = parent.view()
        if view.resume is None:
            raise InvalidValue("session", session, "a session that has had a turn")
        spec = msgspec.structs.replace(parent.spec, fork=True, fork_of=view.resume.value)
        return await self.create(spec, title=title or f"{view.title} (fork)".strip(), resume=view.resume)

    # ------------------------------------------------------------------------------------ releasing one

    async def delete(self, session: SessionId, principal: Principal = SERVICE) -> None:
        """End it if it is in memory, then remove it with its log. Raises `UnknownSession`, or what the store raises."""
        while True:
            match self._entries.get(session):
                case Deleting() as other:
                    await other.done.wait()
                    if other.problem is None:
                        raise UnknownSession(session)
                case Opening() | Leaving() as entry:
                    await entry.done.wait()
                case Open(session=found):
                    await self._delete(session, found, principal)
                    return
                case None:
                    self._check_running(session)
                    await self._spec(session)
                    if session not in self._entries and not self._closed:
                        await self._delete(session, None, principal)
                        return

    async def _delete(self, session: SessionId, found: Session | None, principal: Principal) -> None:
        deleting = Deleting()
        self._entries[session] = deleting
        self._tasks.spawn(self._remove(session, found, deleting, principal), name=f"delete session {session}")
        await deleting.done.wait()
        if deleting.problem is not None:
            raise deleting.problem

    async def _remove(
        self, session: SessionId, found: Session | None, deleting: Deleting, principal: Principal
    ) -> None:
        try:
            if found is not None:
                await self._stop(found, leave=False)
            row = await self._services.store.projections.session(session)
            record = self._services.audit.act(
                "session.delete", principal, session=session, detail=describe_session(row)
            )
            if not await self._erase(session, [record]):
                deleting.problem = UnknownSession(session)
        except Exception as problem:  # noqa: BLE001 - it belongs to those who wait; the session is still there
            deleting.problem = problem
        finally:
            del self._entries[session]
            deleting.done.set()

    async def _erase(self, session: SessionId, audit: Sequence[bytes] = ()) -> bool:
        """Remove all of it from the store. The log first: while it is there, the session can be used."""
        found = await self._services.store.delete_session(session, audit=audit)
        for namespace in (SPECS, ARCHIVED):
            found |= await self._services.store.documents(namespace).delete(session)
        return found

    async def forget(self, session: SessionId) -> None:
        """Release a session that is in memory; it stays in the store."""
        while (entry := self._entries.get(session)) is not None:
            if isinstance(entry, Open):
                entry = self._leave(entry.session, self._stop(entry.session, leave=False))
            await entry.done.wait()

    def _leave(self, session: Session, release: Coroutine[None, None, None]) -> Leaving:
        """Release a session in memory. Whoever asks for it meanwhile waits."""
        leaving = Leaving()
        self._entries[session.id] = leaving
        self._tasks.spawn(self._go(session.id, leaving, release), name=f"release session {session.id}")
        return leaving

    async def _go(self, session: SessionId, leaving: Leaving, release: Coroutine[None, None, None]) -> None:
        try:
            await release
        finally:
            del self._entries[session]
            leaving.done.set()

    async def _stop(self, session: Session, *, leave: bool) -> None:
        """Release a session within its time, or give it up."""
        try:
            async with asyncio.timeout(self._bounds.stop_s):
                await (session.detach() if leave else session.shut())
        except TimeoutError:
            log.warning("session %s was not released within %g s and is given up", session.id, self._bounds.stop_s)
            await session.abandon(leave=leave)

    def _failed(self, session: SessionLife, problem: BaseException) -> None:
        """A session has failed: it is given up, then woken as after a crash, which says what became of its turn."""
        self._failures.note(session.id, problem)
        entry = self._entries.get(session.id)
        if isinstance(entry, Open) and entry.session is session:
            self._leave(entry.session, session.abandon())
            if not isinstance(problem, WrongEpoch):  # else another service owns it: claiming it back would be a fight
                self._tries.spawn(self._wake(session.id), name=f"wake session {session.id} again")

    # ------------------------------------------------------------------------------------------ all of them

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

    async def sessions(self, only: SessionFilter | None = None, *, after: str | None = None) -> Page[SessionRow]:
        """The sessions in the store, the latest active first."""
        return await self._services.store.projections.sessions(only, after=after)

    async def requests(self, only: RequestFilter | None = None, *, after: str | None = None) -> Page[RequestRow]:
        """The requests of all sessions, the oldest first."""
        return await self._services.store.projections.requests(only, after=after)

    def export(self, session: SessionId) -> AsyncGenerator[bytes, None]:
        """The session as JSONL."""
        return self._services.store.export(session)

    @property
    def working(self) -> int:
        """How many agents have something to do, or wait for an answer."""
        return sum(each.working for each in self.live)

    # ------------------------------------------------------------------------------------ start and stop

    async def rejoin_kept(self) -> tuple[SessionId, ...]:
        """Reattach every agent process that outlived the last service; the sessions that they belong to.

        One that belongs to no session, or that cannot be reattached, is ended.
        """
        keepers = self._services.keepers
        if keepers is None:
            return ()
        held = [each for each in await keepers.held() if ABOUT not in each.agent.about]  # others are no agents
        found = await _at_once(held, lambda each: self._rejoin(keepers, each))
        return tuple(session for session in found if session is not None)

    async def _rejoin(self, keepers: Keepers, held: Held) -> SessionId | None:
        session = SessionId(held.agent.about.get("session", ""))
        try:
            record = await find_record(self._services, held)
            if record is not None:
                live = await self.get(record.session)
                await live.take_up(Rejoin(held, record))
                if live.attached:
                    return record.session
        except Exception as problem:  # noqa: BLE001 - one session must not keep the others from being opened
            log.warning("agent process %s of session %s is ended: %s", held.agent.id, session, problem)
        keepers.end(held)
        return None

    async def take_up_left(self) -> None:
        """Wake the sessions that a service which stopped has left in the middle, so that lists show how they are."""
        after: str | None = None
        while True:
            page = await self._services.store.projections.unfinished(after=after)
            await _at_once([row.session for row in page.items], self._wake)
            after = page.after
            if after is None:
                return

    async def _wake(self, session: SessionId) -> None:
        """Wake a session that has work left; while that fails for a time only, it is tried again and again."""
        if not await self._try_to_wake(session):
            self._tries.spawn(self._wake_later(session), name=f"wake session {session} later")

    async def _wake_later(self, session: SessionId) -> None:
        pause = self._bounds.wake_s
        await asyncio.sleep(pause)
        while not await self._try_to_wake(session):
            pause = min(2 * pause, MOST_PAUSE_S)
            await asyncio.sleep(pause)

    async def _try_to_wake(self, session: SessionId) -> bool:
        """False when it may work later."""
        try:
            await (await self.get(session)).take_up()
        except FootplateError as problem:
            log.warning("session %s cannot be opened again: %s", session, problem)
            return isinstance(problem, WrongEpoch) or not problem.retryable
        except Exception:
            log.exception("session %s cannot be opened again", session)
        return True

    async def release(self, conversation: ResumeToken) -> bool:
        """End the agent process that has this conversation of its engine, if it is idle: another process wants it.

        False when it works, or cannot be resumed, or when no session of this hub has it. The next prompt of the session
        resumes by id.
        """
        for session in self.live:
            if session.attached and session.resume == conversation:
                await self._evict(session)
                return not session.attached
        return False

    async def drain(self, patience_s: float) -> bool:
        """Wait until no turn runs; False when some still do after so many seconds. Nothing new is begun meanwhile."""
        until = self._surroundings.monotonic() + patience_s
        self._holding = True
        for live in self.live:
            live.hold()
        while any(live.busy for live in self.live if not live.cold):
            if self._surroundings.monotonic() > until:
                return False
            await asyncio.sleep(DRAIN_LOOK_S)
        return True

    async def close(self) -> None:
        """Release every session; their agents end."""
        await self._end(leave=False)

    async def detach(self) -> None:
        """Release every session and leave the agents that work to the keeper: the next service reattaches them.

        One that has nothing to do is ended, if the next prompt can resume its conversation by its id.
        """
        await self._end(leave=True)

    async def _end(self, *, leave: bool) -> None:
        """Nothing is opened from here on; what is on its way in is waited for, and released with the rest."""
        self._closed = True
        await self._sweeper.cancel()
        await self._tries.cancel()
        await self._services.warm.close()
        while self._entries:
            for session in self.live:
                self._leave(session, self._stop(session, leave=leave and (session.working or not session.resumable)))
            try:
                async with asyncio.timeout(2 * self._bounds.stop_s):
                    await self._tasks.wait()
            except TimeoutError:
                await self._tasks.cancel()
        await self._tasks.cancel()
        await self._services.recorder.close()

    # --------------------------------------------------------------------------------------------- sweeper

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(min(self._bounds.sweep_s, self._idle_s))
            try:
                self._sweep_once()
            except Exception:
                log.exception("the sweep of sessions failed")

    def _sweep_once(self) -> None:
        """End agent processes that are idle for too long, and release sessions that nobody uses."""
        now, short = self._surroundings.monotonic(), self._surroundings.memory_is_short()
        for session in choose_evictions(self.live, now=now, idle_s=self._idle_s, short=short):
            self._tasks.spawn(self._evict(session), name=f"evict the agent of session {session.id}")
        for session in self.live:
            if session.in_use:
                session.last_used = now
            elif now - session.last_used > self._bounds.unused_s:
                self._leave(session, self._stop(session, leave=False))
        self._failures.forget_old()

    async def _evict(self, session: Session) -> None:
        try:
            await session.evict(idle=True)
        except FootplateError as problem:
            log.warning("session %s: its agent process is not evicted: %s", session.id, problem)


async def _at_once(items: Iterable[S], work: Callable[[S], Awaitable[T]]) -> list[T]:
    """Do it for every item, a few at a time; the results in order."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(item: S) -> T:
        async with room:
            return await work(item)

    return await asyncio.gather(*map(one, items))
