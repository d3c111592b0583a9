"""The sections of the settings that belong to engines: their shapes, and whether what stands in them can be used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

import msgspec

from footplate.config.advice import nearest
from footplate.config.settings import Settings, common_settings
from footplate.engines.catalog import engine_names, make_engine
from footplate.engines.commands import with_agents
from footplate.errors import ConfigError

SHAPES: Final = {
    "claude": "footplate.engines.claude.settings:ClaudeSettings",
    "codex": "footplate.engines.codex.settings:CodexSettings",
    "opencode": "footplate.engines.acp.engine:AcpSettings",
    "gemini": "footplate.engines.acp.engine:AcpSettings",
    "qwen": "footplate.engines.acp.engine:AcpSettings",
    "mock": "footplate.engines.mock.engine:MockSettings",
}
"""Where the shape of each built-in engine's section is."""


def section_shapes() -> dict[str, type[msgspec.Struct]]:
    """The shape of each built-in engine's own section, beside what all of them have."""
    found: dict[str, type[msgspec.Struct]] = {}
    for name, where in SHAPES.items():
        module, _, attribute = where.partition(":")
        found[name] = getattr(import_module(module), attribute)
    return found


def check_sections(settings: Settings, environ: Mapping[str, str]) -> None:
    """Raise `ConfigError` for a section that its engine cannot use, and for one of an engine that is not there."""
    settings = with_agents(settings, environ)
    known = engine_names(settings)
    for name in settings.engines:
        if name not in known:
            advice = nearest(name, list(known)) or f"known engines: {', '.join(known)}"
            raise ConfigError(f"[engines.{name}]", "there is no engine of that name", advice)
        common_settings(settings, name)
        make_engine(name, settings)
