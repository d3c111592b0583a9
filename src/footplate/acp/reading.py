"""Reading what others wrote: known shapes as structs, everything else kept raw instead of refused.

Agents are ahead of every client: an update, a block or an item of a kind that this version does not know is a value
of its own, with its bytes.
"""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.acp.schema.content import ContentBlock, ToolCallContent
from footplate.acp.schema.tools import ToolCall, ToolCallUpdate
from footplate.acp.schema.updates import SessionNotification
from footplate.acp.wire import Wire

PROTOCOL_VERSION: Final = 1

ToolFields = ToolCall | ToolCallUpdate
"""A call as updates and permissions tell of it; what is absent or null did not change."""


class UnknownContent(Wire, frozen=True, kw_only=True):
    """A block of a kind that this version does not know, or not in this shape."""

    kind: str
    raw: msgspec.Raw


class UnknownUpdate(Wire, frozen=True, kw_only=True):
    """An update of a kind that this version does not know, or not in this shape."""

    session_id: str
    kind: str
    raw: msgspec.Raw


class _Tagged(msgspec.Struct):
    type: str = ""


class _TaggedUpdate(Wire, frozen=True, kw_only=True):
    session_update: str = ""


class _LooseNotification(Wire, frozen=True, kw_only=True):
    session_id: str
    update: msgspec.Raw


_content_decoder: Final[msgspec.json.Decoder[ContentBlock]] = msgspec.json.Decoder(ContentBlock)
_tool_content_decoder: Final[msgspec.json.Decoder[ToolCallContent]] = msgspec.json.Decoder(ToolCallContent)
_tag_decoder: Final = msgspec.json.Decoder(_Tagged)
_notification_decoder: Final = msgspec.json.Decoder(SessionNotification)
_loose_decoder: Final = msgspec.json.Decoder(_LooseNotification)
_kind_decoder: Final = msgspec.json.Decoder(_TaggedUpdate)


def read_content(raw: msgspec.Raw) -> ContentBlock | UnknownContent:
    """A content block, kept raw when its kind or shape is unknown."""
    try:
        return _content_decoder.decode(raw)
    except msgspec.ValidationError:
        return _unknown(raw)


def read_tool_content(raw: msgspec.Raw) -> ToolCallContent | UnknownContent:
    """One item of a tool call's content, kept raw when its kind or shape is unknown."""
    try:
        return _tool_content_decoder.decode(raw)
    except msgspec.ValidationError:
        return _unknown(raw)


def read_update(params: msgspec.Raw | bytes) -> SessionNotification | UnknownUpdate:
    """Parameters of `session/update`, kept raw when the update is unknown.

    Raises `msgspec.ValidationError` when not even the session and the update can be told apart.
    """
    try:
        return _notification_decoder.decode(params)
    except msgspec.ValidationError:
        loose = _loose_decoder.decode(params)
        kind = _kind_decoder.decode(loose.update).session_update
        return UnknownUpdate(session_id=loose.session_id, kind=kind, raw=loose.update.copy())


def _unknown(raw: msgspec.Raw) -> UnknownContent:
    try:
        kind = _tag_decoder.decode(raw).type
    except msgspec.ValidationError:
        kind = ""
    return UnknownContent(kind=kind, raw=raw.copy())
