"""What a client may ask of one session's agent beyond the settings, and engines that read it in words of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import msgspec

from footplate.engines.declared import Declared


class Extras(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the processes of one session are started, beside its model, mode and limits: fields of `Options`."""

    allow_tools: tuple[str, ...] | None = None
    deny_tools: tuple[str, ...] = ()
    max_turns: int | None = None
    system_prompt: str = ""
    append_system_prompt: str = ""
    agents: str = ""
    """Sub-agents, as JSON of the engine's own shape."""
    add_dirs: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    """Arguments of the engine's own program."""


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for. `unknown` names what the engine has no place for."""

    model: str = ""
    mode: str = ""
    effort: str = ""
    env: Mapping[str, str] = {}
    max_budget_usd: float | None = None
    servers: Mapping[str, Declared] = {}
    """MCP servers."""
    output_schema: str = ""
    extras: Extras = Extras()
    unknown: tuple[str, ...] = ()


@runtime_checkable
class Tunable(Protocol):
    """An engine whose own options a client may hand over as they are."""

    def read_options(self, raw: msgspec.Raw) -> Tuning:
        """The options as we have them. Raises `InvalidValue`."""
        ...
