"""The base of every value of the protocol."""

from __future__ import annotations

import msgspec


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """camelCase on the wire, defaults left out, unknown fields let pass."""
