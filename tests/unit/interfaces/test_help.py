"""Help that helps: every command has an example of itself, every command that tells something tells it as JSON, too.

The examples are run by `tests/e2e/test_help_examples.py`.
"""

from __future__ import annotations

import click
import pytest

from footplate.interfaces.cli.help_page import HelpContext, break_command
from tests.commands import all_commands, examples_of

COMMANDS = all_commands()
NO_JSON = {
    "": "the root only names the commands",
    "acp": "speaks a protocol on standard output",
    "mock-agent": "speaks a protocol on standard output",
    "ps shell": "shows a terminal as it is; its exit code is that of the program",
    "serve": "runs until it is stopped; `serve status --json` tells where it listens",
    "server": "as its launchers call it; they read the address, which they chose",
    "telegram": "runs until it is stopped",
}
"""Commands whose output is no data, each with the reason."""


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_has_an_example_of_itself(words: str) -> None:
    examples = examples_of(COMMANDS[words])
    called = f"footplate {words}".strip()
    assert any(called in each for each in examples), f"write `Example:` and a line with `{called}` into its docstring"


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_that_tells_something_has_json(words: str) -> None:
    command = COMMANDS[words]
    has = "--json" in {option for param in command.params for option in param.opts}
    if isinstance(command, click.Group) and not command.invoke_without_command:
        return
    assert has != (words in NO_JSON), "add --json, or name it in NO_JSON with the reason"


@pytest.mark.parametrize("width", [80, 40])
def test_no_line_of_any_help_is_wider_than_the_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    wide = []
    for words, command in COMMANDS.items():
        context = HelpContext(command, info_name=f"footplate {words}".strip(), max_content_width=100)
        wide += [line for line in command.get_help(context).splitlines() if len(line) > width]
    assert wide == []


def test_a_long_example_is_broken_as_a_shell_takes_it() -> None:
    line = '  footplate run --project shop --branch fix/login "fix the login"'
    assert break_command(line, 36) == [
        "  footplate run --project shop \\",
        "    --branch fix/login \\",
        '    "fix the login"',
    ]
    assert break_command('  footplate api --data \'{"a": 1, "b": 2}\'', 24) == [
        "  footplate api --data \\",
        '    \'{"a": 1, "b": 2}\'',
    ]
    assert break_command("  short", 40) == ["  short"]
