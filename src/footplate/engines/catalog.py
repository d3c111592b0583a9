"""Which engines exist: the built-in ones and those that other packages bring as entry points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from footplate.config.settings import own_section
from footplate.engines.base import Engine
from footplate.errors import UnknownEngine
from footplate.events.base import ResumeToken

GROUP = "footplate.engines"
"""The entry-point group of third-party engines; each names a factory as below."""

Factory = Callable[[Mapping[str, object]], Engine]
"""Makes an engine from its section of the settings. Raises `ConfigError` for a section it cannot use."""

BUILT_IN = {
    "claude": "footplate.engines.claude.engine:create",
    "codex": "footplate.engines.codex.engine:create",
    "mock": "footplate.engines.mock.engine:create",
}


@cache
def _plugins() -> Mapping[str, EntryPoint]:
    """Looked up once: it reads the metadata of every package, and what is installed is so before we start."""
    return {point.name: point for point in entry_points(group=GROUP)}


def engine_names() -> tuple[str, ...]:
    """Every engine that can be asked for, the built-in ones first."""
    return (*BUILT_IN, *(name for name in sorted(_plugins()) if name not in BUILT_IN))


def make_engine(name: str, sections: Mapping[str, Mapping[str, object]]) -> Engine:
    """The engine of that name with its settings. Only the one that is asked for is imported."""
    section = own_section(sections.get(name, {}))
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        factory: Factory = getattr(import_module(module), attribute)
        return factory(section)
    plugin = _plugins().get(name)
    if plugin is None:
        raise UnknownEngine(name, engine_names())
    loaded: Factory = plugin.load()
    return loaded(section)


def find_resume(text: str, sections: Mapping[str, Mapping[str, object]]) -> ResumeToken | None:
    """The resume token of the last resume line in the text, whichever engine wrote it."""
    lines = text.splitlines()
    engines = [make_engine(name, sections) for name in engine_names()]
    for line in reversed(lines):
        for engine in engines:
            token = engine.extract_resume(line)
            if token is not None:
                return token
    return None
