"""The closed union of events, and the envelope that carries one.

A session is an ordered log of these. Each docstring says when the event is sent, what came before and what may
follow; `docs/reference/events.md` and the JSON Schema beside it are generated from here. Events that can stem from
a sub-agent carry `parent`, the tool call that started it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from footplate.events.base import EventBase, Level, OptionalRaw, ResumeToken, Source
from footplate.events.content import ContentBlock
from footplate.events.ids import (
    EngineSessionId,
    MessageId,
    PromptId,
    RequestId,
    RuleId,
    SessionId,
    TaskId,
    ToolCallId,
    TurnId,
)
from footplate.events.requests import Answer, Request
from footplate.events.rules import SessionRule
from footplate.events.tools import PlanEntry, ToolDetail, ToolKind, ToolOutcome
from footplate.events.usage import Usage

SCHEMA_VERSION = 1

SessionState = Literal["starting", "running", "waiting", "idle", "interrupted", "parked", "closed", "failed"]
WaitingFor = Literal["you", "tool", "model", "limit", ""]
AttachReason = Literal["started", "resumed", "forked", "cleared", "reattached"]
TurnOrigin = Literal["prompt", "task", "command", ""]
StopReason = Literal[
    "end_turn",
    "max_tokens",
    "max_turns",
    "max_budget",
    "refusal",
    "interrupted",
    "error",
    "timeout",
    "lost",
    "other",
]
LimitKind = Literal["usage", "rate", "money", "turns", "time", "tool_calls", "context", "other"]
TaskStatus = Literal["running", "completed", "failed", "stopped", "lost"]


# ------------------------------------------------------------------------------------------------ session


class SessionOpened(EventBase, frozen=True, kw_only=True):
    """First event of every session. Followed by `EngineAttached` once an agent's process has the conversation."""

    engine: str
    cwd: str
    title: str = ""
    model: str = ""
    mode: str = ""
    effort: str = ""
    resumed: ResumeToken | None = None
    forked_from: SessionId | None = None


class McpServerStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One MCP server as the engine reports it."""

    name: str
    status: str = ""


class EngineAttached(EventBase, frozen=True, kw_only=True):
    """The engine's own id of the conversation is known; sent again whenever that id or the process changes.

    Comes before the first `TurnStarted` of a process. A changed `engine_session_id` (after `/clear`, or a fork that was
    asked for) is announced by another one with its `reason`.
    """

    engine: str
    engine_session_id: EngineSessionId
    reason: AttachReason = "started"
    version: str = ""
    model: str = ""
    mode: str = ""
    cwd: str = ""
    tools: tuple[str, ...] = ()
    mcp_servers: tuple[McpServerStatus, ...] = ()
    commands: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    output_style: str = ""
    credentials: str = ""
    resumable: bool = True
    """Whether another process can go on with the conversation: an ACP agent says whether it can load or resume."""


class EngineDetached(EventBase, frozen=True, kw_only=True):
    """The agent's process is gone or let go of. Everything it had open was closed by events before this one.

    But for a request that can still be answered: it stays open, marked as detached, and so do its call, the calls above
    that and the turn. The answer brings up another process, which goes on with them.
    """

    reason: str
    exit_code: int | None = None
    signal: int | None = None
    stderr: str = ""


class StateChanged(EventBase, frozen=True, kw_only=True):
    """The session's state, and what it waits for, both told by the protocol and never guessed."""

    state: SessionState
    waiting_for: WaitingFor = ""
    until: float | None = None


class ModeChanged(EventBase, frozen=True, kw_only=True):
    """The permission mode in force from here on."""

    mode: str


class ModelChanged(EventBase, frozen=True, kw_only=True):
    """The model in force from here on. `fallback_from` names the one that was given up by the engine itself."""

    model: str
    fallback_from: str = ""


class EffortChanged(EventBase, frozen=True, kw_only=True):
    """The effort that was set for the session: each further process of the agent is started with it."""

    effort: str


class ConfigValue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One value that an option may take."""

    value: str
    label: str = ""
    description: str = ""


class ConfigOption(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One option of the engine with its current value and what it may be."""

    id: str
    label: str = ""
    description: str = ""
    category: str = ""
    value: str = ""
    values: tuple[ConfigValue, ...] = ()


