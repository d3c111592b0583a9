"""The tree of commands as tests walk it: every command by its words, and the examples of its help."""

from __future__ import annotations

from collections.abc import Iterator

import click

from footplate.main import command_line


def all_commands() -> dict[str, click.Command]:
    """`sessions list` -> the command, groups among them; the root is the empty name."""
    return dict(_walk(command_line(), ()))


def _walk(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    yield " ".join(words), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from _walk(below, (*words, name))


def examples_of(command: click.Command) -> list[str]:
    """The lines below `Example:` or `Examples:` in its help."""
    lines = [line.strip() for line in (command.help or "").splitlines()]
    starts = [at for at, line in enumerate(lines) if line in ("Example:", "Examples:")]
    return [line for line in lines[starts[0] + 1 :] if line] if starts else []
