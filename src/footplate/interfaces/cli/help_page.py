"""Help as it is printed: no wider than the terminal, also a narrow one; examples broken as a shell takes them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from typing import Any, Final

import click
from click.formatting import wrap_text

from footplate.interfaces.cli.values import know_values

LEAST: Final = 20
HELP: Final = ["-h", "--help"]
NARROW: Final = 60
"""Below so many columns the words about an option stand below it, not beside it."""
RAW: Final = "\b"
"""What stands above a paragraph whose lines are kept as they are: the examples."""


class HelpPage(click.HelpFormatter):
    """Click's formatter, which thinks no terminal is narrower than 50 columns and breaks no line of an example."""

    def __init__(self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None) -> None:
        columns = min(shutil.get_terminal_size().columns, max_width or 80)
        super().__init__(indent_increment, width or max(columns - 2, LEAST), max_width)

    def write_text(self, text: str) -> None:
        """Paragraphs to the width; the lines of a raw one are broken with a backslash where they are too long."""
        broken: list[str] = []
        for paragraph in text.split("\n\n"):
            head, _, rest = paragraph.partition("\n")
            if head.strip() == RAW:
                room = self.width - self.current_indent
                lines = [each for line in rest.split("\n") for each in break_command(line, room)]
                broken.append("\n".join((RAW, *lines)))
            else:
                broken.append(paragraph)
        super().write_text("\n\n".join(broken))

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Without the blanks that click leaves at the end of a line."""
        before = len(self.buffer)
        super().write_usage(prog, args, prefix)
        lines = "".join(self.buffer[before:]).split("\n")
        self.buffer[before:] = ["\n".join(line.rstrip() for line in lines)]

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Names and what is said of them, side by side where there is room."""
        if self.width >= NARROW:
            super().write_dl(rows, col_max, col_spacing)
            return
        indent = " " * self.current_indent
        for name, words in rows:
            self.write(wrap_text(name, self.width, indent, indent + "    ") + "\n")
            if words:
                self.write(wrap_text(words, self.width, indent + "    ", indent + "    ") + "\n")


def break_command(line: str, width: int) -> list[str]:
    """A line of a shell within so many columns: broken at blanks, each break with a backslash, the rest further in.

    Between words rather than within double quotes, and never within single ones, where a backslash is one.
    """
    lead = line[: len(line) - len(line.lstrip())]
    lines: list[str] = []
    while len(line) > width:
        between, within = _blanks(line[len(lead) : width - 1])
        at = len(lead) + (between or within)
        if at == len(lead):
            break
        lines.append(f"{line[:at]} \\")
        lead = lead if len(lines) > 1 else f"{lead}  "
        line = f"{lead}{line[at + 1 :]}"
    return [*lines, line]


def _blanks(text: str) -> tuple[int, int]:
    """Where the last blank between words is, and the last within double quotes; 0 where there is none."""
    quote, between, within = "", 0, 0
    for at, char in enumerate(text):
        if char in ("'", '"') and quote in ("", char):
            quote = "" if quote else char
        elif char == " " and not quote:
            between = at
        elif char == " " and quote == '"':
            within = at
    return between, within


class HelpContext(click.Context):
    """The context of a command whose help is such a page."""

    formatter_class = HelpPage

    def __init__(self, command: click.Command, parent: click.Context | None = None, **more: Any) -> None:
        """As click makes one; `-h` is help everywhere."""
        super().__init__(command, parent, **{"help_option_names": HELP, **more})


def dress(command: click.Command) -> click.Command:
    """The command, and those below it, with help as it is here and values that a shell can complete."""
    know_values(command)
    command.context_class = HelpContext  # this command's own: so click looks it up
    if isinstance(command, click.Group):
        for each in command.commands.values():
            dress(each)
    return command
