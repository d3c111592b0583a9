"""Modes and options of a session. Written by `scripts/acp_types.py` from the published schema."""

from __future__ import annotations

import msgspec

from footplate.acp.wire import Wire
from footplate.events.base import OptionalRaw


class SessionMode(Wire, frozen=True, kw_only=True):
    """A mode the agent can operate in."""

    id: str
    name: str
    description: str | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionModeState(Wire, frozen=True, kw_only=True):
    """The set of modes and the one currently active."""

    current_mode_id: str
    available_modes: tuple[SessionMode, ...]
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionConfigSelectOption(Wire, frozen=True, kw_only=True):
    """A possible value for a session configuration option."""

    value: str
    name: str
    description: str | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


class SessionConfigSelectChoice(Wire, frozen=True, kw_only=True):
    """Possible values for a session configuration option."""

    value: str | None = None
    name: str
    description: str | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)
    group: str | None = None
    options: tuple[SessionConfigSelectOption, ...] | None = None


class SessionConfigOption(Wire, frozen=True, kw_only=True):
    """A session configuration option selector and its current state."""

    id: str
    name: str
    description: str | None = None
    category: str | None = None
    meta: OptionalRaw = msgspec.field(name="_meta", default=None)
    type: str
    current_value: str | bool
    options: tuple[SessionConfigSelectChoice, ...] | None = None
