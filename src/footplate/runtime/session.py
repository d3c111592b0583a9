"""The session: one conversation, whoever watches and whoever asks. All that changes it happens in its mailbox.

The agent's process comes and goes beneath it: started by the first prompt, kept warm between turns, evicted when idle,
resumed by id. A request of the agent is a durable thing with an id of ours; its first answer is stored before the agent
hears of it, and every later one is told who was first.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import msgspec

from footplate.engines.base import Engine, Query
from footplate.errors import EngineDeclined, EngineGone, EngineSilent, InvalidValue, SessionOver, UnsupportedOption
from footplate.events import commands as c
from footplate.events import model as m
from footplate.events.base import ResumeToken
from footplate.events.content import ContentBlock, TextBlock
from footplate.events.facts import RESULTS, Fact, QueryName
from footplate.events.ids import MessageId, PromptId, RequestId, RuleId, SessionId, TaskId
from footplate.events.model import Event, is_ephemeral
from footplate.events.requests import Answer
from footplate.events.rules import SessionRule
from footplate.events.view import QueuedPrompt, RequestView, SessionView
from footplate.runtime.agent import Agent
from footplate.runtime.allowance import Allowance
from footplate.runtime.conductor import Conductor, Halted, Links, When
from footplate.runtime.deltas import join_deltas
from footplate.runtime.desk import Desk
from footplate.runtime.limits import Limits
from footplate.runtime.log import SessionLog, Subscription
from footplate.runtime.mailbox import Mailbox
from footplate.runtime.records import with_token
from footplate.runtime.recovery import BRIDGE
from footplate.runtime.rejoining import Rejoin
from footplate.runtime.requests import RequestBook
from footplate.runtime.resumption import Resumption
from footplate.runtime.services import Services
from footplate.runtime.shell import run_shell
from footplate.runtime.spec import SessionSpec, keep_spec
from footplate.tasks import spawn

CATCH_UP_S = 0.02
"""Between two looks at whether an agent that was taken over has answered."""

log = logging.getLogger(__name__)
T = TypeVar("T")


class Session:
    """One session. Every method may be called by any number of surfaces at a time."""

    def __init__(self, services: Services, engine: Engine, spec: SessionSpec, log: SessionLog) -> None:
        self.id: SessionId = log.session
        self._services = services
        self._log = log
        self._mailbox = Mailbox(f"session {self.id}", self._failed)
        links = Links(self._take_batch, self._post, self._halt, self._failed)
        self._conductor = Conductor(services, engine, spec, log, links)
        self._allowance = Allowance(self._conductor)
        book = RequestBook(services.surroundings.new_id)
        self._resumption = Resumption(self._conductor, book)
        self._desk = Desk(self._conductor, self._allowance, book, self._resumption)
        self._rejoined: asyncio.Task[None] | None = None

    async def begin(self, *, title: str, resume: ResumeToken | None) -> None:
        """Write the first event of a new session."""
        opened = m.SessionOpened(
            engine=self.spec.engine,
            cwd=self.spec.cwd,
            title=title,
            model=self.spec.model,
            mode=self.spec.mode,
            resumed=resume,
        )
        await self._do(lambda: self._log.append([opened], source="bridge", durable=True))
        await self._do(self._conductor.tell_state)

    async def take_up(self) -> None:
        """Close what nobody goes on with in a session that was opened again, say how it stands, carry on answers."""
        await self._do(self._resumption.recover)
        self._desk.take_up()
        await self._do(self._allowance.take_up)
        await self._do(self._resumption.go_on)
        await self._do(self._conductor.open_queue)
        await self._do(self._conductor.tell_state)

    async def rejoin(self, rejoin: Rejoin) -> None:
        """Go on with the agent that outlived the service which had it, in the middle of whatever it does."""
        await self._do(lambda: self._rejoin(rejoin))
        self._rejoined = spawn(self._catch_up(), name=f"rejoin {self.id}")

    async def _rejoin(self, rejoin: Rejoin) -> None:
        self._desk.rejoin()
        self._desk.take_up()
        await self._conductor.rejoin(rejoin)
        self._resumption.rejoin()
        await self._conductor.tell_state()

    async def _catch_up(self) -> None:
        """Wait until the agent has answered: by then all that it said before is in the log."""
        while (agent := self._conductor.agent) is not None and not agent.ready:  # noqa: ASYNC110  rare, and short
            await asyncio.sleep(CATCH_UP_S)
        await self._mailbox.do(self._resumption.rejoined)
        await self._mailbox.do(self._conductor.rejoined)

    @property
    def _catches_up(self) -> bool:
        """Whether it is not known yet what an agent that was taken over has begun."""
        return self._rejoined is not None and not self._rejoined.done()

    def retire(self) -> None:
        """It was closed in an earlier life: it can be read, and takes nothing more."""
        self._conductor.over = True

    # ------------------------------------------------------------------------------------------- reading

    @property
    def spec(self) -> SessionSpec:
        """How it was opened."""
        return self._conductor.spec

    def view(self) -> SessionView:
        """The session as it stands."""
        return self._log.view()

    def subscribe(self, after: int = 0) -> Subscription:
        """Everything after a cursor, then live."""
        return self._log.subscribe(after)

    @property
    def busy(self) -> bool:
        """Whether a turn runs or is about to."""
        return self._conductor.busy

    @property
    def working(self) -> bool:
        """Whether its agent has something to do: a turn, which may wait for an answer, or a background task."""
        return self.attached and (self.busy or any(task.status == "running" for task in self.view().tasks))

    @property
    def attached(self) -> bool:
        """Whether an agent process lives."""
        return self._conductor.agent is not None

    @property
    def idle_since(self) -> float:
        """When the last turn ended, on the monotonic clock."""
        return self._conductor.idle_since

    @property
    def watchers(self) -> int:
        """How many read it right now."""
        return self._log.readers

    def rules(self) -> tuple[SessionRule, ...]:
        """What is allowed for this session: what we answer by, and what the engine holds for it."""
        return self.view().rules

    # -------------------------------------------------------------------------------------------- asking

    async def wake(self) -> None:
        """Have the agent's process started ahead of the first prompt: its options and commands are events then.

        Raises `EngineError` or `HostError` when it cannot start.
        """
        await self._do(self._conductor.ensure_agent)

    async def prompt(self, content: tuple[ContentBlock, ...] | str, *, when: When = "queue", key: str = "") -> PromptId:
        """Give the agent a message. Returns once it is accepted for good; the same key twice is one message."""
        blocks = (TextBlock(text=content),) if isinstance(content, str) else content
        if not blocks:
            raise InvalidValue("content", content, "at least one block")
        if key.startswith(BRIDGE):
            raise InvalidValue("idempotency_key", key, f"a key that does not begin with {BRIDGE!r}")
        prompt = PromptId(key or self._services.surroundings.new_id())
        await self._do(lambda: self._conductor.accept(prompt, blocks, when))
        return prompt

    async def withdraw(self, prompt: PromptId) -> None:
        """Take back a prompt that still waits."""
        await self._do(lambda: self._conductor.withdraw(prompt))

    async def steer(self, prompt: PromptId) -> None:
        """Hand a prompt that waits to the turn that runs; where the engine cannot, it waits on."""
        await self._do(lambda: self._conductor.steer(prompt))

    async def reorder(self, prompts: tuple[PromptId, ...]) -> None:
        """Put the waiting prompts in this order; those that are not named follow in theirs."""
        await self._do(lambda: self._conductor.reorder(prompts))

    async def interrupt(self) -> None:
        """Stop the running turn. What waits behind it runs next."""
        await self._do(self._interrupt)

    async def _interrupt(self) -> None:
        if not await self._resumption.end_turn("interrupted"):
            self._conductor.interrupt()

    async def continue_queue(self) -> None:
        """Start prompts that wait because the service lost the turn before them. Else nothing happens."""
        await self._do(self._conductor.continue_queue)

    async def answer(self, request: RequestId, answer: Answer, *, by: str, surface: str) -> RequestView:
        """Answer a request. The first answer wins; `AlreadyAnswered` tells the others who was first."""
        return await self._do(lambda: self._desk.answer(request, answer, by, surface))

    async def set_mode(self, mode: str) -> None:
        """Change the permission mode, now or with the next process."""
        await self._set(c.SetMode(key=self._conductor.key(), mode=mode), m.ModeChanged(mode=mode))

    async def set_model(self, model: str) -> None:
        """Change the model, now or with the next process."""
        await self._set(c.SetModel(key=self._conductor.key(), model=model), m.ModelChanged(model=model))

    async def set_effort(self, effort: str) -> None:
        """Change how hard the model thinks, now or with the next process."""
        await self._set(c.SetEffort(key=self._conductor.key(), effort=effort), None)
        await self.respec(msgspec.structs.replace(self.spec, effort=effort))

    async def set_option(self, option: str, value: str) -> None:
        """Change an option of the engine's own, now or with the next process. Raises `InvalidValue`."""
        told = self.view().options
        known = next((each for each in told if each.id == option), None)
        if told and known is None:
            raise InvalidValue("option", option, f"one of {', '.join(each.id for each in told)}")
        if known is not None and value not in {each.value for each in known.values}:
            raise InvalidValue(option, value, f"one of {', '.join(each.value for each in known.values)}")
        changed = tuple(msgspec.structs.replace(each, value=value) if each.id == option else each for each in told)
        event = m.ConfigChanged(options=changed) if changed != told else None
        await self._set(c.SetOption(key=self._conductor.key(), option=option, value=value), event)
        await self.respec(msgspec.structs.replace(self.spec, choices={**self.spec.choices, option: value}))

    async def respec(self, spec: SessionSpec) -> None:
        """Have the agent's next process be started like this."""
        await keep_spec(self._services.store, self.id, spec)
        self._conductor.spec = spec

    async def rename(self, title: str) -> None:
        """Give the session a title."""
        await self._do(lambda: self._log.append([m.TitleChanged(title=title)], source="person"))

    async def stop_task(self, task: TaskId) -> None:
        """End one background task."""
        await self._do(lambda: self._stop_task(task))

    async def _stop_task(self, task: TaskId) -> None:
        self._conductor.tell(c.StopTask(key=self._conductor.key(), task=task))

    async def run_command(self, command: str) -> m.CommandRan:
        """Run a person's own command in the session's folder; the agent hears of it with the next prompt."""
        self._check_open()
        if not command.strip():
            raise InvalidValue("command", command, "a command line")
        environ = {**self._services.environ, **self.spec.env}
        ran = await run_shell(self._services.keeper, command, cwd=self.spec.cwd, environ=environ)
        await self._do(lambda: self._ran(ran))
        return ran

    async def _ran(self, ran: m.CommandRan) -> None:
        with self._conductor.following([ran]):
            await self._log.append([ran], source="person", durable=True)

    async def rewind(self, message: MessageId) -> None:
        """Put files back to where they stood at a message of the person; `FilesRewound` says which."""
        await self._agent().ask(c.Rewind(key=self._conductor.key(), message=message))

    async def query(self, name: QueryName, **arguments: str | int | bool) -> Fact:
        """Ask about the agent that is running: how full its context is, which files fit, what it has cost.

        Raises `EngineGone` when none is, `UnsupportedOption` where the engine or its version cannot tell.
        """
        answer = await self._agent().query(Query(key=self._conductor.key(), name=name, arguments=arguments))
        return msgspec.json.decode(answer, type=RESULTS[name])

    def _agent(self) -> Agent:
        self._check_open()
        if self._conductor.agent is None:
            raise EngineGone(self.spec.engine, "no process runs; it starts with the next prompt")
        return self._conductor.agent

    async def revoke(self, rule: RuleId, *, by: str = "", surface: str = "") -> None:
        """Take back what was allowed for the session, by the id of the rule: the next call is asked already.

        An agent that holds the rule and does not let go of it is replaced as soon as no turn runs.
        """
        command = await self._do(lambda: self._desk.revoke(rule, by, surface))
        agent = self._conductor.agent
        if command is None or agent is None:
            return
        try:
            await agent.ask(command)
        except EngineGone:
            return  # the next process is not given it
        except (EngineDeclined, EngineSilent, UnsupportedOption):
            await self._do(self._conductor.renew)

    async def set_limits(self, limits: Limits) -> None:
        """Change what the session may use, and go on if that was what it waited for.

        The engine itself holds the money limit of its process, so that one is replaced when that changes.
        """
        await self._do(lambda: self._allowance.change(limits))

    # ------------------------------------------------------------------------------------------ letting go

    async def evict(self) -> None:
        """Let an idle agent process go; the next prompt resumes by id."""
        agent = self._conductor.agent
        if agent is not None and not self.busy:
            await agent.end(close_wait=2.0)

    async def close(self, reason: str = "") -> None:
        """End the session: what waits is withdrawn, open requests end unanswered, the process ends in order."""
        await self._do(lambda: self._begin_close(reason))
        await self._let_go()
        await self._mailbox.do(lambda: self._end_close(reason))
        await self.shut()

    async def shut(self) -> None:
        """Let go of the session without ending it: as a process that stops does."""
        self._conductor.over = True
        self._conductor.stop_waiting()
        self._desk.stop_waiting()
        await self._stop_catching_up()
        await self._let_go()
        await self._resumption.stop()
        await self._mailbox.close()
        self._log.close()

    def hold(self) -> None:
        """Begin no further turn: prompts are taken and wait for the next service."""
        self._conductor.holding = True

    async def detach(self) -> None:
        """Let go of the session and leave its agent to the keeper, in the middle of whatever it does."""
        self._conductor.over = True
        self._conductor.stop_waiting()
        self._desk.stop_waiting()
        await self._stop_catching_up()
        agent = self._conductor.agent
        if agent is not None:
            await agent.leave()
        await self._resumption.stop()
        await self._mailbox.close()
        self._log.close()

    async def _stop_catching_up(self) -> None:
        if self._rejoined is not None:
            self._rejoined.cancel()
            await asyncio.wait((self._rejoined,))

    async def _let_go(self) -> None:
        agent = self._conductor.agent
        if agent is not None:
            works = self.busy or self._catches_up
            await agent.end(close_wait=None if self._resumption.keeps else 0.0 if works else 2.0)
        await self._conductor.left()

    async def _begin_close(self, reason: str) -> None:
        self._conductor.over = True
        self._resumption.closing = True
        if not self._catches_up:  # else its agent may have begun with any of them
            await self._log.append(_closed(self._conductor.waiting()), source="bridge")
        await self._resumption.end_turn(reason or "the session was closed", unanswered=True)
        await self._desk.close(reason or "the session was closed")

    async def _end_close(self, reason: str) -> None:
        left: list[Event] = _closed(self._log.outline().queue)
        await self._log.append([*left, m.SessionClosed(reason=reason)], source="bridge", durable=True)

    # ------------------------------------------------------------------------------------- in the mailbox

    async def _do(self, work: Callable[[], Awaitable[T]]) -> T:
        """Have it done in the mailbox. Raises `SessionOver` when the session takes nothing more.

        While events of the agent wait for a store that refuses them, everybody else is refused at once.
        """
        self._check_open()
        if self._log.refused is not None:
            raise self._log.refused
        return await self._mailbox.do(work)

    def _post(self, work: Callable[[], Awaitable[None]]) -> None:
        """Have it done in the mailbox with nobody waiting for it."""

        async def patiently() -> None:
            with self._log.patiently():
                await work()

        self._mailbox.post(patiently)

    def _failed(self, problem: BaseException) -> None:
        """A task of the session died, or a piece of its work did in the middle: it is given up, and opened again."""
        log.error("session %s failed: %s: %s", self.id, type(problem).__name__, problem)
        self._conductor.discard_agent()

    def _check_open(self) -> None:
        if self._conductor.over or self._mailbox.closed:
            raise SessionOver(self.id)

    async def _set(self, command: c.Command, event: Event | None) -> None:
        """A living agent is asked, and says itself what holds from then on; without one the log remembers it."""
        self._check_open()
        agent = self._conductor.agent
        if agent is not None:
            await agent.ask(command)
        elif event is not None:
            await self._do(lambda: self._log.append([event], source="person"))

    async def _halt(self, limit: m.LimitReached, where: Halted) -> None:
        await self._allowance.halt(limit, where)

    async def _take_batch(self, batch: list[Event]) -> None:
        await self._mailbox.do_here(lambda: self._take_patiently(batch))

    async def _take_patiently(self, batch: list[Event]) -> None:
        with self._log.patiently():
            await self._take(batch)

    async def _take(self, batch: list[Event]) -> None:
        renamed = map(self._desk.rename, join_deltas(batch))
        view = self._log.outline()
        events = [with_token(event, view) for event in renamed if event is not None and self._is_news(event)]
        if all(map(is_ephemeral, events)):
            await self._log.append(events)
            return
        if self._resumption.concerns(events):
            events = await self._resumption.receive(events)
        events = [self._conductor.interrupting.word_end(event) for event in events]
        with self._conductor.following(events):
            settled = self._conductor.settles(events)
            await self._log.append(events, then=self._conductor.news() if settled else ())
        for event in events:
            await self._react(event)
        if not settled:
            await self._conductor.tell_state()

    def _is_news(self, event: Event) -> bool:
        """Every process says at its start which commands and options it has and what became of tasks of earlier ones.

        At its end it says what it had not begun. Once is enough.
        """
        match event:
            case m.PromptWithdrawn():
                return any(each.id == event.prompt for each in self._log.outline().queue)
            case m.TaskStarted():
                return all(each.id != event.task for each in self.view().tasks)
            case m.TaskEnded():
                known = [each for each in self.view().tasks if each.id == event.task]
                return all(each.ended_at is None for each in known)  # an update may have told how it will end
            case m.CommandsChanged():
                return event.commands != self._log.outline().commands
            case m.ConfigChanged():
                return event.options != self._log.outline().options
            case _:
                return True

    async def _react(self, event: Event) -> None:
        match event:
            case m.RequestOpened():
                await self._desk.opened(event)
            case m.TurnStarted():
                self._conductor.turn_started()
            case m.ToolStarted():
                await self._conductor.tool_started()
            case m.TurnEnded():
                await self._conductor.turn_ended(event)
            case m.EngineDetached():
                interrupted = await self._conductor.detached()
                await self._resumption.detached()
                if interrupted:
                    await self._resumption.end_turn("interrupted")
                    await self._conductor.go_on()
            case _:
                pass


def _closed(prompts: Iterable[QueuedPrompt]) -> list[Event]:
    """Nobody will begin with these."""
    return [m.PromptWithdrawn(prompt=each.id, reason="closed") for each in prompts]
