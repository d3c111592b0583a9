"""Commands of ours in a message: a slash, a known name, and words behind it. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec

from footplate.chat.reading.directives import own_word

COMMANDS: Final[dict[str, str]] = {
    "new": "begin a new session here",
    "cancel": "stop what runs (as a reply: that one)",
    "continue": "start prompts that a restart has paused",
    "requests": "what waits for your answer",
    "sessions": "the latest sessions",
    "usage": "tokens, money and context of this session",
    "agent": "show, set or clear the agent of this chat",
    "model": "show, set or clear the model of this chat",
    "effort": "show, set or clear how hard the model thinks",
    "mode": "show, set or clear the permission mode",
    "ctx": "show, set or clear the project of this chat",
    "topic": "make a topic for a project and branch",
    "file": "send a file to the project, or fetch one",
    "trigger": "in groups: all messages, or mentions only",
    "rules": "what is allowed for this session",
    "revoke": "take back what was allowed",
    "budget": "show or set what this session may cost",
    "at": "give a prompt later: /at 10m ..., /at 18:30 ...",
    "export": "the whole session as a file",
    "help": "how to use this bot",
}
"""Every command of ours with its line in the menu."""
ALIASES: Final = {"reasoning": "effort", "start": "help"}
NAMES: Final = frozenset({*COMMANDS, *ALIASES})


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One command."""

    name: str
    rest: str = ""

    @property
    def words(self) -> list[str]:
        """What stands behind it."""
        return self.rest.split()


def read_command(text: str, bot: str, brought: Collection[str] = ()) -> Command | None:
    """The command that the message is, of ours or of those that packages bring; None for a prompt."""
    if not text.startswith("/"):
        return None
    first, *rest = text[1:].split(maxsplit=1)
    name = own_word(first, bot)
    name = ALIASES.get(name, name)
    return Command(name=name, rest=rest[0] if rest else "") if name in COMMANDS or name in brought else None


def read_shell(text: str) -> str:
    """The command line of a `!command`; empty when it is none."""
    return text[1:].strip() if text.startswith("!") else ""
