"""The session: one conversation, whoever watches and whoever asks. All that changes it happens in its mailbox.

The agent's process comes and goes beneath it: started by the first prompt, kept warm between turns, evicted when idle,
resumed by id. A request of the agent is a durable thing with an id of ours; its first answer is stored before the agent
hears of it, and every later one is told who was first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from footplate.engines.base import ChecksOptions, Query
from footplate.errors import EngineDeclined, EngineGone, EngineSilent, InvalidValue, UnsupportedOption
from footplate.events import commands as c
from footplate.events import model as m
from footplate.events.content import ContentBlock, TextBlock
from footplate.events.facts import RESULTS, Fact, QueryName
from footplate.events.ids import MessageId, PromptId, RequestId, RuleId, TaskId
from footplate.events.model import Event, is_ephemeral
from footplate.events.requests import Answer
from footplate.events.rules import SessionRule
from footplate.events.view import RequestView, SessionView
from footplate.runtime.agent import Agent
from footplate.runtime.audit import SERVICE, Act, Detail, Principal
from footplate.runtime.conductor import Halted, When
from footplate.runtime.deltas import join_deltas
from footplate.runtime.limits import Limits
from footplate.runtime.log import Subscription
from footplate.runtime.modes import check_known_mode, check_start, session_options, usable_modes
from footplate.runtime.records import with_token
from footplate.runtime.recovery import BRIDGE
from footplate.runtime.session_life import SessionLife
from footplate.runtime.shell import run_shell
from footplate.runtime.spec import SessionSpec, check_effort, keep_spec

EARLY: Final = {"mode": "mode", "model": "model", "effort": "thought_level", "thought_level": "thought_level"}
"""The categories of options by their ids, for a session whose agent has told none yet."""


class Session(SessionLife):
    """One session. Every method may be called by any number of surfaces at a time."""

    # ------------------------------------------------------------------------------------------- reading

    def view(self) -> SessionView:
        """The session as it stands."""
        return self._log.view()

    def subscribe(self, after: int = 0, epoch: int | None = None) -> Subscription:
        """Everything after a cursor, then live: see `Subscription`."""
        return self._log.subscribe(after, epoch)

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
        await self._ready()
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
        await self._ready()
        await self._do(self._conductor.continue_queue)

    async def answer(
        self, request: RequestId, answer: Answer, *, by: str, surface: str, origin: str = "", token: str = ""
    ) -> RequestView:
        """Answer a request. The first answer wins; `AlreadyAnswered` tells the others who was first."""
        principal = Principal(by=by, surface=surface, origin=origin, token=token)
        return await self._do(lambda: self._desk.answer(request, answer, principal))

    async def set_mode(self, mode: str, principal: Principal = SERVICE) -> None:
        """Change the permission mode, now or with the next process. Raises `EngineRefused` for one that cannot be."""
        self.check_mode(mode)
        before = self.view().mode
        if mode != before:
            await self._record("session.mode", principal, {"mode": mode, "before": before})
        await self._set(c.SetMode(key=self._key(), mode=mode), m.ModeChanged(mode=mode))

    def check_mode(self, mode: str) -> None:
        """Raise `EngineRefused` or `InvalidValue` for a mode that no process of this session could start in."""
        check_known_mode(self._engine, mode, self.view().options)
        options = session_options(msgspec.structs.replace(self.spec, mode=mode), self._services.settings)
        check_start(self._engine, options, self._services.environ)

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes that can be asked for."""
        options = session_options(self.spec, self._services.settings)
        return usable_modes(self._engine, options, self._services.environ)

    async def set_model(self, model: str) -> None:
        """Change the model, now or with the next process."""
        await self._set(c.SetModel(key=self._key(), model=model), m.ModelChanged(model=model))

    async def set_effort(self, effort: str) -> None:
        """Change how hard the model thinks, now or with the next process. Raises `InvalidValue`.

        Empty is the agent's own default: no agent can be told so, and the next process is started without an effort.
        """
        check_effort(self._engine, effort)
        if effort:
            await self._set(c.SetEffort(key=self._key(), effort=effort), None)
        await self._change_spec(lambda spec: msgspec.structs.replace(spec, effort=effort))
        if not effort and self.resumable:
            await self._do(self._conductor.renew)

    async def set_option(self, option: str, value: str, principal: Principal = SERVICE) -> None:
        """Change an option of the engine's own, now or with the next process. Raises `InvalidValue`."""
        told = self.view().options
        known = next((each for each in told if each.id == option), None)
        if told and known is None:
            raise InvalidValue("option", option, f"one of {', '.join(each.id for each in told)}")
        category = known.category if known is not None else EARLY.get(option, "")
        if known is not None and value not in {each.value for each in known.values}:
            raise InvalidValue(option, value, f"one of {', '.join(each.value for each in known.values)}")
        setters = {
            "mode": lambda mode: self.set_mode(mode, principal),
            "model": self.set_model,
            "thought_level": self.set_effort,
        }
        if category in setters:
            await setters[category](value)
            return
        if not told and isinstance(self._engine, ChecksOptions):
            self._engine.check_option(option, value)
        changed = tuple(msgspec.structs.replace(each, value=value) if each.id == option else each for each in told)
        event = m.ConfigChanged(options=changed) if changed != told else None
        await self._set(c.SetOption(key=self._key(), option=option, value=value), event)
        await self._change_spec(lambda spec: msgspec.structs.replace(spec, choices={**spec.choices, option: value}))

    async def respec(self, spec: SessionSpec, principal: Principal = SERVICE) -> None:
        """Have the agent's next process be started like this."""
        await self._ready()
        if spec.mode != self.spec.mode:
            await self._record("session.mode", principal, {"mode": spec.mode, "before": self.spec.mode})
        if spec.limits != self.spec.limits:
            await self._record("session.limits", principal, msgspec.to_builtins(spec.limits))
        if spec.effort != self.spec.effort:
            check_effort(self._engine, spec.effort)
        await self._change_spec(lambda _: spec)

    async def _change_spec(self, change: Callable[[SessionSpec], SessionSpec]) -> None:
        """Store what the next process is started with. In the mailbox: an answer may raise a limit at the same time."""
        await self._ready()

        async def work() -> None:
            before = self.spec
            spec = change(before)
            await keep_spec(self._services.store, self.id, spec)
            self._conductor.spec = spec
            if spec.effort != before.effort:
                await self._log.append([m.EffortChanged(effort=spec.effort)], source="person")

        await self._do(work)

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
        if self._parts is None or self._parts.conductor.agent is None:
            raise EngineGone(self.spec.engine, "no process runs; it starts with the next prompt")
        return self._parts.conductor.agent

    async def revoke(self, rule: RuleId, *, by: str = "", surface: str = "", origin: str = "", token: str = "") -> None:
        """Take back what was allowed for the session, by the id of the rule: the next call is asked already.

        An agent that holds the rule and does not let go of it is replaced as soon as no turn runs.
        """
        principal = Principal(by=by, surface=surface, origin=origin, token=token)
        command = await self._do(lambda: self._desk.revoke(rule, principal))
        agent = self._conductor.agent
        if command is None or agent is None:
            return
        try:
            await agent.ask(command)
        except EngineGone:
            return  # the next process is not given it
        except (EngineDeclined, EngineSilent, UnsupportedOption):
            await self._do(self._conductor.renew)

    async def set_limits(self, limits: Limits, principal: Principal = SERVICE) -> None:
        """Change what the session may use, and go on if that was what it waited for.

        The engine itself holds the money limit of its process, so that one is replaced when that changes.
        """
        await self._record("session.limits", principal, msgspec.to_builtins(limits))
        await self._do(lambda: self._allowance.change(limits))

    async def _record(self, act: Act, principal: Principal, detail: Detail) -> None:
        await self._services.audit.record(act, principal, session=self.id, detail=detail)

    # ------------------------------------------------------------------------------------- in the mailbox

    async def _set(self, command: c.Command, event: Event | None) -> None:
        """A living agent is asked, and says itself what holds from then on; without one the log remembers it."""
        await self._ready()
        agent = self._conductor.agent
        if agent is None:  # one may be starting, with the options as they were: that is known in the mailbox only
            agent = await self._do(lambda: self._remember(event))
        if agent is not None:
            await agent.ask(command)

    async def _remember(self, event: Event | None) -> Agent | None:
        """Store it for the next process, unless there is one by now, which is to be asked."""
        agent = self._conductor.agent
        if agent is None and event is not None:
            await self._log.append([event], source="person")
        return agent

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
            case m.PromptWithdrawn():
                self._post(self._conductor.go_on)  # it may have been what others waited for
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
