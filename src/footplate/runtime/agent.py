"""The agent of a session: one process at a time, started when it is needed, locked against other writers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import msgspec

from footplate.engines.base import Engine, Options, Query
from footplate.engines.rejoining import CanRejoin, Where
from footplate.errors import EngineGone, EngineNotFound, LockHeld
from footplate.events.base import ResumeToken
from footplate.events.commands import Command
from footplate.events.ids import EngineSessionId, RequestId, SessionId
from footplate.events.model import (
    EngineAttached,
    EngineDetached,
    Event,
    Notice,
    PromptSteered,
    PromptWithdrawn,
    TurnEnded,
    TurnStarted,
    UserMessage,
)
from footplate.events.requests import Answer
from footplate.host.locks import SessionLock
from footplate.runtime.handlers import Handlers
from footplate.runtime.line_tap import Sink
from footplate.runtime.rejoining import AgentRecord, Rejoin, RejoinedWire, can_rejoin, strike_out, write_down
from footplate.runtime.runner import Runner
from footplate.runtime.services import Services
from footplate.runtime.taps import Taps
from footplate.runtime.unstored import Unstored
from footplate.runtime.warm import Started
from footplate.runtime.wires import ProcessWire
from footplate.tasks import spawn

Take = Callable[[list[Event]], Awaitable[None]]
"""Gets the events of an agent, batch by batch, until it has ended."""

FOLLOW_S = 10.0
"""How long a conversation that the agent announces may be in use by somebody else before the agent is ended."""

OUTSIDE = (Notice, PromptSteered, PromptWithdrawn, TurnStarted, UserMessage, EngineDetached)
"""Events of a process that may be stored though the session does not have the conversation."""

OnFailure = Callable[[BaseException], None]


class Agent:
    """A running agent process, its lock, and the task that hands on what it says.

    When that task fails (`take` raised what it should not, or the store has refused for too long) nobody reads the
    agent any more: `on_failure` is called, and whoever owns the session gives it up.
    """

    def __init__(
        self,
        runner: Runner,
        lock: SessionLock | None,
        take: Take,
        on_failure: OnFailure,
        *,
        lock_on: Callable[[EngineSessionId], SessionLock],
    ) -> None:
        """`lock` is the one on its conversation, if its id is known; `lock_on` makes one for an id it announces."""
        self._runner = runner
        self._lock = lock
        self._lock_on = lock_on
        self._attached: ResumeToken | None = None
        self._refused = ""
        self._unsettled = not runner.settled
        self._unstored: Unstored | None = None
        self._on_over: Callable[[], Awaitable[None]] | None = None
        self._pump = spawn(self._hand_on(take), name="agent", on_failure=on_failure)

    @classmethod
    async def start(
        cls,
        services: Services,
        engine: Engine,
        options: Options,
        take: Take,
        on_failure: OnFailure,
        *,
        lock: SessionLock | None = None,
        session: SessionId | None = None,
    ) -> Agent:
        """Start the agent's process; `take` gets its events, batch by batch, until it has ended.

        `lock` is the one on its session, if the caller has it already: it is freed at the end of the process.
        Raises `EngineError` or `HostError` when it cannot start, `LockHeld` when another process writes the session.
        """
        try:
            started = await services.warm.start(engine, options, lock=lock)
        except EngineNotFound:
            if services.provide is None or not await services.provide(engine):
                raise
            started = await services.warm.start(engine, options, lock=lock)
        lock_on = partial(services.warm.lock_on, engine)
        agent = cls(started.runner, started.lock, take, on_failure, lock_on=lock_on)
        agent._share_lock()
        if services.keepers is not None and session is not None and can_rejoin(engine):
            try:
                await agent._be_kept(services, session, engine, started)
            except BaseException:
                await agent.abandon()  # nobody else knows of it yet: without this its process would have no owner
                raise
        return agent

    def _count(self, services: Services, session: SessionId) -> None:
        """Where nothing else has what it says, know at any time whether all of it is stored."""
        if self._runner.restful is not None:
            self._unstored = services.surroundings.open_mark(services.data, session)
            self._runner.mark(self._unstored)

    async def _be_kept(self, services: Services, session: SessionId, engine: Engine, started: Started) -> None:
        """Have it outlive us: it is written down first, so that whoever finds it knows whose it is."""
        kept = started.runner.kept
        if kept is None:
            return
        options = msgspec.structs.replace(started.options, standing=None)
        record = AgentRecord(
            session=session, engine=engine.name, agent=kept.id, installed=started.installed, options=options
        )
        await write_down(services, record)
        self._count(services, session)
        kept.note(kept=True, session=session)
        self._on_over = partial(strike_out, services, session)

    @classmethod
    async def rejoin(
        cls,
        services: Services,
        engine: Engine,
        rejoin: Rejoin,
        options: Options,
        take: Take,
        on_failure: OnFailure,
        *,
        ended: frozenset[str] = frozenset(),
    ) -> Agent:
        """Take over an agent that goes on; `options` say how it stands, `ended` which of its requests are over.

        Raises `LockHeld` when another process writes the session, `HostError` when the keeper does not have it.
        """
        if services.keepers is None or not isinstance(engine, CanRejoin) or options.standing is None:
            raise EngineGone(engine.name, "it cannot be taken over")
        surroundings = services.surroundings
        conversation_id = options.session_id or options.resume
        where = Where(
            session=conversation_id,
            cwd=options.cwd,
            environ={**services.environ, **options.env},
            profile=options.profile,
            ended=ended,
            whole=await services.surroundings.blocking(
                services.surroundings.is_whole, services.data, rejoin.record.session
            ),
        )
        lock_on = partial(services.warm.lock_on, engine)
        lock = lock_on(conversation_id or EngineSessionId(""))
        if options.resumable and not rejoin.held.agent.locked:
            await lock.acquire()
        try:
            rejoining = await surroundings.blocking(engine.rejoin, options.standing, where)
            process = await services.keepers.take(rejoin.held)
        except BaseException:
            lock.release()
            raise
        if rejoin.held.agent.locked:
            lock.adopt(process.take_lock())
        wire = RejoinedWire(ProcessWire(process, options.resources), rejoining)
        conversation = engine.converse(options, rejoin.record.installed)
        runner = Runner(
            wire, conversation, engine=engine.name, handlers=Handlers(hooks=services.hooks), bounds=surroundings.bounds
        )
        agent = cls(runner, lock, take, on_failure, lock_on=lock_on)
        agent._share_lock()
        agent._count(services, rejoin.record.session)
        agent._on_over = partial(strike_out, services, rejoin.record.session)
        return agent

    async def _hand_on(self, take: Take) -> None:
        try:
            async for batch in self._runner.batches():
                await take(await self._follow(batch))
                self._settle()
            await self.let_go()
        finally:
            self._free()

    async def _follow(self, batch: list[Event]) -> list[Event]:
        """Have the lock that these events call for, before anybody learns of them."""
        events: list[Event] = []
        for event in batch:
            if isinstance(event, EngineAttached) and not self._refused:
                events.append(await self._attach(event))
            elif self._refused:
                events += self._outside(event)
            else:
                events.append(event)
            if isinstance(event, EngineDetached):
                self._free()  # the process is gone: whoever learns so may start the next one
        return events

    async def _attach(self, event: EngineAttached) -> Event:
        if event.resumable:  # else its id means nothing to anybody: agents that count from 1 all begin with the same
            self._refused = await self._lock_announced(event.engine_session_id)
        if self._refused:
            return Notice(level="error", text=self._refused, code=LockHeld.code)
        self._attached = ResumeToken(engine=event.engine, value=event.engine_session_id)
        return event

    def _outside(self, event: Event) -> list[Event]:
        """What the session stores of an event in a conversation that it does not have: that the turn has failed."""
        if isinstance(event, TurnEnded):
            return [
                TurnEnded(
                    turn=event.turn,
                    ok=False,
                    error=self._refused,
                    error_kind=LockHeld.code,
                    stop_reason="error",
                    resume=self._attached,
                    origin=event.origin,
                    prompts=event.prompts,
                )
            ]
        return [event] if isinstance(event, OUTSIDE) else []

    async def _lock_announced(self, session: EngineSessionId) -> str:
        """Lock the conversation that the process announces before anybody can learn its id and resume it.

        It may be another one than was expected: a new id where the engine does not let us choose, or after `/clear`.
        When somebody else has it the process is ended, and this says why: two writers would lose one branch of the
        conversation.
        """
        lock = self._lock_on(session)
        if self._lock is not None and self._lock.key == lock.key:
            return ""
        if self._lock is not None and self._lock.give_to(lock):
            self._lock = lock  # the keeper holds it already, for a service that did not come to store the id
            return ""
        try:
            async with asyncio.timeout(FOLLOW_S):
                await lock.acquire(wait=True)
        except (TimeoutError, LockHeld):
            holder = lock.holder()
            who = holder.describe() if holder is not None else "another process"
            await self._runner.end(close_wait=0.0)
            return f"cannot continue conversation {session}: it is in use by {who}; the agent process was ended"
        before, self._lock = self._lock, lock
        self._share_lock()
        if before is not None:
            before.release()
        return ""

    def _share_lock(self) -> None:
        """Have the keeper hold the lock, too: nobody else gets the conversation before the process has ended."""
        if self._lock is not None and self._lock.held and self._runner.kept is not None:
            self._runner.kept.hold(self._lock.fd)

    def _free(self) -> None:
        """Its session is anybody's, unless it goes on without us: then the keeper has the lock, and the mark is due.

        The mark of one that has ended stays set: its last words are not stored yet.
        """
        if self._lock is not None and self._runner.left:
            self._lock.leave()
        elif self._lock is not None:
            self._lock.release()
        if self._unstored is not None and not self._runner.left:
            self._unstored.leave()

    def name(self, session: SessionId, taps: Taps, sink: Sink | None) -> None:
        """Set the session of this agent: its raw lines are logged under that name, published and recorded."""
        self._runner.session = session
        self._runner.tap = taps.post
        self._runner.lines.connect(sink)

    def _settle(self) -> None:
        """What the keeper had kept of its output is stored, once."""
        if self._unsettled and self._runner.settled and self._runner.kept is not None:
            self._unsettled = False
            self._runner.kept.settle()

    async def let_go(self) -> None:
        """All that it said is stored: nobody need know it any more, unless it goes on without us. Twice: once.

        Before another is started for its session, which is written down in the same place.
        """
        if self._runner.left or self._runner.kept is None:
            return
        self._unsettled = False
        self._runner.kept.release()
        on_over, self._on_over = self._on_over, None
        if on_over is not None:
            await on_over()

    @property
    def ready(self) -> bool:
        """Whether it has said that it is there."""
        return self._runner.ready

    @property
    def unreachable(self) -> bool:
        """Whether nothing can be said to it any more, though it may go on."""
        return self._runner.unreachable

    def tell_waiting(self, *, waiting: bool) -> None:
        """Let the keeper know whether a request of it is open: then it must not be interrupted."""
        if self._runner.kept is not None:
            self._runner.kept.note(waiting=waiting)

    async def leave(self) -> None:
        """Let go of it without ending it, once all that it said so far is stored. It is taken over by `rejoin`."""
        await self._runner.leave()
        await asyncio.wait((self._pump,))
        if self._runner.left and self._runner.kept is not None:
            self._runner.kept.leave()
            self._leave_mark()

    def _leave_mark(self) -> None:
        """What was read and not fed to the conversation is with the keeper again: the rest is stored, or not."""
        if self._unstored is not None:
            if self._runner.told:
                self._unstored.clear()
            self._unstored.leave()

    def mute(self) -> None:
        """Hand on nothing more of what it says: nobody takes it any longer. `abandon` follows."""
        self._pump.cancel()

    async def abandon(self, *, leave: bool = False) -> None:
        """End the process at once without storing what it says, or leave it to the keeper if it can be reattached."""
        if leave and self._on_over is not None:
            await self._runner.leave()
        self.mute()
        await asyncio.wait((self._pump,))
        if self._runner.left and self._runner.kept is not None:
            self._runner.kept.leave()
            if self._unstored is not None:
                self._unstored.leave()  # it stays set: some of what was read may not be stored
        else:
            # Its record stays: what it said last is not stored, so whoever continues must know that it has been.
            await self._runner.end(close_wait=0.0)
            if self._runner.kept is not None:
                self._runner.kept.release()
        self._free()

    def send(self, command: Command) -> None:
        """Have a command written to it; returns at once. Raises what `Runner.send` raises."""
        self._runner.send(command)

    def check_answer(self, request: RequestId, answer: Answer) -> None:
        """Raise what `send` would raise for this answer. Changes nothing."""
        self._runner.check_answer(request, answer)

    @property
    def undelivered(self) -> frozenset[str]:
        """The keys of commands that it cannot have read."""
        return self._runner.undelivered

    @property
    def deaf(self) -> bool:
        """Whether it has not read its input for too long."""
        return self._runner.deaf

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
