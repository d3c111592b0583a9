"""The command menu, and the banner that says that the bot is ready."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable, Sequence
from typing import Final

from footplate.errors import BotError
from footplate.events.model import SlashCommand
from footplate.interfaces.telegram.bot.content import Command, Place
from footplate.interfaces.telegram.reading.commands import COMMANDS
from footplate.interfaces.telegram.talk.kit import Kit
from footplate.runtime.ulid import new_ulid

log = logging.getLogger(__name__)
MOST: Final = 100
NAME: Final = re.compile(r"[a-z0-9_]{1,32}")


def build_menu(
    engines: Iterable[str], projects: Iterable[str], own: Sequence[SlashCommand] = ()
) -> tuple[Command, ...]:
    """Our commands, engines, projects, the engine's own; names that Telegram knows no form for are left out.

    At most 100; of ours none is left out.
    """
    found: dict[str, str] = dict(COMMANDS)
    for name in engines:
        found.setdefault(name, f"use {name} for this message")
    for name in projects:
        found.setdefault(name, f"work in project {name}")
    for command in own:
        found.setdefault(command.name.lower().replace("-", "_"), command.description or f"/{command.name} of the agent")
    usable = [(name, words) for name, words in found.items() if NAME.fullmatch(name)]
    return tuple(Command(command=name, description=words[:250]) for name, words in usable[:MOST])


class Menu:
    """What the chat shows before anything is written."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def show(self, own: Sequence[SlashCommand] = ()) -> None:
        """Put the menu up."""
        try:
            menu = build_menu(self._kit.roster.names, self._kit.projects, own)
            await self._kit.client.set_commands(menu)
        except BotError as problem:
            log.warning("the command menu could not be put up: %s", problem)

    async def greet(self) -> None:
        """Put the menu up, and say in the main chat what is there."""
        await self.show()
        settings = self._kit.settings
        if not settings.banner or settings.chat_id is None:
            return
        names = self._kit.roster.names
        problems = await asyncio.gather(*(self._kit.roster.missing(name) for name in names))
        there = [name for name, problem in zip(names, problems, strict=True) if not problem]
        lacking = [name for name, problem in zip(names, problems, strict=True) if problem]
        lines = ["**footplate is ready**", f"- agents: {', '.join(there)}"]
        lines += [f"- not installed: {', '.join(lacking)}"] if lacking else []
        lines += [f"- projects: {', '.join(self._kit.projects)}"] if self._kit.projects else []
        lines.append(f"- a message {'goes on with the session' if settings.session_mode == 'chat' else 'begins anew'}")
        await self._kit.say(f"banner-{new_ulid()}", Place(chat=settings.chat_id, silent=True), "\n".join(lines))
