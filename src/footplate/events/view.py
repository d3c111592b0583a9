"""The reduced view of a session: what every surface draws, as one frozen value that encodes to JSON.

Every field is always present. Lists only, no maps: order is part of the view and the same in every language. What
events carry whole (content blocks, tool details, requests) stands here as it does on the wire. `items` is the timeline,
made of durable events alone; text that is still being written stands beside it in `live`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from footplate.events.base import Level, OptionalRaw, ResumeToken
from footplate.events.content import ContentBlock
from footplate.events.ids import MessageId, PromptId, SessionId, TaskId, ToolCallId, TurnId
from footplate.events.model import (
    ConfigOption,
    Denial,
    LimitKind,
    McpServerStatus,
    SessionState,
    SlashCommand,
    StopReason,
    TaskStatus,
    TurnOrigin,
    WaitingFor,
)
from footplate.events.requests import Answer, Request, RequestState
from footplate.events.rules import SessionRule
from footplate.events.tools import PlanEntry, ToolDetail, ToolKind, ToolOutcome
from footplate.events.usage import Usage

LiveKind = Literal["message", "thought", "tool_input", "tool_output"]

_NULL = msgspec.Raw(b"null")


class ViewBase(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Base of all parts of the view."""


class TextPart(ViewBase, frozen=True, kw_only=True):
    """One finished part of a message or thought."""

    part: int
    text: str


# ------------------------------------------------------------------------------------------------ timeline


class ItemBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", gc=False):
    """Base of all items of the timeline; the tag stands in `type`. An id is unique among items of one type."""

    id: str
    turn: TurnId | None
    at: float


class UserItem(ItemBase, frozen=True, kw_only=True, tag="user"):
    """A message to the agent."""

    content: tuple[ContentBlock, ...]
    prompt: PromptId | None = None
    synthetic: bool = False
    parent: ToolCallId | None = None


class MessageItem(ItemBase, frozen=True, kw_only=True, tag="message"):
    """A message of the agent with its finished parts in order of their numbers."""

    parts: tuple[TextPart, ...]
    model: str = ""
    synthetic: bool = False
    parent: ToolCallId | None = None


class ThoughtItem(ItemBase, frozen=True, kw_only=True, tag="thought"):
    """The agent's thinking in one message, its finished parts in order of their numbers."""

    parts: tuple[TextPart, ...]
    redacted: bool = False
    parent: ToolCallId | None = None


class Counts(ViewBase, frozen=True, kw_only=True):
    """How many calls there are below a call, at any depth."""

    calls: int = 0
    running: int = 0
    failed: int = 0


class ToolItem(ItemBase, frozen=True, kw_only=True, tag="tool"):
    """A tool call. `children` are the calls that name it as parent, in order; `plan` is a sub-agent's to-do list."""

    name: str
    kind: ToolKind
    title: str
    message: MessageId | None = None
    input: OptionalRaw = None
    detail: ToolDetail | None = None
    status: Literal["running"] | ToolOutcome = "running"
    ok: bool | None = None
    content: tuple[ContentBlock, ...] = ()
    note: str = ""
    elapsed_s: float | None = None
    ended_at: float | None = None
    parent: ToolCallId | None = None
    children: tuple[ToolCallId, ...] = ()
    counts: Counts = Counts()
    plan: tuple[PlanEntry, ...] = ()

    def __post_init__(self) -> None:
        """JSON has one null: an absent input is None after a round trip too."""
        if self.input == _NULL:
            msgspec.structs.force_setattr(self, "input", None)


class NoticeItem(ItemBase, frozen=True, kw_only=True, tag="notice"):
    """Something told in words. `code` is stable: that of the notice, or `limit`, `parked`, `unparsed`."""

    level: Level
    text: str
    code: str = ""
    detail: str = ""
    call: ToolCallId | None = None


class CompactionItem(ItemBase, frozen=True, kw_only=True, tag="compaction"):
    """The context was shortened, is being, or could not be."""

    trigger: Literal["manual", "auto", ""] = ""
    status: Literal["running", "done", "failed"] = "running"
    tokens_before: int | None = None
    tokens_after: int | None = None
    error: str = ""
    ended_at: float | None = None


class CommandItem(ItemBase, frozen=True, kw_only=True, tag="command"):
    """A person's own command."""

    command: str
    output: str
    exit_code: int | None = None
    truncated: bool = False


class RewindItem(ItemBase, frozen=True, kw_only=True, tag="rewind"):
    """Files were put back to where they stood at a message."""

    message: MessageId
    files: tuple[str, ...] = ()


Item = UserItem | MessageItem | ThoughtItem | ToolItem | NoticeItem | CompactionItem | CommandItem | RewindItem


class LivePart(ViewBase, frozen=True, kw_only=True):
    """Text that is still being written: of a message's or thought's part, or of a call's input or output.

    `id` is the message's or the call's. It goes when the durable event comes that holds the whole.
    """

    kind: LiveKind
    id: str
    text: str
    part: int = 0
    parent: ToolCallId | None = None


# ---------------------------------------------------------------------------------------------- the others


class QueuedPrompt(ViewBase, frozen=True, kw_only=True):
    """A prompt that waits, or that its agent has not confirmed."""

    id: PromptId
    content: tuple[ContentBlock, ...]
    at: float


