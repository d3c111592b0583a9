"""Settings by dotted names (`http.stop_s`): look one up, write it, take it out, list them all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from footplate.config.advice import nearest
from footplate.config.places import settings_file
from footplate.config.projects import ENGINES
from footplate.config.settings import PREFIX, Section, Settings, read_table
from footplate.errors import ConfigError

if TYPE_CHECKING:
    from tomlkit import TOMLDocument
    from tomlkit.items import AbstractTable

Source = Literal["default", "file", "environment"]
SECRET: Final = re.compile(r"(token|secret|password|api_key|headers)(\.|$)")
HIDDEN: Final = "(hidden)"


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting: its value, and where that comes from."""

    key: str
    value: object
    source: Source


def split_key(key: str) -> tuple[str, ...]:
    """The parts of a name. Raises `ConfigError` for an empty one."""
    parts = tuple(key.split("."))
    if not all(parts):
        raise ConfigError(key or '""', "an empty part between the dots", "write SECTION.KEY, such as http.stop_s")
    return parts


def list_settings(settings: Settings, environ: Mapping[str, str]) -> Iterator[Setting]:
    """Every setting, with those of sections that only an engine knows as far as they are set."""
    path = settings_file(environ)
    file = {key for key, _ in flatten(read_table(path, required=False))}
    named = {name.removeprefix(PREFIX).lower().replace("__", ".") for name in environ if name.startswith(PREFIX)}
    for key, value in flatten(msgspec.to_builtins(settings)):
        above = {".".join(key.split(".")[:size]) for size in range(1, key.count(".") + 2)}
        source: Source = "environment" if above & named else "file" if above & file else "default"
        yield Setting(key=key, value=value, source=source)


def find_setting(settings: Settings, key: str) -> object:
    """The value of a setting or of a whole section. Raises `ConfigError` with the nearest name."""
    place: object = msgspec.to_builtins(settings)
    for index, part in enumerate(split_key(key)):
        if not isinstance(place, Mapping) or part not in place:
            raise _unknown(key, part, place, key.split(".")[:index])
        place = place[part]
    return place


def _unknown(key: str, part: str, place: object, above: list[str]) -> ConfigError:
    if not above and part in ENGINES:
        return ConfigError(key, "there is no such setting", f"did you mean 'engines.{key}'?")
    known = [str(name) for name in place] if isinstance(place, Mapping) else []
    close = nearest(part, known)
    if close:
        return ConfigError(key, "there is no such setting", close)
    where = ".".join(above) or "the settings"
    rest = f"{where} has: {', '.join(known)}" if known else f"{where} has nothing below it"
    return ConfigError(key, "there is no such setting", rest)


def flatten(table: object, above: str = "") -> Iterator[tuple[str, object]]:
    """The values of a table by dotted names; a list is one value."""
    if not isinstance(table, Mapping) or (above and not table):
        yield above, table
        return
    for name, value in table.items():
        yield from flatten(value, f"{above}.{name}" if above else str(name))


def is_secret(key: str) -> bool:
    """Whether its value is nothing to be shown."""
    return SECRET.search(key) is not None


def write_key(document: TOMLDocument, key: str, value: object) -> None:
    """Set it; sections that are missing are made."""
    import tomlkit  # noqa: PLC0415

    place: TOMLDocument | AbstractTable = document
    *above, last = split_key(key)
    for name in above:
        inner = place.get(name)
        if inner is None:
            inner = tomlkit.table(is_super_table=name != above[-1])
            place[name] = inner
            inner = place[name]
        if not isinstance(inner, Mapping):
            raise ConfigError(key, f"{name!r} is a value, not a section", "name the setting itself")
        place = inner  # type: ignore[assignment]
    place[last] = value


def remove_key(document: TOMLDocument, key: str) -> None:
    """Take it out, and sections that are empty by that. Raises `ConfigError` when it is not there."""
    *above, last = split_key(key)
    places: list[Section] = [document]
    for name in above:
        inner = places[-1].get(name)
        if not isinstance(inner, dict):
            raise ConfigError(key, "it is not set in the file", "`footplate config list` shows what is")
        places.append(inner)
    if last not in places[-1]:
        raise ConfigError(key, "it is not set in the file", "`footplate config list` shows what is")
    del places[-1][last]
    for name, place in zip(reversed(above), reversed(places[:-1]), strict=True):
        if not place[name]:
            del place[name]
