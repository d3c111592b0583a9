"""The life of a session: cold, awake, released, closed or failed. `Session` adds what can be asked of it.

A session is cold at first: its log can be read, and no lease, task or process belongs to it. Its first command wakes
it: it is claimed, what was appended since is read, and what an earlier service left is closed or continued. When it is
released, no agent process may stay without an owner (`_stop`). A session that fails is abandoned: its hub drops it and
opens it again as after a crash, which is the path that is tested most.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import msgspec

from footplate.engines.base import Engine
from footplate.errors import FootplateError, SessionFailed, SessionOver, StoreError, UnknownSession
from footplate.events import model as m
from footplate.events.base import ResumeToken
from footplate.events.ids import SessionId
from footplate.events.model import Event
from footplate.events.view import QueuedPrompt
from footplate.runtime.allowance import Allowance
from footplate.runtime.conductor import Conductor, Halted, Links
from footplate.runtime.desk import Desk
from footplate.runtime.failures import Failures
from footplate.runtime.log import SessionLog
from footplate.runtime.mailbox import Mailbox
from footplate.runtime.rejoining import Rejoin
from footplate.runtime.requests import RequestBook
from footplate.runtime.resumption import Resumption
from footplate.runtime.services import Services
from footplate.runtime.spec import SessionSpec
from footplate.tasks import spawn

CATCH_UP_S = 0.02
"""Between two looks at whether an agent that was taken over has answered."""

log = logging.getLogger(__name__)
T = TypeVar("T")


class Parts(msgspec.Struct, frozen=True):
    """What moves a session that is awake."""

    mailbox: Mailbox
    conductor: Conductor
    allowance: Allowance
    resumption: Resumption
    desk: Desk


class SessionLife(ABC):
    """What every session needs to be opened, used and released. `on_failed` is its hub, which drops it then."""

    def __init__(
        self,
        services: Services,
        engine: Engine,
        spec: SessionSpec,
        log: SessionLog,
        *,
        failures: Failures,
        on_failed: Callable[[SessionLife, BaseException], None],
    ) -> None:
        self.id: SessionId = log.session
        self.last_used = services.surroundings.monotonic()
        """When it was last used, on the monotonic clock."""
        self._services = services
        self._bounds = services.surroundings.bounds
        self._engine = engine
        self._spec = spec
        self._log = log
        self._failures = failures
        self._on_failed = on_failed
        self._parts: Parts | None = None
        self._waking: asyncio.Task[Exception | None] | None = None
        self._failed_waking: BaseException | None = None
        self._rejoined: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[Exception | None] | None = None
        self._leaving = asyncio.Lock()
        self._holding = False
        self._over = False
        self._problem: SessionFailed | None = None

    def _assemble(self) -> Parts:
        """What moves it, as of the view that the log has now."""
        mailbox = Mailbox(f"session {self.id}", self._failed)
        links = Links(self._take_batch, self._post, self._halt, self._failed)
        conductor = Conductor(self._services, self._engine, self._spec, self._log, links)
        conductor.holding = self._holding
        allowance = Allowance(conductor)
        book = RequestBook(self._services.surroundings.new_id)
        resumption = Resumption(conductor, book)
        return Parts(mailbox, conductor, allowance, resumption, Desk(conductor, allowance, book, resumption))

    @property
    def _awake(self) -> Parts:
        if self._parts is None:
            raise RuntimeError(f"session {self.id} is cold")
        return self._parts

    @property
    def _mailbox(self) -> Mailbox:
        return self._awake.mailbox

    @property
    def _conductor(self) -> Conductor:
        return self._awake.conductor

    @property
    def _allowance(self) -> Allowance:
        return self._awake.allowance

    @property
    def _resumption(self) -> Resumption:
        return self._awake.resumption

    @property
    def _desk(self) -> Desk:
        return self._awake.desk

    # ------------------------------------------------------------------------------------------- opening

    async def load(self) -> None:
        """Read its log. Raises `UnknownSession` when it has none."""
        await self._log.load()
        if not self._log.last_seq:
            raise UnknownSession(self.id)

    async def begin(self, *, title: str, resume: ResumeToken | None) -> None:
        """Write the first event of a new session."""
        opened = m.SessionOpened(
            engine=self.spec.engine,
            cwd=self.spec.cwd,
            title=title,
            model=self.spec.model,
            mode=self.spec.mode,
            effort=self.spec.effort,
            resumed=resume,
        )
        self._log.claim(await self._services.store.claim(self.id))
        self._parts = self._assemble()
        await self._do(lambda: self._log.append([opened], source="bridge", durable=True))
        await self._do(self._conductor.tell_state)

    async def take_up(self, rejoin: Rejoin | None = None) -> None:
        """Wake the session if it is cold, with the agent process that outlived the last service where there is one.

        Once begun it goes through, though the caller be cancelled. Raises `SessionOver`, `SessionFailed`, or what the
        store raises; the session stays cold then, and can be read.
        """
        self._check_open()
        if self._waking is None:
            if self._parts is not None:
                return
            self._failures.check(self.id)
            self._waking = spawn(self._wake(rejoin), name=f"wake session {self.id}", awaited=True)
        waking = self._waking
        await asyncio.wait((waking,))
        if waking.cancelled():
            raise self._refusal()
        problem = waking.result()
        if problem is not None:
            raise problem

    async def _wake(self, rejoin: Rejoin | None) -> Exception | None:
        """Returns what went wrong: any number of callers wait for it, or none."""
        try:
            lease = await self._services.store.claim(self.id)
            await self._log.load()
            self._log.claim(lease)
            self._parts = self._assemble()
            if rejoin is None or not await self._try_rejoin(rejoin):
                await self._continue()
            if self._failed_waking is not None:
                raise self._failed_waking  # noqa: TRY301 - a posted piece of work or a task has failed meanwhile
        except FootplateError as problem:
            await self._fall_asleep()
            return problem
        except Exception as problem:
            log.exception("session %s cannot be opened", self.id)
            self._failures.note(self.id, problem)
            await self._fall_asleep()
            return SessionFailed(self.id, f"{type(problem).__name__}: {problem}")
        finally:
            self._waking = self._failed_waking = None
        return None

    async def _continue(self) -> None:
        """Close what no process works on any more, publish the state, and apply the answers that are due."""
        await self._mailbox.do(self._resumption.recover)
        self._desk.take_up()
        await self._mailbox.do(self._allowance.take_up)
        await self._mailbox.do(self._resumption.go_on)
        await self._mailbox.do(self._conductor.open_queue)
        await self._mailbox.do(self._conductor.tell_state)

    async def _try_rejoin(self, rejoin: Rejoin) -> bool:
        """Continue with the living agent process. One that cannot be reattached is ended, and False returned."""
        try:
            await self._mailbox.do(lambda: self._rejoin(rejoin))
        except StoreError:
            raise
        except Exception as problem:  # noqa: BLE001 - whatever is wrong with it, the session continues without it
            log.warning("session %s: agent process %s is ended: %s", self.id, rejoin.held.agent.id, problem)
            await self._fall_asleep()
            if self._services.keepers is not None:
                self._services.keepers.end(rejoin.held)
            self._parts = self._assemble()
            self._failed_waking = None
            return False
        self._rejoined = spawn(self._catch_up(), name=f"reattach {self.id}", on_failure=self._failed)
        return True

    async def _rejoin(self, rejoin: Rejoin) -> None:
        self._desk.rejoin()
        self._desk.take_up()
        await self._conductor.rejoin(rejoin)
        self._resumption.rejoin()
        await self._conductor.tell_state()

    async def _catch_up(self) -> None:
        """Wait until the agent has answered: by then all that it said before is in the log.

        An agent that cannot answer is ended, because its session would wait for ever. A service that was killed while
        it closed the session has closed the agent's stdin, and Claude Code then runs on until its background commands
        have ended.
        """
        patience = self._services.surroundings.bounds.rejoin_s
        until = self._services.surroundings.monotonic() + patience
        while (agent := self._conductor.agent) is not None and not agent.ready:
            if agent.unreachable or self._services.surroundings.monotonic() > until:
                log.warning("session %s: the reattached agent does not answer; it is ended", self.id)
                await agent.end(close_wait=None)
                break
            await asyncio.sleep(CATCH_UP_S)
        await self._mailbox.do(self._resumption.rejoined)
        await self._mailbox.do(self._conductor.go_on)  # prompts that it does not know are handed over

    @property
    def _catches_up(self) -> bool:
        """Whether it is not known yet what an agent that was taken over has begun."""
        return self._rejoined is not None and not self._rejoined.done()

    async def _fall_asleep(self) -> None:
        """Be cold again: waking failed. The next command tries it from the start."""
        if self._parts is not None:
            await self._drop(self._parts, SessionFailed(self.id, "it could not be opened"), leave=False)
            self._parts = None

    # ------------------------------------------------------------------------------------------- state

    @property
    def spec(self) -> SessionSpec:
        """How it was opened, with the effort that was set since."""
        spec = self._spec if self._parts is None else self._parts.conductor.spec
        effort = self._log.outline().effort or spec.effort
        return spec if effort == spec.effort else msgspec.structs.replace(spec, effort=effort)

    @property
    def cold(self) -> bool:
        """Whether nothing was asked of it since it was opened: no lease, no task and no process belongs to it."""
        return self._parts is None and self._waking is None

    @property
    def busy(self) -> bool:
        """Whether a turn runs or is about to."""
        return self._log.outline().turn is not None if self._parts is None else self._parts.conductor.busy

    @property
    def working(self) -> bool:
        """Whether its agent has something to do: a turn, which may wait for an answer, or a background task."""
        return self.attached and (self.busy or any(task.status == "running" for task in self._log.view().tasks))

    @property
    def attached(self) -> bool:
        """Whether an agent process lives."""
        return self._parts is not None and self._parts.conductor.agent is not None

    @property
    def resume(self) -> ResumeToken | None:
        """The engine's conversation of the session, once it is known."""
        return self._log.outline().resume

    @property
    def resumable(self) -> bool:
        """Whether the next process can go on with its conversation; else this one is not ended for being idle."""
        return self._log.outline().resumable

    @property
    def in_use(self) -> bool:
        """Whether it must stay in memory: it has a reader, a process, a timer, waiting prompts, or work to do."""
        if self._log.readers or self._waking is not None:
            return True
        if self._parts is None:
            return False
        timed = self._conductor.waits or self._desk.waits or self._catches_up
        return self.attached or timed or not self._mailbox.idle or bool(self._log.outline().queue)

    @property
    def idle_since(self) -> float:
        """When the last turn ended, on the monotonic clock."""
        return self._conductor.idle_since

    # ------------------------------------------------------------------------------------------ releasing

    async def evict(self, *, idle: bool = False) -> None:
        """End the agent process unless a turn runs; the next prompt starts another.

        `idle`: nor while a background task runs, and not one that has its conversation in memory alone.

        The mailbox decides, and from then on a prompt waits for the next process: it never meets one that is ending.
        """
        if not self.attached or self._is_over:
            return
        await self._do(lambda: self._evict(idle=idle))
        await self._conductor.left()

    async def _evict(self, *, idle: bool) -> None:
        if self._conductor.agent is not None and not (self.busy or (idle and (self.working or not self.resumable))):
            await self._conductor.renew()

    async def close(self, reason: str = "") -> None:
        """End the session: what waits is withdrawn, open requests end unanswered, the process ends in order.

        Once begun it goes through, though the caller be cancelled. When the store refuses the end, the session is
        opened again as after a crash, and can be closed then.
        """
        if self._closing is None:
            self._closing = spawn(self._close(reason), name=f"close session {self.id}", awaited=True)
        closing = self._closing
        await asyncio.wait((closing,))
        problem = closing.result()
        if problem is not None:
            raise problem

    async def _close(self, reason: str) -> Exception | None:
        """Returns what went wrong: any number of callers wait for it, or none."""
        try:
            async with self._leaving:
                await self._do(lambda: self._begin_close(reason))
                try:
                    await self._end_process()
                    await self._run(lambda: self._end_close(reason))
                except Exception as problem:
                    self._give_up(problem)
                    raise
                await self._stop(leave=False)
        except Exception as problem:  # noqa: BLE001 - it belongs to those who wait
            return problem
        finally:
            self._closing = None
        return None

    async def shut(self) -> None:
        """Release the session without ending it: as a process that stops does."""
        async with self._leaving:
            await self._stop(leave=False)

    async def detach(self) -> None:
        """Release the session and leave its agent to the keeper, in the middle of whatever it does."""
        async with self._leaving:
            await self._stop(leave=True)

    def hold(self) -> None:
        """Begin no further turn: prompts are taken and wait for the next service."""
        self._holding = True
        if self._parts is not None:
            self._parts.conductor.holding = True

    async def _stop(self, *, leave: bool) -> None:
        """Release everything, in an order in which no agent process is left without an owner.

        A piece of work may be starting one. So first nothing more may begin, then that piece ends, then the process is
        released, and only then the mailbox closes, through which the last events of the process come.
        """
        self._over = True
        if self._waking is not None:
            await asyncio.wait((self._waking,), timeout=self._bounds.settle_s)
        if self._parts is not None and not self._mailbox.closed:
            self._conductor.over = True
            self._stop_timers()
            await self._stop_catching_up()
        if not await self._settled():
            limit = self._bounds.settle_s
            log.warning("session %s: a piece of work did not end within %g s and is cancelled", self.id, limit)
            await self.abandon(leave=leave)
        elif self._parts is not None:
            if leave and self._conductor.agent is not None:
                await self._conductor.agent.leave()
            else:
                await self._end_process()
            await self._resumption.stop()
            await self._mailbox.close()
            self._stop_timers()
        self._log.close()

    async def _settled(self) -> bool:
        """Wait until the pieces of work that were accepted so far have ended; False when one does not."""
        if self._waking is not None:
            return False
        if self._parts is None or self._mailbox.closed:
            return True
        try:
            async with asyncio.timeout(self._bounds.settle_s):
                await self._mailbox.do(_nothing)
        except TimeoutError:
            return False
        return True

    async def abandon(self, *, leave: bool = False) -> None:
        """Give the session up without its mailbox: it has failed, or does not come to an end.

        Its process is ended at once, or with `leave` left to the keeper if it can be reattached. Callers that wait get
        an error, and readers end. Nothing is stored: the next time it is opened it is treated as after a crash.
        """
        self._over = True
        if self._waking is not None:
            self._waking.cancel()
            await asyncio.wait((self._waking,))
        try:
            if self._parts is not None:
                await self._drop(self._parts, self._refusal(), leave=leave)
        finally:
            self._log.close()

    async def _drop(self, parts: Parts, problem: Exception, *, leave: bool) -> None:
        parts.conductor.over = True
        await self._stop_catching_up()
        agent = parts.conductor.agent
        if agent is not None and leave:
            await agent.abandon(leave=True)
        elif agent is not None:
            agent.mute()  # before the mailbox closes, which would refuse what it says now
        await parts.mailbox.abandon(problem)
        await parts.resumption.stop()
        if parts.conductor.agent is not None and not leave:
            await parts.conductor.agent.abandon()
        await parts.conductor.left()
        parts.conductor.stop_waiting()
        parts.desk.stop_waiting()

    def _failed(self, problem: BaseException) -> None:
        """A task or a piece of work of this session has failed; how far it came is unknown.

        While it wakes, waking fails; while it is released, the release continues.
        """
        if self._waking is not None:
            self._failed_waking = problem
        elif not self._is_over:
            self._give_up(problem)

    def _give_up(self, problem: BaseException) -> None:
        log.error("session %s failed: %s: %s", self.id, type(problem).__name__, problem, exc_info=problem)
        self._problem = SessionFailed(self.id, f"it failed ({type(problem).__name__}: {problem})")
        self._conductor.over = True
        self._on_failed(self, problem)

    def _stop_timers(self) -> None:
        self._conductor.stop_waiting()
        self._desk.stop_waiting()

    async def _stop_catching_up(self) -> None:
        if self._rejoined is not None:
            self._rejoined.cancel()
            await asyncio.wait((self._rejoined,))

    async def _end_process(self) -> None:
        agent = self._conductor.agent
        if agent is not None:
            works = self.busy or self._catches_up
            await agent.end(close_wait=None if self._resumption.keeps else 0.0 if works else 2.0)
        await self._conductor.left()

    async def _begin_close(self, reason: str) -> None:
        self._conductor.over = self._resumption.closing = True  # first: the end of a turn must not begin the next one
        try:
            if not self._catches_up:  # else its agent may have begun with any of them
                await self._log.append(_closed(self._conductor.waiting()), source="bridge")
            await self._resumption.end_turn(reason or "the session was closed", unanswered=True)
            await self._desk.close(reason or "the session was closed")
        except BaseException:
            self._conductor.over = self._resumption.closing = False
            raise

    async def _end_close(self, reason: str) -> None:
        left: list[Event] = _closed(self._log.outline().queue)
        with self._log.patiently():
            await self._log.append([*left, m.SessionClosed(reason=reason)], source="bridge", durable=True)

    # ------------------------------------------------------------------------------------- in the mailbox

    async def _do(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do it in the mailbox, of a session that is awake by then. Raises `SessionOver` or `SessionFailed`.

        While events of the agent wait for a store that refuses them, everybody else is refused at once.
        """
        await self._ready()
        if self._log.refused is not None:
            raise self._log.refused
        self.last_used = self._services.surroundings.monotonic()
        return await self._run(work)

    async def _ready(self) -> None:
        """Wake it for its first command."""
        self._check_open()
        if self._parts is None or self._waking is not None:
            await self.take_up()
            self._check_open()

    async def _run(self, work: Callable[[], Awaitable[T]]) -> T:
        if self._mailbox.closed:
            raise self._refusal()
        try:
            return await self._mailbox.do(work)
        except FootplateError:
            raise
        except Exception as problem:
            raise self._problem or SessionFailed(self.id, f"{type(problem).__name__}: {problem}") from problem

    def _post(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do it in the mailbox without a caller that waits."""

        async def patiently() -> None:
            if self._log.outline().state == "closed":
                return  # nothing follows the end of a session
            with self._log.patiently():
                await work()

        self._mailbox.post(patiently)

    def _check_open(self) -> None:
        if self._is_over:
            raise self._refusal()

    @property
    def _is_over(self) -> bool:
        """Whether it takes nothing more. One that was closed in an earlier life can still be read."""
        if self._parts is None:
            return self._over or self._log.outline().state == "closed"
        return self._over or self._parts.conductor.over or self._parts.mailbox.closed

    def _refusal(self) -> SessionFailed | SessionOver:
        return self._problem or SessionOver(self.id)

    def _key(self) -> str:
        """A key for a command of our own, which may be what wakes the session."""
        return self._services.surroundings.new_id()

    @abstractmethod
    async def _take_batch(self, batch: list[Event]) -> None:
        """Take what the agent says, in the mailbox."""

    @abstractmethod
    async def _halt(self, limit: m.LimitReached, where: Halted) -> None:
        """A limit is reached."""


async def _nothing() -> None:
    """A piece of work that only waits its turn."""


def _closed(prompts: Iterable[QueuedPrompt]) -> list[Event]:
    """These prompts will never begin."""
    return [m.PromptWithdrawn(prompt=each.id, reason="closed") for each in prompts]
