"""The directives at the beginning of a message: `/claude`, `/project`, `@branch`. Pure."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from footplate.errors import InvalidValue


class Directives(msgspec.Struct, frozen=True, kw_only=True):
    """What a message says about where it goes, and the rest of it."""

    engine: str = ""
    project: str = ""
    branch: str = ""
    prompt: str = ""


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """The names that mean something here."""

    engines: Collection[str] = ()
    projects: Collection[str] = ()
    bot: str = ""


def read_directives(text: str, names: Names) -> Directives:
    """The contiguous words at the beginning of the first line that are directives; two of a kind are refused."""
    found: dict[str, str] = {}
    rest = text.strip()
    while rest:
        word, _, after = _first_word(rest)
        kind, value = _kind(word, names)
        if not kind:
            break
        if kind in found:
            raise InvalidValue(kind, value, f"one {kind} in a message, and {found[kind]!r} stands there already")
        found[kind] = value
        ends_line = "\n" in rest[: len(rest) - len(after.lstrip(" \t"))]
        rest = after.lstrip()
        if ends_line:
            break
    return Directives(**found, prompt=rest)


def _first_word(text: str) -> tuple[str, str, str]:
    for index, char in enumerate(text):
        if char.isspace():
            return text[:index], char, text[index:]
    return text, "", ""


def _kind(word: str, names: Names) -> tuple[str, str]:
    if word.startswith("/"):
        name = own_word(word[1:], names.bot)
        if name in names.engines:
            return "engine", name
        if name in names.projects:
            return "project", name
    elif word.startswith("@") and len(word) > 1 and word[1:].lower() != names.bot.lower():
        return "branch", word[1:]
    return "", ""


def own_word(word: str, bot: str) -> str:
    """A command without the name of our bot, in small letters; empty when it is for another."""
    name, _, owner = word.partition("@")
    return "" if owner and owner.lower() != bot.lower() else name.lower()
