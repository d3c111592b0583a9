"""The command menu, and the banner that says that the bot is ready."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from footplate.chat.model import Command, Place
from footplate.chat.reading.commands import COMMANDS
from footplate.chat.talk.kit import Kit
from footplate.errors import BotError
from footplate.events.model import CommandsChanged, Envelope, SlashCommand
from footplate.tasks import spawn

log = logging.getLogger(__name__)
MOST: Final = 100
NONE_BROUGHT: Final[Mapping[str, str]] = MappingProxyType({})
NAME: Final = re.compile(r"[a-z0-9_]{1,32}")


def build_menu(
    engines: Iterable[str],
    projects: Iterable[str],
    own: Sequence[SlashCommand] = (),
    brought: Mapping[str, str] = NONE_BROUGHT,
) -> tuple[Command, ...]:
    """Our commands, engines, projects, the engine's own; names that a menu of Telegram has no form for are left out.

    At most 100; of ours none is left out.
    """
    found: dict[str, str] = {**brought, **COMMANDS}
    for name in engines:
        found.setdefault(name, f"use {name} for this message")
    for name in projects:
        found.setdefault(name, f"work in project {name}")
    for command in own:
        found.setdefault(command.name.lower().replace("-", "_"), command.description or f"/{command.name} of the agent")
    usable = [(name, words) for name, words in found.items() if NAME.fullmatch(name)]
    return tuple(Command(command=name, description=words[:250]) for name, words in usable[:MOST])


def restore_command(text: str, own: Sequence[SlashCommand]) -> str:
    """A command of the engine's as the engine spells it: a menu knows no `-`."""
    word, space, rest = text.partition(" ")
    for command in own:
        if word.lower() == f"/{command.name.lower().replace('-', '_')}":
            return f"/{command.name}{space}{rest}"
    return text


class Menu:
    """What the chat shows before anything is written."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._own: tuple[SlashCommand, ...] = ()
        self._shown: tuple[Command, ...] = ()
        self._tasks: set[asyncio.Task[None]] = set()

    def hear(self, envelopes: Sequence[Envelope]) -> None:
        """An engine tells its own commands: they are put in the menu."""
        for envelope in envelopes:
            if isinstance(envelope.event, CommandsChanged) and envelope.event.commands != self._own:
                self._own = envelope.event.commands
                task = spawn(self.show(), name="chat menu")
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def restore(self, text: str) -> str:
        """A message as the engine understands it."""
        return restore_command(text, self._own) if text.startswith("/") else text

    async def close(self) -> None:
        """No more menus."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def show(self) -> None:
        """Put the menu up, unless it is the one that is up."""
        menu = build_menu(self._kit.roster.names, self._kit.projects, self._own, self._kit.brought)
        if menu == self._shown:
            return
        self._shown = menu
        try:
            await self._kit.transport.show_menu(menu)
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
        await self._kit.say(
            f"banner-{self._kit.services.surroundings.new_id()}",
            Place(chat=settings.chat_id, silent=True),
            "\n".join(lines),
        )
