"""The book of commands: each name with its handler, and the shell of administrators."""

from __future__ import annotations

from typing import Final

from footplate.chat.drawing.words import shorten
from footplate.chat.reading.commands import COMMANDS, Command
from footplate.chat.talk.commands.choices import is_admin
from footplate.chat.talk.commands.ordered import Handler, Ordered
from footplate.chat.talk.kit import Kit
from footplate.chat.talk.prompts import Prompter
from footplate.errors import PermissionDenied

MOST_OUTPUT: Final = 3000


class Commands:
    """Carries out commands."""

    def __init__(self, kit: Kit, prompter: Prompter, *rooms: dict[str, Handler]) -> None:
        """`rooms` are the commands of each."""
        self._kit = kit
        self._prompter = prompter
        self._handlers: dict[str, Handler] = {"help": self._help}
        for handlers in rooms:
            self._handlers |= handlers

    async def carry_out(self, command: Command, ordered: Ordered) -> str:
        """Do it; what to tell the person."""
        return await self._handlers[command.name](command, ordered)

    async def shell(self, line: str, ordered: Ordered) -> str:
        """A command of the person's own, in the folder of the session here; the agent hears of it."""
        if not await is_admin(self._kit, ordered):
            raise PermissionDenied("only administrators may run commands")
        session = await self._prompter.current(ordered.spot, ordered.sender.id, ordered.said)
        ran = await session.run_command(line)
        code = f" (exit {ran.exit_code})" if ran.exit_code else ""
        output = shorten(ran.output.strip().replace("```", "'''"), MOST_OUTPUT)
        return f"`$ {line}`{code}\n\n```\n{output}\n```" if output else f"`$ {line}`{code}"

    async def _help(self, _command: Command, ordered: Ordered) -> str:
        lines = [f"/{name} - {words}" for name, words in COMMANDS.items()]
        engines = ", ".join(f"/{name}" for name in self._kit.roster.names)
        about = (
            "Write a prompt; reply to an answer to go on with it. "
            f"{engines} choose the agent, /project and @branch the place. `!command` runs in the session's folder."
        )
        return "\n".join([about, "", *lines])
