"""The root command: names every subcommand and imports only the one that is called."""

from __future__ import annotations

from importlib import import_module

import click
from click.shell_completion import CompletionItem

from footplate.interfaces.cli.help_page import HelpContext, dress
from footplate.version import __version__

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("footplate.interfaces.cli.run:run_command", "Give an agent one prompt and watch it work."),
    "store": ("footplate.interfaces.cli.store:store_group", "Look after the store: back up, check, tidy, move."),
    "chat": ("footplate.interfaces.cli.chat.command:chat_command", "Talk with an agent in this terminal."),
    "history": (
        "footplate.interfaces.cli.history:history_group",
        "Sessions from elsewhere: list, read, go on with them.",
    ),
    "attach": ("footplate.interfaces.cli.chat.command:attach_command", "Go on with a session in this terminal."),
    "sessions": ("footplate.interfaces.cli.sessions:sessions_group", "Sessions of a service: list, open, drive, end."),
    "requests": (
        "footplate.interfaces.cli.requests:requests_group",
        "What waits for you in all sessions: list, watch, answer.",
    ),
    "usage": ("footplate.interfaces.cli.usage:usage_command", "What sessions have used: turns, tokens, money."),
    "models": ("footplate.interfaces.cli.offers:models_command", "The models that engines offer."),
    "credentials": (
        "footplate.interfaces.cli.credentials:credentials_group",
        "Where credentials of agents lie; never their values.",
    ),
    "files": ("footplate.interfaces.cli.files:files_group", "Files on the machine of a service."),
    "ps": ("footplate.interfaces.cli.ps:ps_group", "Processes of a service: list, run, start, follow, stop."),
    "tokens": ("footplate.interfaces.cli.tokens:tokens_group", "Tokens of a service: make, list, take back."),
    "audit": ("footplate.interfaces.cli.audit:audit_group", "The audit log: list, verify, export."),
    "api": ("footplate.interfaces.cli.api:api_group", "Any call of the HTTP API."),
    "init": ("footplate.interfaces.cli.projects:init_command", "Give the repository of this folder a short name."),
    "projects": (
        "footplate.interfaces.cli.projects:projects_group",
        "Repositories by a short name: list, add, remove.",
    ),
    "worktrees": (
        "footplate.interfaces.cli.worktrees:worktrees_group",
        "The branches of projects on the disk: list, remove, collect.",
    ),
    "config": ("footplate.interfaces.cli.config:config_group", "The settings: look, change, check."),
    "doctor": (
        "footplate.interfaces.cli.doctor:doctor_command",
        "Say what runs, what is kept and what is wrong.",
    ),
    "agents": (
        "footplate.interfaces.cli.agents:agents_group",
        "Which agents there are; install, update, remove, examine them.",
    ),
    "install-agent": (
        "footplate.interfaces.cli.agents:install_agent_command",
        "Install an agent, by the name of sandbox-agent.",
    ),
    "mock-agent": (
        "footplate.interfaces.cli.agents:mock_agent",
        "Be the built-in agent, on standard input and output.",
    ),
    "completions": (
        "footplate.interfaces.cli.completions:completions_command",
        "What makes bash, zsh or fish complete commands.",
    ),
    "version": ("footplate.interfaces.cli.version:version_command", "Say which version this is."),
}
"""Name -> where the command lives, and the line that the root's help shows for it."""


AGENT_COMMANDS: dict[str, str] = {"models": "footplate.interfaces.cli.models:models_command"}
"""Subcommands of `footplate agents` that live elsewhere: name -> where."""

PARTS: dict[str, str] = {}
"""What commands use of other surfaces, and where it lives; named by `footplate.main`, as those are strangers here."""


def load_part(name: str) -> object:
    """The part of that name."""
    module, _, attribute = PARTS[name].partition(":")
    return getattr(import_module(module), attribute)


class LazyGroup(click.Group):
    """A group that knows its commands by name; `footplate ENGINE PROMPT` stands for `footplate run --engine ENGINE`."""

    context_class = HelpContext

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            module, _, attribute = COMMANDS[cmd_name][0].partition(":")
            command: click.Command = getattr(import_module(module), attribute)
            return dress(command)
        return _engine_shortcut(cmd_name)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [CompletionItem(name, help=line) for name, (_, line) in COMMANDS.items() if name.startswith(incomplete)]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def _engine_shortcut(name: str) -> click.Command | None:
    from footplate.engines.catalog import engine_names  # noqa: PLC0415  (only when no command has that name)

    if name not in engine_names():
        return None
    from footplate.interfaces.cli.run import engine_command  # noqa: PLC0415

    return dress(engine_command(name))


@click.group(cls=LazyGroup, context_settings={"max_content_width": 100})
@click.version_option(__version__, prog_name="footplate")
def root() -> None:
    """Run coding agents and drive them from anywhere.

    \b
    Examples:
      footplate run "fix the failing tests"
      footplate claude "explain this repository"
      footplate run --engine mock demo
    """
