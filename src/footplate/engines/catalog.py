"""Which engines exist: the built-in ones, those that other packages bring, and commands of the settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from footplate.config.settings import ENGINE_PLUGINS, Settings, own_section
from footplate.engines.base import Engine
from footplate.errors import UnknownEngine
from footplate.events.base import ResumeToken

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Factory = Callable[[Mapping[str, object]], Engine]
"""Makes an engine from its section of the settings. Raises `ConfigError` for a section it cannot use."""

BUILT_IN = {
    "claude": "footplate.engines.claude.engine:create",
    "codex": "footplate.engines.codex.engine:create",
    "opencode": "footplate.engines.acp.engine:create_opencode",
    "gemini": "footplate.engines.acp.engine:create_gemini",
    "qwen": "footplate.engines.acp.engine:create_qwen",
    "mock": "footplate.engines.mock.engine:create",
}

NO_SETTINGS: Final = Settings()


@cache
def _plugins() -> Mapping[str, EntryPoint]:
    """Looked up once: it reads the metadata of every package, and what is installed is so before we start."""
    from importlib.metadata import entry_points  # noqa: PLC0415  (3 MB that a built-in engine does not need)

    return {point.name: point for point in entry_points(group=ENGINE_PLUGINS)}


def engine_names(settings: Settings = NO_SETTINGS) -> tuple[str, ...]:
    """Every engine that can be asked for: the built-in ones, those of packages, the commands of the settings."""
    return tuple(dict.fromkeys((*BUILT_IN, *sorted(_plugins()), *settings.acp_agents)))


def make_engine(name: str, settings: Settings = NO_SETTINGS) -> Engine:
    """The engine of that name with its settings. Only the one that is asked for is imported.

    A command of the settings does not take the place of an engine that has its name.
    """
    section = own_section(settings.engines.get(name, {}))
    if name in BUILT_IN:
        return _load(BUILT_IN[name])(section)
    plugin = _plugins().get(name)
    if plugin is not None:
        loaded: Factory = plugin.load()
        return loaded(section)
    if name in settings.acp_agents:
        from footplate.engines.acp.engine import create_command  # noqa: PLC0415  (only the one that is asked for)

        return create_command(name, settings.acp_agents[name], section)
    raise UnknownEngine(name, engine_names(settings))


def _load(where: str) -> Factory:
    module, _, attribute = where.partition(":")
    factory: Factory = getattr(import_module(module), attribute)
    return factory


def find_resume(text: str, settings: Settings = NO_SETTINGS) -> ResumeToken | None:
    """The resume token of the last resume line in the text, whichever engine wrote it."""
    lines = text.splitlines()
    engines = [make_engine(name, settings) for name in engine_names(settings)]
    for line in reversed(lines):
        for engine in engines:
            token = engine.extract_resume(line)
            if token is not None:
                return token
    return None
