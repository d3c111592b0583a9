"""ACP v1 messages of an agent during a turn: session updates, permissions, elicitations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from footplate.acp.types import ConfigOption, Content, Meta, Wire
from footplate.events.base import OptionalRaw


class UpdateBase(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate"):
    """Base of all session updates; the tag stands in `sessionUpdate`."""


class Chunk(UpdateBase, frozen=True, kw_only=True):
    """A piece of a message."""

    content: Content
    message_id: str | None = None
    meta: Meta | None = msgspec.field(name="_meta", default=None)


class UserMessageChunk(Chunk, frozen=True, kw_only=True, tag="user_message_chunk"):
    """A piece of what the user said (replay, or an echo)."""


class AgentMessageChunk(Chunk, frozen=True, kw_only=True, tag="agent_message_chunk"):
    """A piece of the agent's answer."""


class AgentThoughtChunk(Chunk, frozen=True, kw_only=True, tag="agent_thought_chunk"):
    """A piece of the agent's thinking."""


class ToolLocation(Wire, frozen=True, kw_only=True):
    """A file that a call works on."""

    path: str
    line: int | None = None


class ToolFields(Wire, frozen=True, kw_only=True):
    """A call as updates and permissions tell of it; what is absent or null did not change."""

    tool_call_id: str
    title: str | None = None
    name: str | None = None
    kind: str | None = None
    status: str | None = None
    content: tuple[msgspec.Raw, ...] | None = None
    locations: tuple[ToolLocation, ...] | None = None
    raw_input: OptionalRaw = None
    raw_output: OptionalRaw = None
    meta: Meta | None = msgspec.field(name="_meta", default=None)


class ToolCall(ToolFields, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="tool_call"):
    """A call begins."""


class ToolCallUpdate(ToolFields, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="tool_call_update"):
    """More of a call."""


class PlanEntry(Wire, frozen=True, kw_only=True):
    """One entry of a plan."""

    content: str
    priority: str
    status: str


class Plan(UpdateBase, frozen=True, kw_only=True, tag="plan"):
    """The whole plan."""

    entries: tuple[PlanEntry, ...]
    meta: Meta | None = msgspec.field(name="_meta", default=None)


class CommandInput(Wire, frozen=True, kw_only=True):
    """What to type behind a command."""

    hint: str = ""


class AvailableCommand(Wire, frozen=True, kw_only=True):
    """One slash command."""

    name: str
    description: str
    input: CommandInput | None = None


class AvailableCommandsUpdate(UpdateBase, frozen=True, kw_only=True, tag="available_commands_update"):
    """All slash commands."""

    available_commands: tuple[AvailableCommand, ...]


class CurrentModeUpdate(UpdateBase, frozen=True, kw_only=True, tag="current_mode_update"):
    """The mode in force."""

    current_mode_id: str


class ConfigOptionUpdate(UpdateBase, frozen=True, kw_only=True, tag="config_option_update"):
    """All options."""

    config_options: tuple[ConfigOption, ...]


class SessionInfoUpdate(UpdateBase, frozen=True, kw_only=True, tag="session_info_update"):
    """The session's title; null takes it away."""

    title: str | UnsetType | None = UNSET


class Cost(Wire, frozen=True, kw_only=True):
    """Money."""

    amount: float
    currency: str


class UsageUpdate(UpdateBase, frozen=True, kw_only=True, tag="usage_update"):
    """How full the context is, and the cost so far."""

    used: int
    size: int
    cost: Cost | None = None


class NoticeUpdate(UpdateBase, frozen=True, kw_only=True, tag="notice"):
    """Something to tell the user."""

    severity: str
    title: str
    description: str | None = None


Update = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCall
    | ToolCallUpdate
    | Plan
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
    | NoticeUpdate
)


class SessionNotification(Wire, frozen=True, kw_only=True):
    """Parameters of `session/update`."""

    session_id: str
    update: Update


class UnknownUpdate(Wire, frozen=True, kw_only=True):
    """An update of a kind that this version does not know, or not in this shape."""

    session_id: str
    kind: str
    raw: msgspec.Raw


# ----------------------------------------------------------------------------------------------- requests


class PermissionOption(Wire, frozen=True, kw_only=True):
    """One way to answer. Only `kind` means the same for all agents."""

    option_id: str
    name: str
    kind: str


class PermissionRequest(Wire, frozen=True, kw_only=True):
    """Parameters of `session/request_permission`."""

    session_id: str
    tool_call: ToolFields
    options: tuple[PermissionOption, ...]


class PermissionOutcome(Wire, frozen=True, kw_only=True):
    """`selected` with an option, or `cancelled`."""

    outcome: str
    option_id: str | None = None


class PermissionResponse(Wire, frozen=True, kw_only=True):
    """The answer to a permission."""

    outcome: PermissionOutcome
    meta: Meta | None = msgspec.field(name="_meta", default=None)


class EnumOption(Wire, frozen=True, kw_only=True):
    """One titled value of a form's field."""

    const: str
    title: str
    description: str | None = None


class FormItems(Wire, frozen=True, kw_only=True):
    """What may stand in a form's list: plain or titled values."""

    enum: tuple[str, ...] | None = None
    any_of: tuple[EnumOption, ...] | None = None


class FormField(Wire, frozen=True, kw_only=True):
    """One field of a form; its `type` is string, number, integer, boolean or array."""

    type: str
    title: str | None = None
    description: str | None = None
    enum: tuple[str, ...] | None = None
    one_of: tuple[EnumOption, ...] | None = None
    items: FormItems | None = None


class FormSchema(Wire, frozen=True, kw_only=True):
    """A flat form."""

    type: str | UnsetType = UNSET
    properties: Mapping[str, FormField] = {}
    required: tuple[str, ...] | None = None


class ElicitationRequest(Wire, frozen=True, kw_only=True):
    """Parameters of `elicitation/create`; `requested_schema` stands there when `mode` is `form`."""

    message: str
    mode: str
    session_id: str | None = None
    tool_call_id: str | None = None
    requested_schema: FormSchema | None = None


FormValue = str | int | float | bool | list[str]


class ElicitationResponse(Wire, frozen=True, kw_only=True):
    """`accept` with the form's values, `decline` or `cancel`."""

    action: str
    content: dict[str, FormValue] | None = None
    meta: Meta | None = msgspec.field(name="_meta", default=None)


# ------------------------------------------------------------------------------------------------ reading


class _LooseUpdate(msgspec.Struct):
    sessionUpdate: str = ""  # noqa: N815  the wire's own name


class _LooseNotification(Wire, frozen=True, kw_only=True):
    session_id: str
    update: msgspec.Raw


_notification_decoder: Final = msgspec.json.Decoder(SessionNotification)
_loose_decoder: Final = msgspec.json.Decoder(_LooseNotification)
_kind_decoder: Final = msgspec.json.Decoder(_LooseUpdate)


def read_update(params: msgspec.Raw | bytes) -> SessionNotification | UnknownUpdate:
    """Parameters of `session/update`, kept raw when the update is unknown.

    Raises `msgspec.ValidationError` when not even the session and the update can be told apart.
    """
    try:
        return _notification_decoder.decode(params)
    except msgspec.ValidationError:
        loose = _loose_decoder.decode(params)
        kind = _kind_decoder.decode(loose.update).sessionUpdate
        return UnknownUpdate(session_id=loose.session_id, kind=kind, raw=loose.update.copy())
