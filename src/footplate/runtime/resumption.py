"""Bringing back requests whose process is gone: kept open at its end, answered by a new process, once.

Everything here runs in the session's mailbox, but for the watch over a process that is to ask again. Which step a crash
may fall between is told in `journal`; what an engine can do, in `engines.parking`. For an engine that can do nothing
everything ends with the process, as the engine itself tells.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, ParamSpec, TypeVar

import msgspec
from msgspec.structs import replace

from footplate.engines.parking import CanPark, Parking, Pending, Place, Recorded, Way
from footplate.errors import EngineError, EngineGone, FileFailed, HostError, RequestError
from footplate.events import commands as c
from footplate.events import model as m
from footplate.events.ids import RequestId
from footplate.events.model import Event
from footplate.events.requests import Answer
from footplate.events.view import RequestView, SessionView
from footplate.host.locks import SessionLock
from footplate.runtime import aftermath
from footplate.runtime.conductor import Conductor
from footplate.runtime.journal import NOTHING, Kept, kept_open, pending_of, results_in
from footplate.runtime.orphan import PATIENCE_S
from footplate.runtime.records import said_in_turn
from footplate.runtime.recovery import close_what_was_left
from footplate.runtime.requests import RequestBook
from footplate.runtime.standing import standing_of
from footplate.tasks import spawn

log = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")

CONCERNS: Final = frozenset({m.RequestOpened, m.TurnEnded, m.EngineDetached})
TRIES: Final = 3
"""How many processes are started for one answer before it is given up."""

START_S: Final = 60.0
"""How long a process may take until it can be spoken to."""

LOCK_S: Final = PATIENCE_S
"""How long the lock may be held by the last process, whose end was told a moment ago, or that is being ended."""

LOOK_S: Final = 0.2


class Awaited(msgspec.Struct, frozen=True):
    """The request that a process was started for, and how it is to come back.

    `mode` is the one that a person asked for meanwhile: it holds once the request is answered, and not before.
    """

    request: RequestId
    pending: Pending
    way: Way
    mode: str = ""


class Resumption:
    """The requests of one session that have lost their process."""

    def __init__(self, conductor: Conductor, book: RequestBook) -> None:
        self._conductor = conductor
        self._book = book
        self._parking: Parking | None = conductor.engine.parking if isinstance(conductor.engine, CanPark) else None
        self._awaited: Awaited | None = None
        self._tries: dict[RequestId, int] = {}
        self._watch: asyncio.Task[None] | None = None
        self.closing = False

    @property
    def keeps(self) -> bool:
        """Whether something would stay open if the process ended now."""
        return bool(self._kept().requests)

    def _kept(self) -> Kept:
        return kept_open(self._view()) if self._parking is not None and not self.closing else NOTHING

    # ------------------------------------------------------------------------------------ after an end

    async def recover(self) -> None:
        """A session that was left by a process of ours that stopped: close what nobody can go on with."""
        await self._settle_left()
        await self._publish(close_what_was_left(self._view(), self._kept()))

    async def go_on(self) -> None:
        """Bring up a process for answers that were stored and have not reached the agent."""
        for held in self._kept().requests:
            if held.answer is not None and self._conductor.agent is None:
                self._conductor.post(partial(self.resume, held.request.id))

    def concerns(self, events: list[Event]) -> bool:
        """Whether there is anything in what the agent said for `receive` to look at."""
        return self._parking is not None and any(type(event) in CONCERNS for event in events)

    async def receive(self, events: list[Event]) -> list[Event]:
        """What the agent said, as it goes into the log."""
        if self._parking is None:
            return events
        found: list[Event] = []
        for event in events:
            match event:
                case m.RequestOpened():
                    found += await self._asked(event, self._parking)
                case m.TurnEnded():
                    found += [*aftermath.left_at_end(self._conductor.log.outline()), event]
                case _:
                    found.append(event)
        return await self._hold_back(found) if any(isinstance(event, m.EngineDetached) for event in found) else found

    async def _hold_back(self, events: list[Event]) -> list[Event]:
        """The process is gone. What an answer still needs is not closed, unless we ended it for a limit.

        A killed process may have reported results that its transcript lacks. They are added there now: the next process
        reads it, and would ask again for a parked call that has run or was refused.
        """
        if any(isinstance(event, m.EngineDetached) and event.exit_code != 0 for event in events):
            await self._record(results_in(self._view(), events))
        limited = any(isinstance(event, m.LimitReached) for event in events)
        if limited or not self.keeps:
            return events
        await self._settle_left()
        kept = self._kept()
        pending, running = {each.request.id for each in self._view().requests}, _running(self._view())
        return [event for event in events if _stands(event, kept, pending, running)]

    async def _settle_left(self) -> None:
        """Of answers that may have been written: what became of their calls, as far as it can be known."""
        view = self._view()
        if self._parking is None or view.turn is None:
            return
        await self._record(results_in(view))
        for held in self._kept().requests:
            if not held.sent:
                continue
            try:
                way = await self._look(self._parking, held)
            except FileFailed as problem:
                log.warning("session %s: the transcript cannot be read: %s", self._conductor.log.session, problem)
                way = Way(kind="impossible", unknown=True)
            if way.kind == "settled":
                await self._publish(aftermath.settled(self._view(), held, way))
            elif way.unknown:
                await self._publish(
                    aftermath.ask_about_rerun(held, RequestId(f"req_{self._conductor.surroundings.new_id()}"))
                )

    async def detached(self) -> None:
        """The process is gone, and the log says so. One that was to ask again is told in words, by another."""
        awaited, self._awaited = self._awaited, None
        await self._stop_watch()
        if awaited is not None and not self._conductor.over:
            self._conductor.post(partial(self.resume, awaited.request, by_message=True))
        elif not self._conductor.over:
            await self.go_on()

    # ------------------------------------------------------------------------------------------ answers

    async def check(self, held: RequestView, answer: Answer) -> None:
        """Raise what speaks against storing the answer: it is none, or no process can be brought to take it."""
        engine = self._conductor.spec.engine
        if self._parking is None:
            raise EngineGone(engine, "the process that asked has ended")
        if self._conductor.agent is not None:
            raise EngineGone(engine, "it was started again for another request; it may ask this again")
        self._parking.check(held.request, answer)
        way = await self._look(self._parking, held)
        if way.kind == "impossible" and not way.unknown:
            raise EngineGone(engine, way.reason)

    async def _look(self, parking: Parking, held: RequestView) -> Way:
        """What can be done about a request."""
        return await self._when_free(parking.look, self._place(), pending_of(self._view(), held))

    async def _when_free(self, work: Callable[P, Way], *args: P.args, **kwargs: P.kwargs) -> Way:
        """Work on the conversation's files, again while its last process has them.

        Its end was reported a moment ago, and it may be dying still: where the keeper was killed, the kernel ends it.
        """
        until = self._conductor.surroundings.monotonic() + LOCK_S
        while True:
            way = await self._disk(work, *args, **kwargs)
            if not way.busy or self._conductor.surroundings.monotonic() > until:
                return way
            await asyncio.sleep(LOOK_S)

    async def resume(self, request: RequestId, *, by_message: bool = False) -> None:
        """Start a process for a stored answer. What cannot be done ends the request, with the reason."""
        held = self._find(request)
        if held is None or held.answer is None or self._conductor.over or self._conductor.agent is not None:
            return
        self._tries[request] = self._tries.get(request, 0) + 1
        if self._tries[request] > TRIES:
            await self._give_up(f"the agent ended each of the {TRIES} times that it was started for the answer")
            return
        try:
            await self._start(held, by_message=by_message)
        except (EngineError, HostError, RequestError) as problem:
            if self._conductor.agent is None:  # else its own end tells, and is followed by another try
                await self._give_up(str(problem))

    async def _start(self, held: RequestView, *, by_message: bool) -> None:
        assert self._parking is not None
        parking, pending, lock = self._parking, pending_of(self._view(), held), await self._lock()
        try:
            way = await self._when_free(parking.prepare, self._place(), pending, by_message=by_message)
            if way.kind == "anew" and (self._conductor.spec.fork or not said_in_turn(self._view())):
                way = Way(kind="impossible", reason=aftermath.NO_RECORD)
            if way.kind in ("impossible", "settled"):
                if lock is not None:
                    lock.release()  # what waits behind this turn begins at its end, and needs it
                    lock = None
                await self._end_without(held, way)
                return
            await self._publish(aftermath.before_process(self._view(), held, way), durable=True)
            if way.kind == "anew" and lock is not None:
                lock.release()
                lock = None
            mode = self._view().mode
            wanted = mode if held.request.kind != "plan" and mode != (way.mode or held.request.mode) else ""
            self._awaited = Awaited(request=held.request.id, pending=pending, way=way, mode=wanted)
            await self._conductor.resume_agent(
                standing_of(self._view()), mode=way.mode or held.request.mode, anew=way.kind == "anew", lock=lock
            )
            lock = None
        finally:
            if lock is not None:
                lock.release()
        if way.message:
            await self._conductor.say(way.message)
        elif way.kind == "anew":
            await self._conductor.say_again()
        else:
            self._watch = spawn(self._watch_over(), name="waiting to be asked again")
        await self._conductor.tell_state()

    async def _end_without(self, held: RequestView, way: Way) -> None:
        if way.kind == "settled":
            await self._publish(aftermath.settled(self._view(), held, way))
        await self._give_up(way.reason or "the call has its result; the rest of the turn was lost")

    async def _watch_over(self) -> None:
        """End a process that does not ask: its end makes for another one, which is told in words."""
        agent, patience = self._conductor.agent, self._conductor.services.settings.runtime.ask_again_s
        waited = ready = 0.0
        while agent is not None and ready < patience and waited < START_S:
            await asyncio.sleep(LOOK_S)
            waited += LOOK_S
            ready += LOOK_S if agent.ready else 0.0
        if agent is not None and self._awaited is not None:
            self._watch = None  # from here on its own end ends it
            await agent.end(close_wait=None)

    # ------------------------------------------------------------------------------- the agent went on

    def rejoin(self) -> None:
        """A process that was started for a stored answer outlived the service: it is waited for as before."""
        held = self._unsent()
        if held is None or self._parking is None:
            return
        view = self._view()
        asks = bool(held.request.call) and held.request.call in _running(view)
        way = Way(kind="ask") if asks else Way(kind="tell", again=True)
        wanted = view.mode if held.request.kind != "plan" and view.mode != held.request.mode else ""
        self._awaited = Awaited(request=held.request.id, pending=pending_of(view, held), way=way, mode=wanted)
        if asks and held.detached:
            self._watch = spawn(self._watch_over(), name="waiting to be asked again")

    async def rejoined(self) -> None:
        """It had asked already, and the service was killed before the answer was written."""
        held = self._unsent()
        if self._awaited is not None and held is not None and not held.detached:
            await self.opened(m.RequestOpened(request=held.request, parent=held.parent))

    def _unsent(self) -> RequestView | None:
        """The request of the open turn that was answered while no process waited, and not sent since."""
        view = self._view()
        unsent = [held for held in view.requests if held.answer is not None and not (held.sent or held.request.limit)]
        return next((held for held in unsent if held.turn == view.turn), None)

    # ------------------------------------------------------------------------------------- asked again

    async def _asked(self, event: m.RequestOpened, parking: Parking) -> list[Event]:
        """The agent asks: the very call that was answered, something else in its place, or something new."""
        awaited = self._awaited
        held = None if awaited is None else self._find(awaited.request)
        if awaited is None or held is None:
            rules = await self._disk(parking.sum_rules, self._place())
            return [replace(event, request=replace(event.request, rules=rules))]
        exact = awaited.way.kind == "ask" and not awaited.way.restarts
        if parking.is_same(awaited.pending, event.request, by_id=exact):
            self._book.adopt(held.request.id, RequestId(event.request.engine_request))
            before = held.request
            again = replace(
                event.request,
                id=before.id,
                mode=before.mode,
                rules=before.rules,
                replaces=before.replaces,
                rerun=before.rerun,
            )
            return [replace(event, request=again)]
        rules = await self._disk(parking.sum_rules, self._place())
        fresh = replace(event.request, rules=rules)
        if not exact:
            return [replace(event, request=fresh)]
        await self._stop_awaiting()
        withdrawn = m.RequestWithdrawn(request=held.request.id, reason=aftermath.OTHER_CALL)
        return [withdrawn, replace(event, request=replace(fresh, replaces=held.request.id))]

    async def opened(self, event: m.RequestOpened) -> bool:
        """Write the stored answer, if this is what it was stored for. False when the request is a new one."""
        held = self._find(event.request.id)
        if self._awaited is None or self._awaited.request != event.request.id or held is None or held.answer is None:
            return event.request.rerun
        mode = self._awaited.mode
        await self._stop_awaiting()
        agent = self._conductor.agent
        if agent is None:
            return True
        engine_id = self._book.engine_id(event.request.id)
        command = c.AnswerRequest(key=self._conductor.key(), request=engine_id, answer=held.answer)
        try:
            agent.check_answer(engine_id, held.answer)
        except EngineError:
            return True  # its end, which is about to be read, tells the rest
        except RequestError as problem:
            await self._ask_anew(event, engine_id, str(problem))
            return True
        await self._publish([m.RequestSent(request=event.request.id)], durable=True)
        try:
            agent.send(command)
            if mode:
                agent.send(c.SetMode(key=self._conductor.key(), mode=mode))
        except (EngineError, RequestError):
            return True  # it ended the request, or itself, while this was stored: that is about to be read
        await self._conductor.tell_state()
        return True

    async def _ask_anew(self, event: m.RequestOpened, engine_id: RequestId, reason: str) -> None:
        """The stored answer does not fit what is asked now: the person is asked again."""
        name = RequestId(f"req_{self._conductor.surroundings.new_id()}")
        self._book.adopt(name, engine_id)
        fresh = replace(event.request, id=name, replaces=event.request.id)
        await self._publish(
            [m.RequestWithdrawn(request=event.request.id, reason=reason), replace(event, request=fresh)], durable=True
        )
        await self._conductor.tell_state()

    # ------------------------------------------------------------------------------------------ endings

    async def end_turn(self, reason: str, *, unanswered: bool = False, audit: Sequence[bytes] = ()) -> bool:
        """End the open turn although no process is there; False when there is one, or no turn."""
        view = self._view()
        if self._conductor.agent is not None or view.turn is None:
            return False
        request = "unanswered" if unanswered else "withdrawn"
        await self._record(aftermath.cancelled(view))
        await self._end(aftermath.end_turn(view, reason, stop="interrupted", request=request), audit)  # type: ignore[arg-type]
        return True

    async def _give_up(self, reason: str) -> None:
        """No process can be brought to take the answer: the turn is lost, and the request ends with the reason."""
        self._awaited = None
        view = self._view()
        await self._record(aftermath.cancelled(view))
        await self._end(aftermath.end_turn(view, reason, stop="lost"))

    async def _end(self, events: list[Event], audit: Sequence[bytes] = ()) -> None:
        await self._publish(events, durable=True, audit=audit)
        for event in events:
            if isinstance(event, m.TurnEnded):
                await self._conductor.turn_ended(event)
        await self._conductor.tell_state()

    async def _record(self, results: tuple[Recorded, ...]) -> None:
        """Write results into the engine's transcript; one that cannot be written does not keep a turn open."""
        if self._parking is None or not results:
            return
        until = self._conductor.surroundings.monotonic() + LOCK_S
        missing = "its last process does not end"
        try:
            while not (done := await self._disk(self._parking.record, self._place(), results)):
                if self._conductor.surroundings.monotonic() > until:
                    break
                await asyncio.sleep(LOOK_S)
        except FileFailed as problem:
            done, missing = False, str(problem)
        if not done:
            log.warning("session %s: results are missing in the transcript: %s", self._conductor.log.session, missing)

    async def _disk(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Work on the engine's files. Raises `FileFailed` for whatever the file system refuses."""
        try:
            return await self._conductor.surroundings.blocking(work, *args, **kwargs)
        except OSError as problem:
            raise FileFailed(str(problem.filename or "the transcript"), problem.strerror or str(problem)) from problem

    async def stop(self) -> None:
        """Wait for nothing any more."""
        await self._stop_awaiting()

    async def _stop_awaiting(self) -> None:
        self._awaited = None
        await self._stop_watch()

    async def _stop_watch(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.cancel()
            await asyncio.wait((watch,))

    # ------------------------------------------------------------------------------------------- inside

    def _view(self) -> SessionView:
        return self._conductor.log.view()

    def _find(self, request: RequestId) -> RequestView | None:
        return next((held for held in self._view().requests if held.request.id == request), None)

    def _place(self) -> Place:
        view, spec = self._view(), self._conductor.spec
        return Place(
            session=view.resume.value if view.resume is not None else None,
            cwd=spec.cwd,
            environ={**self._conductor.services.environ, **spec.env},
            profile=spec.profile,
        )

    async def _lock(self) -> SessionLock | None:
        session = self._place().session
        if session is None:
            return None
        lock = self._conductor.services.warm.lock_on(self._conductor.engine, session)
        try:
            async with asyncio.timeout(LOCK_S):
                await lock.acquire(wait=True, left_s=LOCK_S)
        except TimeoutError:
            await lock.acquire()  # says who has it
        return lock

    async def _publish(self, events: list[Event], *, durable: bool = False, audit: Sequence[bytes] = ()) -> None:
        with self._conductor.following(events):
            await self._conductor.log.append(events, source="bridge", durable=durable, audit=audit)


def _running(view: SessionView) -> frozenset[str]:
    return frozenset(call.id for call in standing_of(view).calls if not call.ended)


def _stands(event: Event, kept: Kept, pending: set[RequestId], running: frozenset[str]) -> bool:
    """Whether an event of a process's end goes into the log as it is: what is kept, or has ended, does not end."""
    match event:
        case m.TurnEnded():
            return not kept.requests
        case m.RequestWithdrawn():
            return event.request in pending and event.request not in kept.ids
        case m.ToolEnded():
            return event.call in running and event.call not in kept.calls
        case _:
            return True
