"""What moves a session: prompts to the agent in their order, its process beneath them, limits, the state it is in.

Everything here runs in the session's mailbox, one piece after another: nothing is locked, nothing waits for a person,
and nothing waits for an agent to read. What a caller is told is decided by one append; what follows from it is posted,
so that a caller never gets an error for something that is stored.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import msgspec

from footplate.engines.base import Engine, Keeping, Options
from footplate.engines.standing import Standing
from footplate.errors import (
    EngineError,
    EngineGone,
    EngineSilent,
    FootplateError,
    HostError,
    InvalidValue,
    LockHeld,
    RequestError,
)
from footplate.events import commands as c
from footplate.events import model as m
from footplate.events.content import ContentBlock, TextBlock
from footplate.events.ids import PromptId, TurnId
from footplate.events.model import Event
from footplate.events.requests import Destination
from footplate.events.run_notes import word_exit
from footplate.events.view import QueuedPrompt
from footplate.events.wording import format_duration
from footplate.host.locks import SessionLock
from footplate.runtime.agent import Agent
from footplate.runtime.equipment import equip
from footplate.runtime.guard import guard_hooks
from footplate.runtime.interrupting import Interrupting
from footplate.runtime.limit_requests import GO_ON as RAISED
from footplate.runtime.limit_requests import open_limit_requests
from footplate.runtime.limits import Spent, reached, spent_calls, spent_money, told
from footplate.runtime.log import SessionLog
from footplate.runtime.orphan import WAITS, Orphan
from footplate.runtime.paused_queue import announce, find_reason
from footplate.runtime.progress import Progress
from footplate.runtime.records import Doubts, begin_anew, is_missing, lost_in_begin, said_in_turn
from footplate.runtime.recovery import BRIDGE
from footplate.runtime.rejoining import Rejoin, rejoining_options, write_down
from footplate.runtime.services import Services
from footplate.runtime.shell import as_context
from footplate.runtime.spec import SessionSpec, keep_spec
from footplate.runtime.standing import standing_of
from footplate.runtime.starting import starting_options
from footplate.runtime.status import Situation, is_shown, state_of
from footplate.runtime.usage_pause import UsagePause
from footplate.tasks import Tasks

log = logging.getLogger(__name__)
When = Literal["queue", "steer", "now"]
Halted = Literal["before", "within"]
GO_ON = "The usage limit is over. Go on where you stopped."
UNHEARD = "unheard"
"""Stands for the key of a command that found its agent already ended."""


class Links(msgspec.Struct, frozen=True):
    """What ties a conductor to its session.

    `take` gets the agent's batches, `post` has a timer's work done in turn, `halt` hears of a limit that is reached:
    before a prompt, or in a turn that it cut short. `failed` gives the session up when nobody reads its agent any more.
    """

    take: Callable[[list[Event]], Awaitable[None]]
    post: Callable[[Callable[[], Awaitable[None]]], None]
    halt: Callable[[m.LimitReached, Halted], Awaitable[None]]
    failed: Callable[[BaseException], None]


class Conductor:
    """The moving parts of one session."""

    def __init__(self, services: Services, engine: Engine, spec: SessionSpec, log: SessionLog, links: Links) -> None:
        self.spec = spec
        self.log = log
        self.services = services
        self.surroundings = services.surroundings
        self.agent: Agent | None = None
        self.over = False
        self.holding = False
        self.idle_since = self.surroundings.monotonic()
        self.post = links.post
        self._take = links.take
        self._halt = links.halt
        self._failed = links.failed
        self.engine = engine
        self._returned: set[PromptId] = set()
        view = log.view()
        self.progress = Progress(view)
        self._doubts = Doubts(view, self.surroundings)
        self._cut: m.LimitReached | None = None
        self._outdated = False
        self._orphan = Orphan(lambda: links.post(self.go_on))
        self._leaver: Agent | None = None
        self._endings = Tasks()
        self._keys = 0
        self._paused = self._starting = False
        self.interrupting = Interrupting(self._endings, patience_s=self.surroundings.bounds.interrupt_s)
        self._told_waiting = False
        self._pause = UsagePause(
            self.surroundings, lambda: links.post(self._end_pause), allowed=services.settings.runtime.resume_at_reset
        )
        self._clock: asyncio.TimerHandle | None = None

    @property
    def busy(self) -> bool:
        """Whether a turn runs or is about to."""
        return self.progress.busy

    def key(self) -> str:
        """A key for a command of our own."""
        self._keys += 1
        return f"{self.log.session}-{self.log.epoch}-{self._keys}"

    # ------------------------------------------------------------------------------------------- prompts

    async def accept(self, prompt: PromptId, content: tuple[ContentBlock, ...], when: When) -> None:
        """Take a prompt for good, then hand it over as soon as it may be."""
        if prompt in self.log.accepted:
            self.release()  # whoever sends it again wants it to run
            return
        queued = m.PromptQueued(prompt=prompt, content=content, position=len(self.log.outline().queue))
        await self.log.append([queued], source="person", then=self._state_at_once(), durable=True)
        self._paused = False
        if not self._pause.continues:
            self._pause.stop()  # the person need not wait for the reset
        if when != "queue" and self.busy:
            self._hand_over_now(prompt, content, when)
        self.post(self.go_on)

    def _hand_over_now(self, prompt: PromptId, content: tuple[ContentBlock, ...], when: When) -> None:
        """Give it to the turn that runs, where the agent can take it; it is accepted already, so else it waits."""
        try:
            self._hand_over(prompt, content, when)
        except (EngineError, RequestError) as problem:
            log.info("session %s: prompt %s waits for its own turn: %s", self.log.session, prompt, problem)

    async def continue_queue(self) -> None:
        """Let prompts run that wait since the service lost the turn before them."""
        self.release()

    def release(self) -> None:
        """A person attends to the session: nothing that waits is paused any longer."""
        self._paused = False
        self.post(self.go_on)

    async def open_queue(self) -> None:
        """The session was opened again: what waits begins, unless that is paused (`paused_queue`).

        A process that serves one command does not start it: the agent would end with the command, and the turn be lost.
        """
        view = self.log.view()
        if view.state == "parked" and view.until is not None:
            self._pause.start(view.until)
        waiting, options = self.waiting(), self._options()
        reason = ""
        if waiting and not self.busy:
            reason = await find_reason(self.services, self.log.session, view, self._doubts, self.engine, options)
        if reason:
            self._paused = True
            await self.log.append(announce(view, len(waiting), reason), source="bridge")
        elif self.services.start_waiting:
            self.post(self.go_on)

    async def withdraw(self, prompt: PromptId) -> None:
        """Take back a prompt that still waits, with us or with the agent."""
        if prompt in self.progress.sent and self.agent is not None:
            self.agent.send(c.WithdrawPrompt(key=self.key(), prompt=prompt))
        elif any(each.id == prompt for each in self.waiting()):
            await self.log.append([m.PromptWithdrawn(prompt=prompt, reason="taken back")], source="person")
        else:
            raise InvalidValue("prompt", prompt, "a prompt that still waits")

    async def steer(self, prompt: PromptId) -> None:
        """Hand a waiting prompt to the turn that runs. Raises `UnsupportedOption` where the engine cannot."""
        waiting = next((each for each in self.waiting() if each.id == prompt), None)
        if waiting is None or not self.busy:
            raise InvalidValue("prompt", prompt, "a prompt that waits behind a turn")
        self._hand_over(prompt, waiting.content, "steer")

    async def reorder(self, prompts: tuple[PromptId, ...]) -> None:
        """Put waiting prompts in another order."""
        waiting = {each.id: each for each in self.waiting()}
        strange = [prompt for prompt in prompts if prompt not in waiting]
        if strange:
            raise InvalidValue("prompt", strange[0], "a prompt that still waits")
        moved = [
            m.PromptQueued(prompt=prompt, content=waiting[prompt].content, position=place)
            for place, prompt in enumerate(prompts)
        ]
        await self.log.append(moved, source="person", durable=True)

    async def go_on(self) -> None:
        """Hand the oldest waiting prompt to the agent, unless a limit is reached or asked about."""
        waiting = self.waiting()
        if not waiting:
            self._orphan.stop()
        if self.agent is not None and not self.busy and (self._outdated or self.agent.deaf):
            self._replace_agent(self.agent)
        elif waiting and self._may_begin():
            limit = reached(self.spec.limits, self.spent())
            if limit is not None:
                await self._halt(limit, "before")
            elif not open_limit_requests(self.log.outline()) and await self._begin(waiting[0]):
                self.post(self.go_on)  # what waited behind it has its own turn; the state is told then
                return
        await self.tell_state()

    def _may_begin(self) -> bool:
        held_back = self.over or self.holding or self._paused or self._pause.continues
        return not self.busy and not held_back

    async def _begin(self, first: QueuedPrompt) -> bool:
        """Hand it over. True when that was the end of it already: the next one may begin."""
        if await self._doubts.begun(first.id, self.engine, self._options, self.services.environ):
            lost = lost_in_begin(self.log.view(), first.id, self._name_turn())
            await self.log.append(lost, source="bridge", durable=True)
            return True
        try:
            await self._ready_agent()
            self._hand_over(first.id, (*self._context(), *first.content), "queue")
        except (EngineError, HostError, RequestError) as problem:
            if isinstance(problem, EngineGone) and self.agent is not None:
                self.progress.sent[first.id] = UNHEARD  # it died a moment ago: the batch that tells so goes on
            elif not await self._waits_for_orphan(problem):
                await self._fail(first.id, problem)
                return True
        return False

    async def _ready_agent(self) -> None:
        """Start the process where there is none, and say that a prompt is about to be handed over.

        Before it is: after a crash the log is all that can tell whether the agent may have begun with it.
        """
        self._starting = self.agent is None
        try:
            await self.log.append((), then=self._news(busy=True))
            await self.ensure_agent()
        finally:
            self._starting = False
        await self.log.append((), then=self._news(busy=True), durable=True)

    async def _waits_for_orphan(self, problem: FootplateError) -> bool:
        """Whether the agent that has the lock on the session is about to go: then what waits is tried again soon."""
        if not isinstance(problem, LockHeld) or not problem.left:
            return False
        if not self._orphan.awaited:
            await self.log.append([m.Notice(level="info", text=WAITS, code="agent_leaving")], source="bridge")
        return self._orphan.look_again()

    def waiting(self) -> list[QueuedPrompt]:
        """The prompts that the agent has not been given."""
        return [each for each in self.log.outline().queue if each.id not in self.progress.sent]

    def _hand_over(self, prompt: PromptId, content: tuple[ContentBlock, ...], when: When) -> None:
        if self.agent is None:
            raise EngineGone(self.engine.name, "it has ended")
        command = c.SendPrompt(key=self.key(), prompt=prompt, content=content, when=when)
        self.agent.send(command)
        self.progress.sent[prompt] = command.key

    def _context(self) -> tuple[ContentBlock, ...]:
        """What a person did since the last turn began, for the agent to know."""
        return tuple(TextBlock(text=as_context(ran)) for ran in self.progress.commands)

    # --------------------------------------------------------------------------------------------- agent

    async def ensure_agent(self) -> None:
        """Start the agent's process unless one runs."""
        if self.agent is not None:
            return
        options = self._options()
        lock = await self._lock(options)
        try:
            options = await self._equip(options)
            if await self.surroundings.blocking(
                is_missing, self.engine, self.log.view(), options, self.services.environ
            ):
                await self.log.append(begin_anew(self.log.view()), source="bridge")
                options = msgspec.structs.replace(options, resume=None)
                lock = _free(lock)
            await self._start(options, lock)
        except BaseException:
            _free(lock)
            raise

    async def _lock(self, options: Options) -> SessionLock | None:
        """The lock on the conversation that is gone on with, before anything is said of it. Raises `LockHeld`."""
        if options.resume is None or options.fork or not options.resumable:
            return None
        return await self.services.lock_conversation(self.engine, options.resume)

    async def _start(self, options: Options, lock: SessionLock | None) -> None:
        start_s = self.surroundings.bounds.start_s
        try:
            async with asyncio.timeout(start_s):
                self.agent = await Agent.start(
                    self.services, self.engine, options, self._take, self._failed, session=self.log.session, lock=lock
                )
        except TimeoutError:
            raise EngineSilent(self.engine.name, "its start", start_s) from None
        self._name_agent(self.agent)
        self._orphan.stop()
        self._outdated = False

    def _name_agent(self, agent: Agent) -> None:
        agent.name(self.log.session, self.services.taps, self.services.recorder.sink(self.log))
        self.idle_since = self.surroundings.monotonic()  # it may have been started without a prompt

    def _options(self) -> Options:
        hooks = guard_hooks(self.services.rules) if self.engine.capabilities().hooks else ()
        return starting_options(self.spec, self.log.view(), self.services.settings, self.spent(), hooks)

    async def resume_agent(self, standing: Standing, *, mode: str, anew: bool, lock: SessionLock | None) -> None:
        """A process that goes on with the open turn: in the conversation, or `anew` in one that begins with it."""
        options = await self._equip(self._options())
        options = msgspec.structs.replace(
            options,
            mode=mode or options.mode,
            standing=standing,
            resume=None if anew else options.resume,
            fork=False,
        )
        await self._start(options, lock)

    async def say(self, text: str) -> None:
        """Tell the agent something of our own, within the turn that is open."""
        prompt, content = PromptId(f"{BRIDGE}{self.surroundings.new_id()}"), (TextBlock(text=text),)
        await self.log.append([m.PromptQueued(prompt=prompt, content=content)], source="bridge", durable=True)
        self._hand_over(prompt, content, "queue")

    async def say_again(self) -> None:
        """Give a new conversation the prompts of the open turn."""
        said = said_in_turn(self.log.view())
        prompt = said[0].prompt if said else None
        if prompt is not None:
            self._hand_over(prompt, tuple(block for item in said for block in item.content), "queue")

    async def rejoin(self, rejoin: Rejoin) -> None:
        """Go on with an agent process that outlived the service which had it: nothing of its turn begins anew."""
        view = self.log.view()
        options = rejoining_options(view, rejoin.record)
        await write_down(self.services, msgspec.structs.replace(rejoin.record, epoch=options.epoch))
        self._doubts.clear()  # it knows itself which prompts it has
        ended = frozenset(each.request.engine_request for each in view.closed_requests)
        self.progress.running = {call.id for call in standing_of(view, living=True).calls if not call.ended}
        self.agent = await Agent.rejoin(
            self.services, self.engine, rejoin, options, self._take, self._failed, ended=ended
        )
        self._name_agent(self.agent)

    async def renew(self) -> None:
        """Have the process replaced as soon as no turn runs: it holds what does not hold any more."""
        self._outdated = True
        await self.go_on()

    def _replace_agent(self, agent: Agent) -> None:
        """End a process; its end goes on with another. Not awaited: its last events come through this mailbox."""
        if agent is not self._leaver:
            self._leaver = agent
            self._endings.spawn(agent.end(close_wait=2.0), name=f"end agent of {self.log.session}")

    async def left(self) -> None:
        """Wait for processes that are on their way out."""
        await self._endings.wait()

    async def find_distrust(self, destination: Destination) -> str:
        """Why later processes will not honour a rule that is kept there; empty when they will."""
        if not isinstance(self.engine, Keeping):
            return ""
        environ, version = self.services.environ, self.log.view().version
        return await self.surroundings.blocking(
            self.engine.find_distrust, destination, self._options(), version, environ
        )

    async def _equip(self, options: Options) -> Options:
        """With the MCP servers and skills of the folder, and the servers of a client, for an engine that takes some."""
        if not self.engine.capabilities().mcp:
            return options
        equipment = await equip(self.services, self.spec.cwd, self.spec.mcp)
        await self.log.append(equipment.notices(), source="bridge")
        return msgspec.structs.replace(
            options, mcp_config=equipment.mcp_config, plugins=(*options.plugins, *equipment.plugins)
        )

    async def _fail(self, prompt: PromptId, problem: FootplateError) -> None:
        """The agent could not start: a turn that fails at once and says what to do."""
        self.progress.sent.pop(prompt, None)
        view = self.log.view()
        turn = self._name_turn()
        failed = m.TurnEnded(
            turn=turn,
            ok=False,
            error=str(problem),
            error_kind=problem.code,
            stop_reason="error",
            resume=view.resume,
        )
        await self.log.append([m.TurnStarted(turn=turn, prompts=(prompt,), origin="prompt"), failed], source="bridge")

    def _name_turn(self) -> TurnId:
        """An id for a turn of our own, which no agent has begun. A living conversation counts its turns itself."""
        name = f"turn-{len(self.log.view().turns) + 1}"
        return TurnId(name if self.agent is None else f"{name}-service")

    def tell(self, command: c.Command) -> None:
        """Ask something of the agent, if there is one: without one there is nothing to ask it of."""
        if self.agent is not None:
            self.agent.send(command)

    def interrupt(self) -> None:
        """Stop the running turn. An agent that does not read this in time is ended, and its turn with it."""
        if self.agent is not None:
            self.interrupting.interrupt(self.agent, self.key())

    async def detached(self) -> bool:
        """The process is gone: what it had taken and not begun goes back to the person.

        What it cannot have read waits on, once: a process that ends again before it reads anything would be started
        for ever. A prompt that found its process ended twice is a turn that fails, with the agent's last words. True
        when it was ended for an interrupt that it did not read.
        """
        gone, self.agent, self._leaver = self.agent, None, None
        undelivered = {UNHEARD}
        if gone is not None:
            undelivered |= gone.undelivered
            await gone.let_go()
        interrupted = self.interrupting.take_ended(gone)
        self._told_waiting = False
        self.progress.running.clear()
        self.progress.turn = self.log.view().turn
        sent = [each.id for each in self.log.outline().queue if each.id in self.progress.sent]
        kept = {prompt for prompt in sent if self.progress.sent[prompt] in undelivered} - self._returned
        unheard = [prompt for prompt in sent if prompt not in kept and self.progress.sent[prompt] == UNHEARD]
        lost = [
            m.PromptWithdrawn(prompt=prompt, reason="the agent ended before it began")
            for prompt in sent
            if prompt not in kept and prompt not in unheard
        ]
        self._returned |= kept
        self.progress.sent.clear()
        await self.log.append(lost, source="bridge")
        for prompt in unheard:
            await self._fail(prompt, EngineGone(self.engine.name, word_exit(self.log.view().exit)))
        if not interrupted:
            await self.go_on()
        return interrupted

    # --------------------------------------------------------------------------------------------- events

    @contextmanager
    def following(self, events: Sequence[Event]) -> Iterator[None]:
        """Take account of events while the block stores them; if it cannot, nothing has happened."""
        with self.progress.following(events):
            yield
        if any(isinstance(event, m.TurnEnded | m.TaskEnded) for event in events):
            self.idle_since = self.surroundings.monotonic()

    async def tool_started(self) -> None:
        """One more call: stop when there are too many."""
        allowed = self.spec.limits.tool_calls
        if allowed is not None and self.progress.tool_calls > allowed and self._cut is None:
            await self._cut_short(told("tool_calls", spent_calls(self.spec.limits, self.progress.tool_calls)))

    def turn_started(self) -> None:
        """Let the clock of the session's time run."""
        if self.spec.limits.seconds is not None:
            left = max(self.spec.limits.seconds - self.spent().seconds, 0.0)
            self._clock = asyncio.get_running_loop().call_later(left, self.post, self._out_of_time)

    async def _out_of_time(self) -> None:
        if self.progress.turn is not None:
            await self._cut_short(
                told("time", f"the {format_duration(self.spec.limits.seconds or 0)} of the session are over")
            )

    async def turn_ended(self, event: m.TurnEnded) -> None:
        """The next prompt, a question about a limit, or a pause until the usage limit is over."""
        self._stop_clock()
        cut, self._cut = self._cut, None
        if cut is None and event.stop_reason == "max_budget":
            cut = told("money", spent_money(self.spec.limits, self.spent()))
        if cut is not None:
            await self._halt(cut, "within")
        if not event.ok and self.progress.resets_at is not None:
            await self._park(self.progress.resets_at)
        await self.go_on()

    # --------------------------------------------------------------------------------------------- limits

    async def _cut_short(self, limit: m.LimitReached) -> None:
        """Stop the turn at a limit, before the model is asked again."""
        self._cut = limit
        await self.log.append([limit], source="bridge")
        self.interrupt()

    def continuation(self) -> tuple[Event, ...]:
        """What makes the agent go on where it was cut short, before anything else that waits."""
        queued = m.PromptQueued(prompt=PromptId(self.surroundings.new_id()), content=(TextBlock(text=RAISED),))
        return (queued, queued)  # the second moves it to the front

    async def adopt(self, spec: SessionSpec) -> None:
        """Live by another spec. A process that holds a money limit itself is replaced for another limit."""
        await keep_spec(self.services.store, self.log.session, spec)
        self._outdated |= self.engine.capabilities().max_budget and spec.limits.cost_usd != self.spec.limits.cost_usd
        self.spec = spec

    # -------------------------------------------------------------------------------------------- parking

    async def _park(self, until: float) -> None:
        """Wait for the reset; go on by itself only where that was asked for, and not for ever."""
        text = "goes on by itself then" if self._pause.may_continue else "go on with a prompt of yours then"
        await self.log.append([m.Parked(reason=f"the usage limit is reached; {text}", until=until)], source="bridge")
        self.progress.resets_at = None
        self._pause.start(until)

    async def _end_pause(self) -> None:
        """The limit is over: tell the agent to go on, where that was asked for."""
        if self._pause.until is None:
            return  # a prompt of the person was first
        if self._pause.take_continuation():
            await self.accept(PromptId(self.surroundings.new_id()), (TextBlock(text=GO_ON),), "queue")
        else:
            await self.tell_state()

    @property
    def waits(self) -> bool:
        """Whether a timer will wake the session by itself."""
        return self._pause.until is not None or self._clock is not None or self._orphan.awaited

    def stop_waiting(self) -> None:
        """Nothing wakes the session by itself any more."""
        self._pause.release()
        self._stop_clock()
        self._orphan.stop()

    def _stop_clock(self) -> None:
        """The timers of a turn: its time is over, or nobody waits any more for it to stop."""
        self.interrupting.stop()
        if self._clock is not None:
            self._clock.cancel()
        self._clock = None

    # ---------------------------------------------------------------------------------------------- state

    async def tell_state(self) -> None:
        """Say the state when it has changed; it comes from what the protocol told, never from a guess."""
        self._tell_waiting()
        await self.log.append((), then=self.news())

    def _tell_waiting(self) -> None:
        """Let the keeper know when the agent begins or ceases to wait for an answer."""
        waiting = any(each.state == "open" for each in self.log.outline().requests)
        if self.agent is not None and waiting != self._told_waiting:
            self._told_waiting = waiting
            self.agent.tell_waiting(waiting=waiting)

    def news(self) -> tuple[Event, ...]:
        """The state where it has changed: to be said together with what changed it."""
        return self._news(busy=self.busy)

    def settles(self, events: list[Event]) -> bool:
        """Whether the state that these events lead to lasts: nothing that we do about them changes it again."""
        return not any(map(self._moves, events))

    def _state_at_once(self) -> tuple[Event, ...]:
        """The state to say together with a new prompt: an agent that waits for one gets it right away."""
        ready = self.agent is not None and not self._outdated and self._may_begin()
        halted = reached(self.spec.limits, self.spent()) is not None or open_limit_requests(self.log.outline())
        return self._news(busy=True) if ready and not halted else ()

    def _moves(self, event: Event) -> bool:
        """Whether the session goes on by itself from here: `tell_state` says the state when it has."""
        match event:
            case m.TurnEnded():
                return not event.ok or self._cut is not None or bool(self.waiting())
            case m.RequestOpened() | m.RequestWithdrawn() | m.RequestUnanswered() | m.EngineDetached():
                return True
            case _:
                return False

    def _news(self, *, busy: bool) -> tuple[Event, ...]:
        view = self.log.outline()
        if view.state == "closed":  # work that was posted before the end runs after it: a closed session has no news
            return ()
        situation = Situation(
            busy=busy,
            starting=self._starting or (self._orphan.awaited and not busy),
            in_tool=bool(self.progress.running),
            until=self._pause.until,
            paused=self._paused,
            halted=bool(view.queue) and reached(self.spec.limits, self.spent()) is not None,
        )
        state = state_of(view, situation)
        return () if is_shown(view, state) else (state,)

    def spent(self) -> Spent:
        """What the session has used so far."""
        return Spent.of(self.log.outline().usage, tool_calls=self.progress.tool_calls)


def _free(lock: SessionLock | None) -> SessionLock | None:
    """Let go of it; nothing is left of it."""
    if lock is not None:
        lock.release()
    return None
