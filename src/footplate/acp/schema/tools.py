"""Tool calls. Written by `scripts/acp_types.py` from the published schema."""

from __future__ import annotations

import msgspec

from footplate.acp.wire import Wire
from footplate.events.base import OptionalRaw


class ToolCallLocation(Wire, frozen=True, kw_only=True):
    """A file location being accessed or modified by a tool."""

    path: str
    line: int | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ToolCall(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="tool_call"):
    """Represents a tool call that the language model has requested."""

    tool_call_id: str
    title: str
    name: str | None = None
    kind: str | None = None
    status: str | None = None
    content: tuple[msgspec.Raw, ...] | None = None
    locations: tuple[ToolCallLocation, ...] | None = None
    raw_input: OptionalRaw = None
    raw_output: OptionalRaw = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class ToolCallUpdate(Wire, frozen=True, kw_only=True):
    """An update to an existing tool call."""

    tool_call_id: str
    kind: str | None = None
    status: str | None = None
    title: str | None = None
    name: str | None = None
    content: tuple[msgspec.Raw, ...] | None = None
    locations: tuple[ToolCallLocation, ...] | None = None
    raw_input: OptionalRaw = None
    raw_output: OptionalRaw = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)