class TurnView(ViewBase, frozen=True, kw_only=True):
    """One turn. `ok` is None while it runs.

    `unconfirmed` are those of its prompts that the agent has not repeated as a message (yet). In a turn that failed
    they stay: an agent that could not start never got them.
    """

    id: TurnId
    started_at: float
    prompts: tuple[PromptId, ...] = ()
    unconfirmed: tuple[QueuedPrompt, ...] = ()
    origin: TurnOrigin = ""
    ok: bool | None = None
    answer: str = ""
    error: str = ""
    error_kind: str = ""
    stop_reason: StopReason | None = None
    structured_output: OptionalRaw = None
    usage: Usage | None = None
    denials: tuple[Denial, ...] = ()
    ended_at: float | None = None

    def __post_init__(self) -> None:
        """JSON has one null: an absent output is None after a round trip too."""
        if self.structured_output == _NULL:
            msgspec.structs.force_setattr(self, "structured_output", None)


class RequestView(ViewBase, frozen=True, kw_only=True):
    """A request and how far it got. `detached`: the process that asked is gone, an answer wakes the engine first.

    `sent`: the answer was, or may have been, written to the agent.
    """

    request: Request
    opened_at: float
    state: RequestState = "open"
    detached: bool = False
    sent: bool = False
    turn: TurnId | None = None
    parent: ToolCallId | None = None
    answer: Answer | None = None
    answered_by: str = ""
    answered_from: str = ""
    answered_at: float | None = None
    reason: str = ""
    ended_at: float | None = None


class TaskView(ViewBase, frozen=True, kw_only=True):
    """Work beside the turns."""

    id: TaskId
    started_at: float
    kind: Literal["agent", "command", "other"] = "other"
    title: str = ""
    prompt: str = ""
    agent_type: str = ""
    background: bool = False
    call: ToolCallId | None = None
    status: TaskStatus = "running"
    note: str = ""
    summary: str = ""
    output_file: str = ""
    ended_at: float | None = None


class Totals(ViewBase, frozen=True, kw_only=True):
    """The sum over all turns that ended. `cost_usd` is None until a turn told its cost."""

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    duration_ms: int = 0
    cost_usd: float | None = None


class Meter(ViewBase, frozen=True, kw_only=True):
    """How full the context is, and what the engine says the session has cost, both as last reported."""

    used: int | None = None
    size: int | None = None
    cost_usd: float | None = None
    model: str = ""


class LimitView(ViewBase, frozen=True, kw_only=True):
    """A limit that is near or reached; one that is clear again is not listed."""

    kind: LimitKind
    name: str
    status: Literal["warning", "reached"]
    at: float
    resets_at: float | None = None
    utilization: float | None = None
    text: str = ""


class ExitView(ViewBase, frozen=True, kw_only=True):
    """How the agent's last process went."""

    reason: str
    at: float
    exit_code: int | None = None
    signal: int | None = None
    stderr: str = ""


class SessionView(ViewBase, frozen=True, kw_only=True):
    """The whole session after `last_seq`: a reader who has it goes on from there.

    `requests` are those without an end, answered or not; `closed_requests` the latest that ended. `turn` is the running
    one. `unknown` counts events of types that this version does not know, `unparsed` lines that it could not read.
    """

    session: SessionId = SessionId("")
    epoch: int = 1
    last_seq: int = 0
    opened_at: float | None = None
    updated_at: float | None = None
    state: SessionState = "starting"
    waiting_for: WaitingFor = ""
    until: float | None = None
    title: str = ""
    closed_reason: str = ""
    forked_from: SessionId | None = None

    engine: str = ""
    version: str = ""
    cwd: str = ""
    model: str = ""
    mode: str = ""
    effort: str = ""
    output_style: str = ""
    credentials: str = ""
    resume: ResumeToken | None = None
    resumable: bool = True
    attached: bool = False
    exit: ExitView | None = None
    tools: tuple[str, ...] = ()
    mcp_servers: tuple[McpServerStatus, ...] = ()
    agents: tuple[str, ...] = ()
    commands: tuple[SlashCommand, ...] = ()
    options: tuple[ConfigOption, ...] = ()

    turn: TurnId | None = None
    turns: tuple[TurnView, ...] = ()
    items: tuple[Item, ...] = ()
    live: tuple[LivePart, ...] = ()
    plan: tuple[PlanEntry, ...] = ()
    tasks: tuple[TaskView, ...] = ()
    requests: tuple[RequestView, ...] = ()
    closed_requests: tuple[RequestView, ...] = ()
    queue: tuple[QueuedPrompt, ...] = ()
    usage: Totals = Totals()
    meter: Meter = Meter()
    limits: tuple[LimitView, ...] = ()
    rules: tuple[SessionRule, ...] = ()
    unknown: int = 0
    unparsed: int = 0

    @property
    def cost_usd(self) -> float | None:
        """What the session has cost: the sum of its turns, and until one has told its cost the engine's own figure.

        The engine's figure is that of a process for some engines, of a conversation for others.
        """
        return self.usage.cost_usd if self.usage.cost_usd is not None else self.meter.cost_usd
