"""What an agent asks of a person. Written by `scripts/acp_types.py` from the published schema."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from footplate.acp.schema.tools import ToolCallUpdate
from footplate.acp.wire import Wire
from footplate.events.base import OptionalRaw


class PermissionOption(Wire, frozen=True, kw_only=True):
    """An option presented to the user when requesting permission."""

    option_id: str
    name: str
    kind: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class RequestPermissionRequest(Wire, frozen=True, kw_only=True):
    """Request for user permission to execute a tool call."""

    session_id: str
    tool_call: ToolCallUpdate
    options: tuple[PermissionOption, ...]
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class RequestPermissionOutcome(Wire, frozen=True, kw_only=True):
    """The outcome of a permission request."""

    outcome: str
    option_id: str | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class RequestPermissionResponse(Wire, frozen=True, kw_only=True):
    """Response to a permission request."""

    outcome: RequestPermissionOutcome
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class EnumOption(Wire, frozen=True, kw_only=True):
    """A titled enum option with a const value, human-readable title, and optional description."""

    const: str
    title: str
    description: str | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class MultiSelectItems(Wire, frozen=True, kw_only=True):
    """Items for a multi-select (array) property schema."""

    type: str | None = None
    enum: tuple[str, ...] | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)
    any_of: tuple[EnumOption, ...] | None = None


class ElicitationPropertySchema(Wire, frozen=True, kw_only=True):
    """Property schema for elicitation form fields."""

    type: str
    title: str | None = None
    description: str | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    format: str | None = None
    default: str | float | int | bool | tuple[str, ...] | None = None
    enum: tuple[str, ...] | None = None
    one_of: tuple[EnumOption, ...] | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)
    minimum: float | int | None = None
    maximum: float | int | None = None
    min_items: int | None = None
    max_items: int | None = None
    items: MultiSelectItems | None = None


class ElicitationSchema(Wire, frozen=True, kw_only=True):
    """Type-safe elicitation schema for requesting structured user input."""

    type: str | UnsetType = UNSET
    title: str | None = None
    properties: dict[str, ElicitationPropertySchema] | None = None
    required: tuple[str, ...] | None = None
    description: str | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class CreateElicitationRequest(Wire, frozen=True, kw_only=True):
    """Request from the agent to elicit structured user input."""

    message: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)
    mode: str
    requested_schema: ElicitationSchema | None = None
    session_id: str | None = None
    tool_call_id: str | None = None
    request_id: int | str | None = None
    elicitation_id: str | None = None
    url: str | None = None


class CompleteElicitationNotification(Wire, frozen=True, kw_only=True):
    """Notification sent by the agent when a URL-based elicitation is complete."""

    elicitation_id: str
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class CreateElicitationResponse(Wire, frozen=True, kw_only=True):
    """Response from the client to an elicitation request."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)
    action: str
    content: dict[str, str | int | float | bool | tuple[str, ...]] | None = None
