"""What moves a session: prompts to the agent in their order, its process beneath them, limits, the state it is in.

Everything here runs in the session's mailbox, one piece after another: nothing is locked, nothing waits for a person.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec

from footplate.config.settings import common_settings
from footplate.engines.base import Engine, Options
from footplate.engines.standing import Standing
from footplate.errors import EngineError, EngineGone, FootplateError, HostError, InvalidValue, RequestError
from footplate.events import commands as c
from footplate.events import model as m
from footplate.events.content import ContentBlock, TextBlock
from footplate.events.ids import PromptId, ToolCallId, TurnId
from footplate.events.model import Event
from footplate.events.view import QueuedPrompt, SessionView, UserItem
from footplate.host.locks import SessionLock
from footplate.host.sandbox import read_sandbox
from footplate.runtime.agent import Agent
from footplate.runtime.limits import Spent, agent_resources, reached, remaining_money, told
from footplate.runtime.log import SessionLog
from footplate.runtime.recovery import BRIDGE
from footplate.runtime.rejoining import Rejoin, write_down
from footplate.runtime.services import Services
from footplate.runtime.shell import as_context, untold_commands
from footplate.runtime.spec import SessionSpec
from footplate.runtime.standing import standing_of
from footplate.runtime.ulid import new_ulid

When = Literal["queue", "steer", "now"]
GO_ON = "The usage limit is over. Go on where you stopped."


class Links(msgspec.Struct, frozen=True):
    """What ties a conductor to its session: `take` gets the agent's batches, `post` has a timer's work done in turn."""

    take: Callable[[list[Event]], Awaitable[None]]
    post: Callable[[Callable[[], Awaitable[None]]], None]


class Conductor:
    """The moving parts of one session."""

    def __init__(self, services: Services, engine: Engine, spec: SessionSpec, log: SessionLog, links: Links) -> None:
        self.spec = spec
        self.log = log
        self.services = services
        self.agent: Agent | None = None
        self.over = False
        self.holding = False
        self.idle_since = time.monotonic()
        self.post = links.post
        self._take = links.take
        self.engine = engine
        self._sent: set[PromptId] = set()
        self._running: set[ToolCallId] = set()
        view = log.view()
        self._turn: TurnId | None = view.turn
        self._known = {each.id for each in view.queue} | {prompt for turn in view.turns for prompt in turn.prompts}
        self._told: list[m.CommandRan] = untold_commands(view)
        self._tool_calls = 0
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
        queued = m.PromptQueued(prompt=prompt, content=content, position=len(self.log.view().queue))
        await self.log.publish([queued], source="person", durable=True)
        if not self.busy:
            await self.go_on()
        elif when != "queue" and self.agent is not None:
            await self._hand_over(prompt, content, when)

    async def withdraw(self, prompt: PromptId) -> None:
        """Take back a prompt that still waits, with us or with the agent."""
        if prompt in self._sent and self.agent is not None:
            await self.agent.command(c.WithdrawPrompt(key=self.key(), prompt=prompt))
        elif any(each.id == prompt for each in self._waiting()):
            await self.log.publish([m.PromptWithdrawn(prompt=prompt, reason="taken back")], source="person")
        else:
            raise InvalidValue("prompt", prompt, "a prompt that still waits")

    async def reorder(self, prompts: tuple[PromptId, ...]) -> None:
        """Put waiting prompts in another order."""
        waiting = {each.id: each for each in self._waiting()}
        strange = [prompt for prompt in prompts if prompt not in waiting]
        if strange:
            raise InvalidValue("prompt", strange[0], "a prompt that still waits")
        moved = [
            m.PromptQueued(prompt=prompt, content=waiting[prompt].content, position=place)
            for place, prompt in enumerate(prompts)
        ]
        await self.log.publish(moved, source="person", durable=True)

    async def go_on(self) -> None:
        """Hand the oldest waiting prompt to the agent, unless a limit is reached."""
        waiting = self._waiting()
        if waiting and not self.busy and not self.over and not self.holding and self._parked is None:
            limit = reached(self.spec.limits, self.spent())
            if limit is not None:
                await self.log.publish([limit], source="bridge")
            else:
                await self._begin(waiting[0])
        await self.tell_state()

    async def _begin(self, first: QueuedPrompt) -> None:
        try:
            await self._ensure_agent()
            await self._hand_over(first.id, (*self._context(), *first.content), "queue")
        except (EngineError, HostError, RequestError) as problem:
            await self._fail(first.id, problem)

    def _waiting(self) -> list[QueuedPrompt]:
        return [each for each in self.log.view().queue if each.id not in self._sent]

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

    async def _ensure_agent(self) -> None:
        if self.agent is not None:
            return
        self.agent = await Agent.start(
            self.services, self.engine, self._options(), self._take, session=self.log.session
        )

    def _options(self) -> Options:
        """How a process for this session is started."""
        view = self.log.view()
        common = common_settings(self.services.settings, self.spec.engine)
        return Options(
            cwd=self.spec.cwd,
            model=view.model or self.spec.model,
            mode=view.mode or self.spec.mode,
            effort=self.spec.effort,
            resume=view.resume.value if view.resume is not None else None,
            fork=self.spec.fork and not view.turns,
            asks=True,
            partial=True,
            first_turn=len(view.turns) + 1,
            max_budget_usd=remaining_money(self.spec.limits, self.spent()),
            env=self.spec.env,
            profile=self.spec.profile,
            sandbox=read_sandbox(common),
            resources=agent_resources(self.spec.limits, common),
        )

    async def resume_agent(self, standing: Standing, *, mode: str, anew: bool, lock: SessionLock | None) -> None:
        """A process that goes on with the open turn: in the conversation, or `anew` in one that begins with it."""
        options = self._options()
        options = msgspec.structs.replace(
            options, mode=mode or options.mode, standing=standing, resume=None if anew else options.resume, fork=False
        )
        self.agent = await Agent.start(
            self.services, self.engine, options, self._take, session=self.log.session, lock=lock
        )

    async def say(self, text: str) -> None:
        """Tell the agent something of our own, within the turn that is open."""
        prompt, content = PromptId(f"{BRIDGE}{new_ulid()}"), (TextBlock(text=text),)
        self._known.add(prompt)
        await self.log.publish([m.PromptQueued(prompt=prompt, content=content)], source="bridge", durable=True)
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
        standing = msgspec.structs.replace(standing_of(view, living=True), waiting=waiting)
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
        ended = frozenset(each.request.engine_request for each in view.closed_requests)
        self._running = {call.id for call in standing.calls if not call.ended}
        self.agent = await Agent.rejoin(self.services, self.engine, rejoin, options, self._take, ended=ended)

    async def rejoined(self) -> None:
        """The agent has caught up: prompts that it does not know are handed over, and it knows those it has by name."""
        await self.go_on()

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
        await self.log.publish([m.TurnStarted(turn=turn, prompts=(prompt,), origin="prompt"), failed], source="bridge")

    async def tell(self, command: c.Command) -> None:
        """Ask something of the agent, if there is one: without one there is nothing to ask it of."""
        if self.agent is not None:
            await self.agent.command(command)

    async def detached(self) -> None:
        """The process is gone: what it had taken and not begun goes back to the person."""
        self.agent = None
        self._told_waiting = False
        self._running.clear()
        self._turn = self.log.view().turn
        lost = [m.PromptWithdrawn(prompt=prompt, reason="the agent ended before it began") for prompt in self._sent]
        self._sent.clear()
        await self.log.publish(lost, source="bridge")
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
                self.idle_since = time.monotonic()
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
        if allowed is not None and self._tool_calls > allowed:
            limit = reached(self.spec.limits, self.spent())
            await self.log.publish([limit] if limit is not None else [], source="bridge")
            await self.tell(c.Interrupt(key=self.key()))

    def turn_started(self) -> None:
        """Let the clock of the session's time run."""
        if self.spec.limits.seconds is not None:
            left = max(self.spec.limits.seconds - self.spent().seconds, 0.0)
            self._clock = asyncio.get_running_loop().call_later(left, self.post, self._out_of_time)

    async def _out_of_time(self) -> None:
        limit = told("time", f"the {self.spec.limits.seconds:g} seconds of the session are over")
        await self.log.publish([limit], source="bridge")
        await self.tell(c.Interrupt(key=self.key()))

    async def turn_ended(self, event: m.TurnEnded) -> None:
        """The next prompt, or a pause until the usage limit is over."""
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
        if not event.ok and self._resets_at is not None:
            await self._park(self._resets_at)
        await self.go_on()

    # -------------------------------------------------------------------------------------------- parking

    async def _park(self, until: float) -> None:
        """Wait for the reset; go on by itself only where that was asked for, and not for ever."""
        may = self._resumed < self.services.settings.runtime.resume_at_reset
        text = "goes on by itself then" if may else "go on with a prompt of yours then"
        await self.log.publish([m.Parked(reason=f"the usage limit is reached; {text}", until=until)], source="bridge")
        self._resets_at = None
        if may:
            self._resumed += 1
            delay = max(until - time.time(), 0.0)
            self._parked = asyncio.get_running_loop().call_later(delay, self.post, self._wake)

    async def _wake(self) -> None:
        """The limit is over: tell the agent to go on."""
        self._parked = None
        await self.accept(PromptId(new_ulid()), (TextBlock(text=GO_ON),), "queue")

    def stop_waiting(self) -> None:
        """Nothing wakes the session by itself any more."""
        for timer in (self._parked, self._clock):
            if timer is not None:
                timer.cancel()
        self._parked = self._clock = None

    # ---------------------------------------------------------------------------------------------- state

    async def tell_state(self) -> None:
        """Say the state when it has changed; it comes from what the protocol told, never from a guess."""
        view = self.log.view()
        state, waiting = self._state(view)
        if self.agent is not None and (waiting == "you") != self._told_waiting:
            self._told_waiting = waiting == "you"
            self.agent.tell_waiting(waiting=self._told_waiting)
        if (state, waiting) != (view.state, view.waiting_for):
            await self.log.publish([m.StateChanged(state=state, waiting_for=waiting)], source="bridge")

    def _state(self, view: SessionView) -> tuple[m.SessionState, m.WaitingFor]:
        if any(each.state == "open" for each in view.requests):
            return "waiting", "you"
        if self.busy:
            return "running", "tool" if self._running else "model"
        if self._parked is not None:
            return "parked", "limit"
        if view.queue and reached(self.spec.limits, self.spent()) is not None:
            return "idle", "limit"
        last = view.turns[-1] if view.turns else None
        return ("interrupted", "") if last is not None and last.stop_reason == "lost" else ("idle", "")

    def spent(self) -> Spent:
        """What the session has used so far."""
        return Spent.of(self.log.view().usage, tool_calls=self._tool_calls)