class ConfigChanged(EventBase, frozen=True, kw_only=True):
    """The engine's options, the whole list: it replaces the one before."""

    options: tuple[ConfigOption, ...]


class SlashCommand(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One command of the engine that a prompt may start with."""

    name: str
    description: str = ""
    argument_hint: str = ""


class CommandsChanged(EventBase, frozen=True, kw_only=True):
    """The engine's slash commands, the whole list: it replaces the one before."""

    commands: tuple[SlashCommand, ...]


class TitleChanged(EventBase, frozen=True, kw_only=True):
    """The session's title from here on, set by a person or by the engine."""

    title: str


class SessionClosed(EventBase, frozen=True, kw_only=True):
    """Last event of a session. Nothing follows it."""

    reason: str = ""


# --------------------------------------------------------------------------------------------------- turn


class PromptQueued(EventBase, frozen=True, kw_only=True):
    """A prompt was accepted and waits. Followed by the `TurnStarted` that names it, or by `PromptWithdrawn`."""

    prompt: PromptId
    content: tuple[ContentBlock, ...]
    position: int = 0


class PromptWithdrawn(EventBase, frozen=True, kw_only=True):
    """A waiting prompt will not run: cancelled by a person, or dropped by the engine."""

    prompt: PromptId
    reason: str = ""


class PromptSteered(EventBase, frozen=True, kw_only=True):
    """A prompt was handed to the turn that is running instead of waiting for the next."""

    prompt: PromptId


class TurnStarted(EventBase, frozen=True, kw_only=True):
    """A turn begins. Exactly one `TurnEnded` with the same id follows; no other turn starts in between.

    `origin` is `task` when the agent started by itself because background work reported.
    """

    turn: TurnId
    prompts: tuple[PromptId, ...] = ()
    origin: TurnOrigin = ""


class UserMessage(EventBase, frozen=True, kw_only=True):
    """A message to the agent as the engine took it up. `synthetic` ones are the engine talking to its model."""

    message: MessageId
    content: tuple[ContentBlock, ...]
    prompt: PromptId | None = None
    synthetic: bool = False
    parent: ToolCallId | None = None


class MessageDelta(EventBase, frozen=True, kw_only=True):
    """A piece of text of a message part while it is written. Ephemeral: the `Message` that ends it replaces it.

    `reset`: the text is all of the part so far and replaces what a reader has of it; that is how the live tail is
    sent to a reader who joins (again) in the middle.
    """

    message: MessageId
    part: int
    text: str
    parent: ToolCallId | None = None
    reset: bool = False


class Message(EventBase, frozen=True, kw_only=True):
    """One finished text part of a message of the agent. Parts of one message share its id and are merged by readers."""

    message: MessageId
    part: int
    text: str
    model: str = ""
    synthetic: bool = False
    parent: ToolCallId | None = None


class ThoughtDelta(EventBase, frozen=True, kw_only=True):
    """A piece of a thought while it is written. Ephemeral: the `Thought` that ends it replaces it.

    `reset` means what it means in a `MessageDelta`.
    """

    message: MessageId
    part: int
    text: str
    parent: ToolCallId | None = None
    reset: bool = False


class Thought(EventBase, frozen=True, kw_only=True):
    """One finished part of the agent's thinking. `redacted` when the engine shows that it thought but not what."""

    message: MessageId
    part: int
    text: str
    redacted: bool = False
    parent: ToolCallId | None = None


class ToolStarted(EventBase, frozen=True, kw_only=True):
    """First sight of a tool call. `input` and `detail` are absent while the engine still streams the input.

    `pending`: the engine says that it has not begun, as a call that waits for leave. Exactly one `ToolEnded` with the
    same id follows, also when the agent dies; `ToolUpdated` may come in between.
    """

    call: ToolCallId
    name: str
    kind: ToolKind
    title: str
    message: MessageId | None = None
    input: OptionalRaw = None
    detail: ToolDetail | None = None
    parent: ToolCallId | None = None
    pending: bool = False


class ToolUpdated(EventBase, frozen=True, kw_only=True):
    """More is known of a running call; what is absent did not change.

    With nothing but `input_delta` or `output_delta` it is ephemeral, as a `MessageDelta` is; `reset` then says that a
    delta is all of the input or output so far.
    """

    call: ToolCallId
    title: str = ""
    input: OptionalRaw = None
    detail: ToolDetail | None = None
    input_delta: str = ""
    output_delta: str = ""
    elapsed_s: float | None = None
    note: str = ""
    reset: bool = False


class ToolEnded(EventBase, frozen=True, kw_only=True):
    """A call is over. Nothing further is said of this id."""

    call: ToolCallId
    ok: bool
    outcome: ToolOutcome
    content: tuple[ContentBlock, ...] = ()
    detail: ToolDetail | None = None
    note: str = ""


class PlanChanged(EventBase, frozen=True, kw_only=True):
    """The agent's plan or to-do list, the whole of it: it replaces the one before."""

    entries: tuple[PlanEntry, ...]
    parent: ToolCallId | None = None


class TaskStarted(EventBase, frozen=True, kw_only=True):
    """Work beside the turn began: a sub-agent or a command. `TaskEnded` follows, possibly long after the turn."""

    task: TaskId
    kind: Literal["agent", "command", "other"] = "other"
    title: str = ""
    prompt: str = ""
    agent_type: str = ""
    background: bool = False
    call: ToolCallId | None = None


class TaskUpdated(EventBase, frozen=True, kw_only=True):
    """Progress of a task; what is absent did not change."""

    task: TaskId
    status: TaskStatus | None = None
    note: str = ""
    background: bool | None = None


class TaskEnded(EventBase, frozen=True, kw_only=True):
    """A task is over."""

    task: TaskId
    status: TaskStatus
    summary: str = ""
    output_file: str = ""
    call: ToolCallId | None = None


class UsageReported(EventBase, frozen=True, kw_only=True):
    """Figures while a turn runs: how full the context is, what the session has cost so far."""

    context_used: int | None = None
    context_size: int | None = None
    cost_usd: float | None = None
    model: str = ""


class Denial(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A tool call that was refused in the turn, as the engine lists it at the end."""

    tool: str
    call: ToolCallId | None = None
    input: OptionalRaw = None


class TurnEnded(EventBase, frozen=True, kw_only=True):
    """Last event of a turn: every call and request of the turn was closed before it.

    `ok` is the engine's own verdict. `error` is a short text for people, set exactly when `ok` is false. `resume`
    brings the conversation back; it is absent only when the engine never had one.
    """

    turn: TurnId
    ok: bool
    answer: str = ""
    error: str = ""
    error_kind: str = ""
    stop_reason: StopReason = "end_turn"
    structured_output: OptionalRaw = None
    usage: Usage | None = None
    resume: ResumeToken | None = None
    origin: TurnOrigin = ""
    denials: tuple[Denial, ...] = ()
    prompts: tuple[PromptId, ...] = ()


# ----------------------------------------------------------------------------------------------- requests


class RequestOpened(EventBase, frozen=True, kw_only=True):
    """The agent asks a person. Ends in exactly one of applied, rejected, withdrawn, unanswered.

    Sent again under the same id when the process that asked is gone and another one asks the same again.
    """

    request: Request
    parent: ToolCallId | None = None


class RequestAnswered(EventBase, frozen=True, kw_only=True):
    """Somebody answered; the first answer wins. Stored before the engine hears of it."""

    request: RequestId
    answer: Answer
    by: str
    surface: str = ""


class RequestSent(EventBase, frozen=True, kw_only=True):
    """The answer is about to be written to the agent: from here on only a result proves anything.

    Stored before a byte of it is written: together with `RequestAnswered` where the agent waits, else once a process
    asks again.
    """

    request: RequestId


class RequestApplied(EventBase, frozen=True, kw_only=True):
    """The engine acted on the answer, as seen in its next frames. An end state."""

    request: RequestId


class RequestRejected(EventBase, frozen=True, kw_only=True):
    """The engine refused the answer; its words are kept. An end state."""

    request: RequestId
    reason: str


class RequestWithdrawn(EventBase, frozen=True, kw_only=True):
    """The agent no longer asks: interrupted, or gone. An end state."""

    request: RequestId
    reason: str = ""


class RequestUnanswered(EventBase, frozen=True, kw_only=True):
    """A policy's deadline passed or the session was closed. An end state; never a made-up answer."""

    request: RequestId
    reason: str = ""


class RuleAdded(EventBase, frozen=True, kw_only=True):
    """Something is allowed for the session from here on. Comes with the `RequestAnswered` that said so."""

    rule: SessionRule
    by: str = ""
    surface: str = ""


class RuleRevoked(EventBase, frozen=True, kw_only=True):
    """What was allowed for the session is not any more; the agent asks again. Follows its `RuleAdded`."""

    rule: RuleId
    by: str = ""
    surface: str = ""


# --------------------------------------------------------------------------------------------------- else


class CompactionStarted(EventBase, frozen=True, kw_only=True):
    """The engine begins to shorten its context. `CompactionEnded` follows."""

    trigger: Literal["manual", "auto", ""] = ""


class CompactionEnded(EventBase, frozen=True, kw_only=True):
    """The context was shortened, or could not be."""

    ok: bool
    trigger: Literal["manual", "auto", ""] = ""
    tokens_before: int | None = None
    tokens_after: int | None = None
    error: str = ""


class LimitReached(EventBase, frozen=True, kw_only=True):
    """A limit is near (`warning`), reached, or told to be clear again. Never silent."""

    kind: LimitKind
    status: Literal["clear", "warning", "reached"]
    resets_at: float | None = None
    utilization: float | None = None
    name: str = ""
    text: str = ""


class Parked(EventBase, frozen=True, kw_only=True):
    """The session waits without a process, until a time or until somebody wakes it."""

    reason: str
    until: float | None = None


class CommandRan(EventBase, frozen=True, kw_only=True):
    """A person's own command ran in the session's folder; the agent gets it as context without a model call."""

    command: str
    output: str
    exit_code: int | None = None
    truncated: bool = False


class FilesRewound(EventBase, frozen=True, kw_only=True):
    """Files were put back to where they stood at a message."""

    message: MessageId
    files: tuple[str, ...] = ()


class Notice(EventBase, frozen=True, kw_only=True):
    """Something worth telling that is none of the above: a retry, a hook, a warning of the engine or of ours.

    With `calls` the text is a summary of these tool calls, most of which have ended; the view shows it with them.
    """

    level: Level
    text: str
    code: str = ""
    detail: str = ""
    call: ToolCallId | None = None
    calls: tuple[ToolCallId, ...] = ()


class Unparsed(EventBase, frozen=True, kw_only=True):
    """A line of the engine that we cannot read, kept as it came. Nothing is ever dropped in silence."""

    raw: str
    reason: str
    size: int = 0


Event = (
    SessionOpened
    | EngineAttached
    | EngineDetached
    | StateChanged
    | ModeChanged
    | ModelChanged
    | EffortChanged
    | ConfigChanged
    | CommandsChanged
    | TitleChanged
    | SessionClosed
    | PromptQueued
    | PromptWithdrawn
    | PromptSteered
    | TurnStarted
    | UserMessage
    | MessageDelta
    | Message
    | ThoughtDelta
    | Thought
    | ToolStarted
    | ToolUpdated
    | ToolEnded
    | PlanChanged
    | TaskStarted
    | TaskUpdated
    | TaskEnded
    | UsageReported
    | TurnEnded
    | RequestOpened
    | RequestAnswered
    | RequestSent
    | RequestApplied
    | RequestRejected
    | RequestWithdrawn
    | RequestUnanswered
    | RuleAdded
    | RuleRevoked
    | CompactionStarted
    | CompactionEnded
    | LimitReached
    | Parked
    | CommandRan
    | FilesRewound
    | Notice
    | Unparsed
)


class Unknown(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event of a type this version does not know, as a reader of the log keeps it. Never written by us."""

    type: str
    raw: msgspec.Raw


class Envelope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One numbered event of a session. `seq` is dense from 1; an ephemeral event carries the last durable number."""

    seq: int
    time: float
    session: SessionId
    event: Event
    epoch: int = 1
    turn: TurnId | None = None
    source: Source = "engine"


def is_ephemeral(event: Event) -> bool:
    """Whether the event is only fanned out and not kept in the log: something durable will replace it."""
    kind = type(event)  # isinstance of a struct is dear where it is false, which is nearly always
    if kind is MessageDelta or kind is ThoughtDelta:
        return True
    return type(event) is ToolUpdated and not (
        event.title or event.input or event.detail or event.note or event.elapsed_s is not None
    )
