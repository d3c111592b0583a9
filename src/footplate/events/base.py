"""The base of every event, and the values that many of them carry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec

from footplate.events.ids import EngineSessionId

Level = Literal["debug", "info", "warning", "error"]
Source = Literal["engine", "bridge", "person"]

OVERSIZE: Final = "oversize_line"
"""The code of the notice about a line of the agent that was too long to be kept."""

if TYPE_CHECKING:
    OptionalRaw = msgspec.Raw | None
else:
    # A field that may lack its JSON has the default None. msgspec reads `Raw | None` as "null and nothing else"
    # (msgspec/msgspec#659), so at run time the annotation is plain `Raw`: absent is None, present is Raw.
    OptionalRaw = msgspec.Raw


class EventBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag=True, omit_defaults=True, gc=False):
    """Base of all events. The tag stands in `type` and is the class's own name."""


class ResumeToken(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What brings a conversation back: the engine and its own id of it. The value is opaque."""

    engine: str
    value: EngineSessionId
