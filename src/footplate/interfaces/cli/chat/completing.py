"""Completing what is being typed: a slash command, or a file behind an @. Pure."""

from __future__ import annotations

import os.path
from collections.abc import Iterable

import msgspec

from footplate.interfaces.cli.chat.text import flat
from footplate.interfaces.cli.chat.typed import COMMANDS


class Completion(msgspec.Struct, frozen=True):
    """What can be put in the place of the word before the cursor: `text` for certain, or one of `choices`."""

    text: str
    choices: tuple[str, ...] = ()


def begun_command(text: str, cursor: int) -> str | None:
    """The slash command that is being typed, if one is."""
    begun = text[:cursor]
    return begun if begun.startswith("/") and not any(char.isspace() for char in begun) else None


def begun_file(text: str, cursor: int) -> str | None:
    """What stands behind the @ before the cursor, if there is one."""
    words = text[:cursor].split()
    if not words or text[:cursor][-1:].isspace() or not words[-1].startswith("@"):
        return None
    return words[-1][1:]


def complete(begun: str, candidates: Iterable[str]) -> Completion:
    """The candidates that go on from here; `text` is what they have in common."""
    fitting = sorted({flat(each) for each in candidates if each.startswith(begun)})
    if not fitting:
        return Completion(begun)
    if len(fitting) == 1:
        return Completion(f"{fitting[0]} ")
    return Completion(os.path.commonprefix(fitting), tuple(fitting))  # noqa: RUF071 - of words, not of paths


def command_names(of_the_engine: Iterable[str]) -> list[str]:
    """Every slash command: ours, and the engine's."""
    return [f"/{name}" for name in (*COMMANDS, *(each.removeprefix("/") for each in of_the_engine))]
