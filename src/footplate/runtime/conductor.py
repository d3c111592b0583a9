"""What moves a session: prompts to the agent in their order, its process beneath them, limits, the state it is in.

Everything here runs in the session's mailbox, one piece after another: nothing is locked, nothing waits for a person.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec

from footplate.engines.base import Engine, Keeping, Options
from footplate.engines.standing import Standing
from footplate.errors import EngineError, EngineGone, FootplateError, HostError, InvalidValue, LockHeld, RequestError
from footplate.events import commands as c
from footplate.events import model as m
from footplate.events.content import ContentBlock, TextBlock
from footplate.events.ids import PromptId, ToolCallId, TurnId
from footplate.events.model import Event
from footplate.events.requests import Destination
from footplate.events.view import QueuedPrompt, SessionView, ToolItem, UserItem
from footplate.host.locks import SessionLock
from footplate.runtime.agent import Agent
from footplate.runtime.equipment import equip
from footplate.runtime.guard import guard_hooks
from footplate.runtime.limit_requests import GO_ON as RAISED
from footplate.runtime.limit_requests import open_limit_requests
from footplate.runtime.limits import Spent, reached, spent_money, told
from footplate.runtime.log import SessionLog
from footplate.runtime.orphan import WAITS, Orphan
from footplate.runtime.records import Doubts, begin_anew, is_missing, lost_in_begin
from footplate.runtime.recovery import BRIDGE
from footplate.runtime.rejoining import Rejoin, write_down
from footplate.runtime.services import Services
from footplate.runtime.shell import as_context, untold_commands
from footplate.runtime.spec import SessionSpec, keep_spec
from footplate.runtime.standing import standing_of
from footplate.runtime.starting import starting_options
from footplate.tasks import Tasks

When = Literal["queue", "steer", "now"]
Halted = Literal["before", "within"]
GO_ON = "The usage limit is over. Go on where you stopped."


class Links(msgspec.Struct, frozen=True):
    """What ties a conductor to its session.

    `take` gets the agent's batches, `post` has a timer's work done in turn, `halt` hears of a limit that is reached:
    before a prompt, or in a turn that it cut short.
    """

    take: Callable[[list[Event]], Awaitable[None]]
    post: Callable[[Callable[[], Awaitable[None]]], None]
    halt: Callable[[m.LimitReached, Halted], Awaitable[None]]


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
        self.engine = engine
        self._sent: set[PromptId] = set()
        self._running: set[ToolCallId] = set()
        view = log.view()
        self._turn: TurnId | None = view.turn
        self._known = {each.id for each in view.queue} | {prompt for turn in view.turns for prompt in turn.prompts}
        self._doubts = Doubts(view, self.surroundings)
        self._told: list[m.CommandRan] = untold_commands(view)
        self._tool_calls = sum(isinstance(item, ToolItem) for item in view.items)
        self._cut: m.LimitReached | None = None
        self._outdated = False
        self._orphan = Orphan(lambda: links.post(self.go_on))
        self._leaver: Agent | None = None
        self._endings = Tasks()
        self._keys = 0
        self._told_waiting = False
        self._resets_at: float | None = None
        self._resumed = 0
        self._parked: asyncio.TimerHandle | None = None
        self._clock: asyncio.TimerHandle | None = None

    @property
    def busy(self) -> bool:
        """Whether a turn runs or is about to."""
        return self._turn is not None or bool(self._sent)

    def key(self) -> str:
        """A key for a command of our own."""
        self._keys += 1
        return f"{self.log.session}-{self.log.epoch}-{self._keys}"

    # ------------------------------------------------------------------------------------------- prompts

    async def accept(self, prompt: PromptId, content: tuple[ContentBlock, ...], when: When) -> None:
        """Take a prompt for good, then hand it over as soon as it may be."""
        if prompt in self._known:
            return
        self._known.add(prompt)
        queued = m.PromptQueued(prompt=prompt, content=content, position=len(self.log.outline().queue))
        await self.log.append([queued], source="person", then=self._state_at_once(), durable=True)
        if not self.busy:
            await self.go_on()
        elif when != "queue" and self.agent is not None:
            await self._hand_over(prompt, content, when)

    async def withdraw(self, prompt: PromptId) -> None:
        """Take back a prompt that still waits, with us or with the agent."""
        if prompt in self._sent and self.agent is not None:
            await self.agent.command(c.WithdrawPrompt(key=self.key(), prompt=prompt))
        elif any(each.id == prompt for each in self.waiting()):
            await self.log.append([m.PromptWithdrawn(prompt=prompt, reason="taken back")], source="person")
        else:
            raise InvalidValue("prompt", prompt, "a prompt that still waits")

    async def steer(self, prompt: PromptId) -> None:
        """Hand a waiting prompt to the turn that runs. Raises `UnsupportedOption` where the engine cannot."""
        waiting = next((each for each in self.waiting() if each.id == prompt), None)
        if waiting is None or not self.busy:
            raise InvalidValue("prompt", prompt, "a prompt that waits behind a turn")
        await self._hand_over(prompt, waiting.content, "steer")

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
        if self._outdated and self.agent is not None and not self.busy:
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
        return not (self.busy or self.over or self.holding) and self._parked is None

    async def _begin(self, first: QueuedPrompt) -> bool:
        """Hand it over. True when that was the end of it already: the next one may begin."""
        if await self._doubts.begun(first.id, self.engine, self._options, self.services.environ):
            await self.log.append(lost_in_begin(self.log.view(), first.id), source="bridge", durable=True)
            return True
        try:
            await self.ensure_agent()
            await self._hand_over(first.id, (*self._context(), *first.content), "queue")
        except (EngineError, HostError, RequestError) as problem:
            if isinstance(problem, EngineGone) and self.agent is not None:
                self._sent.discard(first.id)  # it died a moment ago, perhaps at once: what tells of its end goes on
            elif not await self._waits_for_orphan(problem):
                await self._fail(first.id, problem)
                return True
        return False

    async def _waits_for_orphan(self, problem: FootplateError) -> bool:
        """Whether the agent that has the lock on the session is about to go: then what waits is tried again soon."""
        if not isinstance(problem, LockHeld) or not problem.left:
            return False
        if not self._orphan.awaited:
            await self.log.append([m.Notice(level="info", text=WAITS, code="agent_leaving")], source="bridge")
        return self._orphan.look_again()

    def waiting(self) -> list[QueuedPrompt]:
        """The prompts that the agent has not been given."""
        return [each for each in self.log.outline().queue if each.id not in self._sent]

    async def _hand_over(self, prompt: PromptId, content: tuple[ContentBlock, ...], when: When) -> None:
        if self.agent is None:
            raise EngineGone(self.engine.name, "it has ended")
        command = c.SendPrompt(key=self.key(), prompt=prompt, content=content, when=when)
        frames = self.agent.prepare(command)
        self._sent.add(prompt)
        await self.agent.write(frames)

    def _context(self) -> tuple[ContentBlock, ...]:
        """What a person did since the last turn began, for the agent to know."""
        return tuple(TextBlock(text=as_context(ran)) for ran in self._told)

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
        if options.resume is None or options.fork:
            return None
        lock = self.services.warm.lock_on(self.engine, options.resume)
        await lock.acquire()
        return lock

    async def _start(self, options: Options, lock: SessionLock | None) -> None:
        self.agent = await Agent.start(
            self.services, self.engine, options, self._take, session=self.log.session, lock=lock
        )
        self.agent.name(self.log.session, self.services.taps)
        self._orphan.stop()
        self._outdated = False

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
        self._known.add(prompt)
        await self.log.append([m.PromptQueued(prompt=prompt, content=content)], source="bridge", durable=True)
        await self._hand_over(prompt, content, "queue")

    def said(self) -> list[UserItem]:
        """The prompts of the open turn, as far as the log has them."""
        view = self.log.view()
        return [item for item in view.items if isinstance(item, UserItem) and item.turn == view.turn and item.prompt]

    async def say_again(self) -> None:
        """Give a new conversation the prompts of the open turn."""
        said = self.said()
        prompt = said[0].prompt if said else None
        if prompt is not None:
            await self._hand_over(prompt, tuple(block for item in said for block in item.content), "queue")

    async def rejoin(self, rejoin: Rejoin) -> None:
        """Go on with an agent process that outlived the service which had it: nothing of its turn begins anew."""
        view = self.log.view()
        waiting = tuple(each.id for each in view.queue)
        standing = standing_of(view, living=True)
        asked = {each.request.engine_request for each in view.requests} - {""}
        requests = tuple(each for each in standing.requests if each.request.id in asked)  # the others are our own
        standing = msgspec.structs.replace(standing, waiting=waiting, requests=requests)
        before = rejoin.record.options
        options = msgspec.structs.replace(
            before,
            standing=standing,
            epoch=rejoin.record.epoch + 1,
            resume=view.resume.value if view.resume is not None else before.session_id or before.resume,
            session_id=None,
            fork=False,
            first_turn=len(view.turns) + 1,
        )
        await write_down(self.services, msgspec.structs.replace(rejoin.record, epoch=options.epoch))
        self._doubts.clear()  # it knows itself which prompts it has
        ended = frozenset(each.request.engine_request for each in view.closed_requests)
        self._running = {call.id for call in standing.calls if not call.ended}
        self.agent = await Agent.rejoin(self.services, self.engine, rejoin, options, self._take, ended=ended)
        self.agent.name(self.log.session, self.services.taps)

    async def rejoined(self) -> None:
        """The agent has caught up: prompts that it does not know are handed over, and it knows those it has by name."""
        await self.go_on()

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
        self._sent.discard(prompt)
        view = self.log.view()
        turn = TurnId(f"turn-{len(view.turns) + 1}")
        failed = m.TurnEnded(
            turn=turn,
            ok=False,
            error=str(problem),
            error_kind=problem.code,
            stop_reason="error",
            resume=view.resume,
        )
        await self.log.append([m.TurnStarted(turn=turn, prompts=(prompt,), origin="prompt"), failed], source="bridge")

    async def tell(self, command: c.Command) -> None:
        """Ask something of the agent, if there is one: without one there is nothing to ask it of."""
        if self.agent is not None:
            await self.agent.command(command)

    async def detached(self) -> None:
        """The process is gone: what it had taken and not begun goes back to the person."""
        gone, self.agent = self.agent, None
        if gone is not None:
            await gone.let_go()
        self._told_waiting = False
        self._running.clear()
        self._turn = self.log.view().turn
        waiting = [each.id for each in self.log.outline().queue if each.id in self._sent]
        lost = [m.PromptWithdrawn(prompt=prompt, reason="the agent ended before it began") for prompt in waiting]
        self._sent.clear()
        await self.log.append(lost, source="bridge")
        await self.go_on()

    # --------------------------------------------------------------------------------------------- events

    def follow(self, event: Event) -> None:
        """Keep what must be known at once, without looking through the view."""
        match event:
            case m.TurnStarted():
                self._turn = event.turn
                self._told.clear()
                self._sent.difference_update(event.prompts)
            case m.TurnEnded():
                self._turn = None
                self._sent.difference_update(event.prompts)
                self.idle_since = self.surroundings.monotonic()
            case m.PromptSteered() | m.PromptWithdrawn():
                self._sent.discard(event.prompt)
            case m.ToolStarted():
                self._running.add(event.call)
                self._tool_calls += 1
            case m.ToolEnded():
                self._running.discard(event.call)
            case m.CommandRan():
                self._told.append(event)
            case m.LimitReached(kind="usage"):
                self._resets_at = event.resets_at if event.status == "reached" else None
            case _:
                pass

    async def tool_started(self) -> None:
        """One more call: stop when there are too many."""
        allowed = self.spec.limits.tool_calls
        if allowed is not None and self._tool_calls > allowed and self._cut is None:
            await self._cut_short(told("tool_calls", f"{self._tool_calls} of {allowed} tool calls are made"))

    def turn_started(self) -> None:
        """Let the clock of the session's time run."""
        if self.spec.limits.seconds is not None:
            left = max(self.spec.limits.seconds - self.spent().seconds, 0.0)
            self._clock = asyncio.get_running_loop().call_later(left, self.post, self._out_of_time)

    async def _out_of_time(self) -> None:
        if self._turn is not None:
            await self._cut_short(told("time", f"the {self.spec.limits.seconds:g} seconds of the session are over"))

    async def turn_ended(self, event: m.TurnEnded) -> None:
        """The next prompt, a question about a limit, or a pause until the usage limit is over."""
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
        cut, self._cut = self._cut, None
        if cut is None and event.stop_reason == "max_budget":
            cut = told("money", spent_money(self.spec.limits, self.spent()))
        if cut is not None:
            await self._halt(cut, "within")
        if not event.ok and self._resets_at is not None:
            await self._park(self._resets_at)
        await self.go_on()

    # --------------------------------------------------------------------------------------------- limits

    async def _cut_short(self, limit: m.LimitReached) -> None:
        """Stop the turn at a limit, before the model is asked again."""
        self._cut = limit
        await self.log.append([limit], source="bridge")
        await self.tell(c.Interrupt(key=self.key()))

    async def resume_turn(self) -> None:
        """The agent goes on where it was cut short, before anything else that waits."""
        prompt = PromptId(self.surroundings.new_id())
        self._known.add(prompt)
        queued = m.PromptQueued(prompt=prompt, content=(TextBlock(text=RAISED),))
        await self.log.append([queued, queued], source="bridge", durable=True)  # the second moves it to the front

    async def adopt(self, spec: SessionSpec) -> None:
        """Live by another spec. The engine holds the money of its process, so that one is replaced for other money."""
        self._outdated |= spec.limits.cost_usd != self.spec.limits.cost_usd
        await keep_spec(self.services.store, self.log.session, spec)
        self.spec = spec

    # -------------------------------------------------------------------------------------------- parking

    async def _park(self, until: float) -> None:
        """Wait for the reset; go on by itself only where that was asked for, and not for ever."""
        may = self._resumed < self.services.settings.runtime.resume_at_reset
        text = "goes on by itself then" if may else "go on with a prompt of yours then"
        await self.log.append([m.Parked(reason=f"the usage limit is reached; {text}", until=until)], source="bridge")
        self._resets_at = None
        if may:
            self._resumed += 1
            delay = max(until - self.surroundings.time(), 0.0)
            self._parked = asyncio.get_running_loop().call_later(delay, self.post, self._wake)

    async def _wake(self) -> None:
        """The limit is over: tell the agent to go on."""
        self._parked = None
        await self.accept(PromptId(self.surroundings.new_id()), (TextBlock(text=GO_ON),), "queue")

    def stop_waiting(self) -> None:
        """Nothing wakes the session by itself any more."""
        for timer in (self._parked, self._clock):
            if timer is not None:
                timer.cancel()
        self._parked = self._clock = None
        self._orphan.stop()

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
        state, waiting = self._state(view, busy=busy)
        if (state, waiting) == (view.state, view.waiting_for):
            return ()
        return (m.StateChanged(state=state, waiting_for=waiting),)

    def _state(self, view: SessionView, *, busy: bool) -> tuple[m.SessionState, m.WaitingFor]:
        if any(each.state == "open" for each in view.requests):
            return "waiting", "you"
        if busy:
            return "running", "tool" if self._running else "model"
        if self._orphan.awaited:
            return "starting", ""
        if self._parked is not None:
            return "parked", "limit"
        if view.queue and reached(self.spec.limits, self.spent()) is not None:
            return "idle", "limit"
        last = view.turns[-1] if view.turns else None
        return ("interrupted", "") if last is not None and last.stop_reason == "lost" else ("idle", "")

    def spent(self) -> Spent:
        """What the session has used so far."""
        return Spent.of(self.log.outline().usage, tool_calls=self._tool_calls)


def _free(lock: SessionLock | None) -> SessionLock | None:
    """Let go of it; nothing is left of it."""
    if lock is not None:
        lock.release()
    return None
