"""Events of a session as ACP updates, for one kind of client. Pure: event in, updates out.

Text is exact: what the deltas of a part have told is not told again by the message that ends it, and what they have
not told is. Requests are no updates: `encode_requests` has them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec import UNSET

from footplate.acp.content import wire_block
from footplate.acp.encode_choices import EFFORT, MODEL, Choices
from footplate.acp.encode_tools import ToolEncoder
from footplate.acp.meta import ClaudeUsageMeta, FootplateMeta, RateLimit, TaskMeta, ToolMeta
from footplate.acp.profile import Profile
from footplate.acp.schema import updates as u
from footplate.acp.schema.content import TextContent
from footplate.acp.schema.tools import ToolCall
from footplate.acp.schema.updates import SessionUpdate
from footplate.acp.server_prompts import tell_commands
from footplate.events import model as m
from footplate.events.base import Level, OptionalRaw
from footplate.events.content import ContentBlock, TextBlock
from footplate.events.ids import PromptId, TaskId, ToolCallId
from footplate.events.model import Event
from footplate.events.view import SessionView
from footplate.events.wording import format_count

LIMITS: Final = {"clear": "allowed", "warning": "allowed_warning", "reached": "rejected"}
SEVERITIES: Final[dict[Level, str]] = {"info": "info", "warning": "warning", "error": "error"}
COMPACTING: Final = "Shortening the conversation"
Delta = m.MessageDelta | m.ThoughtDelta
Whole = m.Message | m.Thought


class Encoder:
    """Folds the events of one session into updates. Start it with `learn` when the session has a past."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.tools = ToolEncoder(profile)
        self.choices = Choices(profile)
        self._told: dict[tuple[type, str, int], int] = {}
        self._prompts: dict[PromptId, tuple[ContentBlock, ...]] = {}
        self._shown: set[PromptId] = set()
        self._compactions = 0
        self._compacting = False
        self._cost: float | None = None
        """The sum of the turns."""
        self._reported_cost: float | None = None
        """The engine's own figure, which counts until a turn has told its cost."""
        self._used: int | None = None
        self._size: int | None = None
        self._model = ""
        self._tasks: dict[TaskId, ToolCallId] = {}

    def learn(self, view: SessionView) -> None:
        """How the session stands where this reader begins."""
        self.choices.learn(view.options, mode=view.mode, model=view.model, effort=view.effort)
        self._cost, self._reported_cost = view.usage.cost_usd, view.meter.cost_usd
        self._used, self._size = view.meter.used, view.meter.size
        self._prompts = {waiting.id: waiting.content for waiting in view.queue}
        self._tasks = {task.id: task.call for task in view.tasks if task.call is not None}

    def own(self, prompt: PromptId) -> None:
        """The client itself sends this prompt: it is not told of it."""
        self._shown.add(prompt)

    def encode(self, event: Event, at: float = 0.0) -> list[SessionUpdate]:
        """The updates of one event; most have one, some none. `at` is when it happened."""
        match event:
            case m.MessageDelta() | m.ThoughtDelta():
                return self._delta(event)
            case m.Message() | m.Thought():
                return self._whole(event)
            case m.ToolStarted():
                return self.tools.started(event)
            case m.ToolUpdated():
                return self.tools.updated(event)
            case m.ToolEnded():
                return self.tools.ended(event)
            case m.UserMessage() | m.PromptQueued() | m.TurnStarted() | m.PromptSteered():
                return self._said(event)
            case m.PlanChanged() if event.parent is None:
                return [_plan(event)]
            case m.CommandRan():
                return self._command(event, at)
            case m.TaskStarted():
                return self._task(event.task, event.call, "running")
            case m.TaskEnded():
                return self._task(event.task, event.call, event.status)
            case _:
                return self._state(event, at)

    def _state(self, event: Event, at: float) -> list[SessionUpdate]:
        match event:
            case m.ModeChanged():
                return self.choices.mode_changed(event.mode)
            case m.ModelChanged():
                return self.choices.chosen(MODEL, event.model)
            case m.EffortChanged():
                return self.choices.chosen(EFFORT, event.effort)
            case m.ConfigChanged():
                return self.choices.changed(event.options)
            case m.CommandsChanged():
                return [tell_commands(event.commands, self.profile)]
            case m.TitleChanged():
                when = datetime.fromtimestamp(at, UTC).isoformat() if at else UNSET
                return [u.SessionInfoUpdate(title=event.title or None, updated_at=when)]
            case m.UsageReported():
                return self._usage(event)
            case m.TurnEnded():
                return self._turn_ended(event)
            case m.CompactionStarted() | m.CompactionEnded():
                return self._compaction(event)
            case _:
                return self._remark(event)

    def _remark(self, event: Event) -> list[SessionUpdate]:
        match event:
            case m.LimitReached():
                return self._limit(event)
            case m.Parked():
                return self._notice("warning", event.reason)
            case m.FilesRewound():
                return self._notice("info", f"{format_count(len(event.files), 'file')} put back")
            case m.Notice():
                return self._notice(event.level, event.text, event.detail)
            case _:
                return []

    # ---------------------------------------------------------------------------------------------- text

    def _delta(self, event: Delta) -> list[SessionUpdate]:
        if self._is_hidden(event.parent):
            return []
        key = (_CHUNKS[type(event)], event.message, event.part)
        text = event.text[self._told.get(key, 0) :] if event.reset else event.text
        self._told[key] = self._told.get(key, 0) + len(text)
        return self._chunk(key, text, event.parent)

    def _whole(self, event: Whole) -> list[SessionUpdate]:
        if self._is_hidden(event.parent):
            return []
        key = (_CHUNKS[type(event)], event.message, event.part)
        return self._chunk(key, event.text[self._told.pop(key, 0) :], event.parent)

    def _chunk(self, key: tuple[type, str, int], text: str, parent: ToolCallId | None) -> list[SessionUpdate]:
        if not text:
            return []
        chunk, message, _ = key
        meta = self.tools.parent_meta(parent) if parent is not None else None
        made: SessionUpdate = chunk(content=TextContent(text=text), message_id=message, meta=meta)
        return [made]

    def _is_hidden(self, parent: ToolCallId | None) -> bool:
        """What a sub-agent says would read as the agent's own words to a client that does not know it apart."""
        return parent is not None and not self.profile.subagent_text

    def _said(self, event: m.UserMessage | m.PromptQueued | m.TurnStarted | m.PromptSteered) -> list[SessionUpdate]:
        """What a person said, once: when its turn takes it up, or as the engine tells it."""
        match event:
            case m.PromptQueued():
                self._prompts[event.prompt] = event.content
                return []
            case m.TurnStarted():
                return [chunk for prompt in event.prompts for chunk in self._prompt(prompt)]
            case m.PromptSteered():
                return self._prompt(event.prompt)
            case m.UserMessage(prompt=None) if not event.synthetic and event.parent is None:
                return _user_chunks(event.message, event.content)
            case _:
                return []

    def _prompt(self, prompt: PromptId) -> list[SessionUpdate]:
        content = self._prompts.pop(prompt, ())
        if prompt in self._shown:
            self._shown.discard(prompt)
            return []
        return _user_chunks(prompt, content)

    def _command(self, event: m.CommandRan, at: float) -> list[SessionUpdate]:
        """A person's own command, run on another surface."""
        call = ToolCallId(f"command-{at:.6f}")
        started = m.ToolStarted(call=call, name="shell", kind="command", title=event.command)
        ended = m.ToolEnded(
            call=call, ok=event.exit_code == 0, outcome="completed", content=(TextBlock(text=event.output),)
        )
        return [*self.tools.started(started), *self.tools.ended(ended)]

    def _task(self, task: TaskId, call: ToolCallId | None, status: m.TaskStatus) -> list[SessionUpdate]:
        """Work behind a call begins or ends; the call itself may be over long before."""
        call = call or self._tasks.get(task)
        if call is None:
            return []
        self._tasks[task] = call
        meta = ToolMeta(footplate=FootplateMeta(task=TaskMeta(id=task, status=status)))
        return [u.ToolCallChange(tool_call_id=call, meta=meta.raw())]

    # ------------------------------------------------------------------------------------------- figures

    def _usage(self, event: m.UsageReported) -> list[SessionUpdate]:
        self._used = event.context_used if event.context_used is not None else self._used
        self._size = event.context_size if event.context_size is not None else self._size
        self._reported_cost = event.cost_usd if event.cost_usd is not None else self._reported_cost
        self._model = event.model or self._model
        return self._figures()

    def _turn_ended(self, event: m.TurnEnded) -> list[SessionUpdate]:
        """The turn's cost joins the sum."""
        self._told.clear()
        if event.usage is None or event.usage.cost_usd is None:
            return []
        self._cost = (self._cost or 0.0) + event.usage.cost_usd
        return self._figures()

    def _figures(self, limit: RateLimit | None = None) -> list[SessionUpdate]:
        if self._used is None or self._size is None:
            return []
        amount = self._cost if self._cost is not None else self._reported_cost
        cost = u.Cost(amount=amount, currency="USD") if amount is not None else None
        meta: OptionalRaw = None
        if self.profile.claude_code and (self._model or limit is not None):
            meta = msgspec.Raw(msgspec.json.encode(ClaudeUsageMeta(model=self._model, rate_limit=limit)))
        return [u.UsageUpdate(used=self._used, size=self._size, cost=cost, meta=meta)]

    def _limit(self, event: m.LimitReached) -> list[SessionUpdate]:
        """A limit, for people; where it is the account's also in the words of Claude."""
        told: list[SessionUpdate] = []
        if event.kind == "usage" and self.profile.claude_code:
            told += self._figures(
                RateLimit(
                    status=LIMITS[event.status],
                    rate_limit_type=event.name or None,
                    resets_at=event.resets_at,
                    utilization=event.utilization,
                )
            )
        if event.status == "clear":
            return told
        level: Level = "error" if event.status == "reached" else "warning"
        return [*told, *self._notice(level, event.text or f"{event.name or event.kind} limit: {event.status}")]

    # -------------------------------------------------------------------------------------- compaction

    def _compaction(self, event: m.CompactionStarted | m.CompactionEnded) -> list[SessionUpdate]:
        """Told once each way; a client without a place for it sees it as a call that thinks."""
        begins = isinstance(event, m.CompactionStarted)
        if begins == self._compacting:
            return []  # told already, or never begun
        self._compacting = begins
        self._compactions += begins
        name = f"compaction-{self._compactions}"
        if isinstance(event, m.CompactionStarted):
            if self.profile.compaction:
                return [u.CompactionUpdate(compaction_id=name, status="in_progress")]
            return [ToolCall(tool_call_id=name, title=COMPACTING, kind="think", status="in_progress")]
        status = "completed" if event.ok else "failed"
        self._used = event.tokens_after if event.tokens_after is not None else self._used
        told: SessionUpdate = (
            u.CompactionUpdate(compaction_id=name, status=status, error=event.error or None)
            if self.profile.compaction
            else u.ToolCallChange(tool_call_id=name, status=status)
        )
        return [told, *(self._figures() if event.tokens_after is not None else ())]

    def _notice(self, level: Level, text: str, detail: str = "") -> list[SessionUpdate]:
        """For people. A client without notices gets warnings and errors as thoughts: they are not the answer."""
        severity = SEVERITIES.get(level)
        if severity is None:
            return []
        if self.profile.notices:
            return [u.Notice(severity=severity, title=text, description=detail or None)]
        if level == "info":
            return []
        return [u.AgentThoughtChunk(content=TextContent(text=f"{text}\n"))]


