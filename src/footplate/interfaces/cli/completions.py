"""`footplate completions`: what makes a shell complete commands, options, sessions and projects."""

from __future__ import annotations

from typing import Final

import click
import msgspec
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

SHELLS: Final[dict[str, type[ShellComplete]]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
VARIABLE: Final = "_FOOTPLATE_COMPLETE"


@click.command("completions", short_help="What makes bash, zsh or fish complete commands.")
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def completions_command(context: click.Context, shell: str, as_json: bool) -> None:
    """Print what makes SHELL complete commands, options, and the names of sessions, engines, projects and settings.

    bash: `eval "$(footplate completions bash)"` in ~/.bashrc. zsh: the same with zsh, after compinit, in
    ~/.zshrc. fish: write it to ~/.config/fish/completions/footplate.fish.

    \b
    Examples:
      eval "$(footplate completions bash)"
      footplate completions fish > footplate.fish
    """
    root = context.find_root().command
    # the script alone: click would start a bash, and warn where there is none
    script = ShellComplete.source(SHELLS[shell](root, {}, "footplate", VARIABLE))
    click.echo(msgspec.json.encode({"shell": shell, "script": script}) if as_json else script)
