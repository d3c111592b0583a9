"""The parts of `_meta` that we read or write; everything else in it passes unread."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.acp.wire import Wire
from footplate.events.base import OptionalRaw


class FootplateMeta(Wire, frozen=True, kw_only=True):
    """Our own part: what stable ACP has no place for."""

    parent_tool_call_id: str | None = None
    message: str | None = None


class ClaudeCodeMeta(Wire, frozen=True, kw_only=True):
    """The part that claude-agent-acp fills, and that editors know."""

    tool_name: str | None = None
    parent_tool_use_id: str | None = None


class Meta(Wire, frozen=True, kw_only=True):
    """The members of `_meta` that we know."""

    footplate: FootplateMeta | None = None
    claude_code: ClaudeCodeMeta | None = None


NOTHING: Final = Meta()
_decoder: Final = msgspec.json.Decoder(Meta)


def read_meta(raw: OptionalRaw) -> Meta:
    """What we know of a `_meta`; one in a shape of its own says nothing to us."""
    if raw is None:
        return NOTHING
    try:
        return _decoder.decode(raw)
    except msgspec.ValidationError:
        return NOTHING


def message_meta(message: str) -> OptionalRaw:
    """Words for which ACP has no place; None when there are none."""
    return write_meta(Meta(footplate=FootplateMeta(message=message))) if message else None


def parent_meta(call: str) -> OptionalRaw:
    """Of the sub-agent that this call started; None when there is no call."""
    return write_meta(Meta(footplate=FootplateMeta(parent_tool_call_id=call))) if call else None


def write_meta(meta: Meta) -> msgspec.Raw:
    """A `_meta` of ours."""
    return msgspec.Raw(msgspec.json.encode(meta))
