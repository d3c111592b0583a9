"""Values that stand elsewhere: `{ env = "NAME" }` and `{ file = "~/path" }` in place of a text, for secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from footplate.errors import ConfigError

KINDS: Final = ("env", "file")


Lookup = Callable[[str, str, str], str]


def resolve(value: object, environ: Mapping[str, str], *, where: str = "") -> object:
    """The value with every such reference in it replaced by what it refers to. Raises `ConfigError`."""

    def look(kind: str, name: str, key: str) -> str:
        return _from_variable(name, environ, key) if kind == "env" else _from_file(name, environ, key)

    return _walk(value, look, where)


def stand_in(value: object) -> object:
    """The value with every reference replaced by some text: to see whether the rest can be used."""
    return _walk(value, lambda *_: "elsewhere", "")


def _walk(value: object, look: Lookup, where: str) -> object:
    if isinstance(value, list):
        return [_walk(each, look, where) for each in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((kind, name),) = value.items()
        if kind in KINDS and isinstance(name, str):
            return look(kind, name, where)
    return {key: _walk(each, look, f"{where}.{key}" if where else key) for key, each in value.items()}


def _from_variable(name: str, environ: Mapping[str, str], where: str) -> str:
    if name not in environ:
        raise ConfigError(where, f"the variable {name} is not set", "set it, or write the value itself")
    return environ[name]


def _from_file(name: str, environ: Mapping[str, str], where: str) -> str:
    path = Path(environ.get("HOME", "/"), name[2:]) if name.startswith("~/") else Path(name)
    try:
        return path.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(where, f"{path}: {problem}", "make it readable, or write the value itself") from problem
