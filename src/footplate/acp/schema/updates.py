"""What an agent tells of a session. Written by `scripts/acp_types.py` from the published schema."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from footplate.acp.schema.choices import SessionConfigOption
from footplate.acp.schema.content import ContentBlock
from footplate.acp.schema.tools import ToolCall, ToolCallUpdate
from footplate.acp.wire import Wire
from footplate.events.base import OptionalRaw


class ContentChunk(Wire, frozen=True, kw_only=True):
    """A streamed item of content."""

    content: ContentBlock
    message_id: str | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class AgentMessageChunk(ContentChunk, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="agent_message_chunk"):
    """A chunk of the agent's response being streamed."""


class AgentThoughtChunk(ContentChunk, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    """A chunk of the agent's internal reasoning being streamed."""


class AvailableCommandInput(Wire, frozen=True, kw_only=True):
    """The input specification for a command."""

    hint: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class AvailableCommand(Wire, frozen=True, kw_only=True):
    """Information about a command."""

    name: str
    description: str
    input: AvailableCommandInput | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class AvailableCommandsUpdate(
    Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="available_commands_update"
):
    """Available commands are ready or have changed."""

    available_commands: tuple[AvailableCommand, ...]
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class CompactionSummaryChunk(
    Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="compaction_summary_chunk"
):
    """A content block appended to a compaction's summary."""

    compaction_id: str
    content: ContentBlock
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class CompactionUpdate(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="compaction_update"):
    """A context compaction upsert."""

    compaction_id: str
    status: str
    summary: tuple[msgspec.Raw, ...] | None = None
    error: str | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ConfigOptionUpdate(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="config_option_update"):
    """Session configuration options have been updated."""

    config_options: tuple[SessionConfigOption, ...]
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class CurrentModeUpdate(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="current_mode_update"):
    """The current mode of the session has changed."""

    current_mode_id: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class Notice(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="notice"):
    """Fire-and-forget information for the user."""

    severity: str
    title: str
    description: str | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class PlanEntry(Wire, frozen=True, kw_only=True):
    """A single entry in the execution plan."""

    content: str
    priority: str
    status: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class Plan(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="plan"):
    """An execution plan for accomplishing complex tasks."""

    entries: tuple[PlanEntry, ...]
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class PlanRemoved(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="plan_removed"):
    """Removal notice for a plan identified by ID. Unstable."""

    plan_id: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class PlanUpdateContent(Wire, frozen=True, kw_only=True):
    """Updated content for a plan. Unstable."""

    type: str
    plan_id: str
    entries: tuple[PlanEntry, ...] | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)
    uri: str | None = None
    content: str | None = None


class PlanUpdate(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="plan_update"):
    """A content update for a plan identified by ID. Unstable."""

    plan: PlanUpdateContent
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionInfoUpdate(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="session_info_update"):
    """Update to session metadata."""

    title: str | UnsetType | None = UNSET
    updated_at: str | UnsetType | None = UNSET
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionMessage(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="session_message"):
    """An upsert for an inter-session message. Unstable."""

    message_id: str
    sender_session_id: str | None = None
    recipient_session_id: str | None = None
    sender_message_id: str | None = None
    recipient_message_id: str | None = None
    content: tuple[msgspec.Raw, ...] | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionMessageChunk(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="session_message_chunk"):
    """A streamed content block of an inter-session message. Unstable."""

    message_id: str
    content: ContentBlock
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class Error(Wire, frozen=True, kw_only=True):
    """JSON-RPC error object."""

    code: int
    message: str
    data: OptionalRaw = None


class Usage(Wire, frozen=True, kw_only=True):
    """Token usage information for a prompt turn. Unstable."""

    total_tokens: int
    input_tokens: int
    output_tokens: int
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class StateUpdate(Wire, frozen=True, kw_only=True):
    """Current foreground-work state of a reusable child session. Unstable."""

    state: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)
    usage: Usage | None = None
    stop_reason: str | msgspec.Raw | None = None
    error: Error | None = None


class SessionCancelCapabilities(Wire, frozen=True, kw_only=True):
    """Capability to cancel work in a subagent session without ending that session. Unstable."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SubagentSessionCapabilities(Wire, frozen=True, kw_only=True):
    """Client-initiated session mutations permitted for a specific subagent session. Unstable."""

    cancel: SessionCancelCapabilities | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SubagentUpdate(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="subagent_update"):
    """Notification that the enclosing parent session created and owns a child session. Unstable."""

    session_id: str
    title: str | None = None
    description: str | None = None
    capabilities: SubagentSessionCapabilities | None = None
    state: StateUpdate | None = None
    cwd: str | None = None
    additional_directories: tuple[str, ...] | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ToolCallChange(ToolCallUpdate, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="tool_call_update"):
    """Update on the status or results of a tool call."""


class Cost(Wire, frozen=True, kw_only=True):
    """Cost information for a session."""

    amount: float
    currency: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class UsageUpdate(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="usage_update"):
    """Context window and cost update for a session."""

    used: int
    size: int
    cost: Cost | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class UserMessageChunk(ContentChunk, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="user_message_chunk"):
    """A chunk of the user's message being streamed."""


SessionUpdate = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCall
    | ToolCallChange
    | Plan
    | PlanUpdate
    | PlanRemoved
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
    | Notice
    | CompactionUpdate
    | CompactionSummaryChunk
    | SubagentUpdate
    | SessionMessage
    | SessionMessageChunk
)


class SessionNotification(Wire, frozen=True, kw_only=True):
    """Notification containing a session update from the agent."""

    session_id: str
    update: SessionUpdate
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)