_CHUNKS: Final[dict[type, type[u.AgentMessageChunk] | type[u.AgentThoughtChunk]]] = {
    m.MessageDelta: u.AgentMessageChunk,
    m.Message: u.AgentMessageChunk,
    m.ThoughtDelta: u.AgentThoughtChunk,
    m.Thought: u.AgentThoughtChunk,
}


def _user_chunks(message: str, content: tuple[ContentBlock, ...]) -> list[SessionUpdate]:
    return [u.UserMessageChunk(content=wire_block(block), message_id=message) for block in content]


def _plan(event: m.PlanChanged) -> u.Plan:
    return u.Plan(
        entries=tuple(
            u.PlanEntry(
                content=(entry.active_form if entry.status == "in_progress" else "") or entry.content,
                priority=entry.priority or "medium",
                status=entry.status,
            )
            for entry in event.entries
        )
    )


def coalesce(updates: list[SessionUpdate]) -> list[SessionUpdate]:
    """Neighbouring pieces of one text as one piece; the text stays what it was."""
    merged: list[SessionUpdate] = []
    for update in updates:
        last = merged[-1] if merged else None
        if (
            isinstance(update, u.AgentMessageChunk | u.AgentThoughtChunk)
            and isinstance(last, u.AgentMessageChunk | u.AgentThoughtChunk)
            and type(last) is type(update)
            and (last.message_id, last.meta) == (update.message_id, update.meta)
            and isinstance(last.content, TextContent)
            and isinstance(update.content, TextContent)
        ):
            text = TextContent(text=last.content.text + update.content.text)
            merged[-1] = type(update)(content=text, message_id=update.message_id, meta=update.meta)
        else:
            merged.append(update)
    return merged
