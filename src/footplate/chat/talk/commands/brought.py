"""Commands that packages bring: found at the start, called by name, and by the buttons under their answers."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from itertools import count
from typing import Final, cast

import msgspec

from footplate.chat.command import GROUP, Call, ChatCommand, Reply
from footplate.chat.drawing.markdown import render_markdown
from footplate.chat.drawing.rich import trim
from footplate.chat.model import CallbackQuery, Content, Place
from footplate.chat.packages import entries
from footplate.chat.reading.commands import NAMES, Command
from footplate.chat.reading.presses import Press
from footplate.chat.reading.routing import Said
from footplate.chat.talk.commands.ordered import Handler, Ordered
from footplate.chat.talk.kit import Actor, Kit
from footplate.chat.talk.places import Spot
from footplate.chat.talk.prompts import Prompter, Wish
from footplate.chat.talk.records import About
from footplate.errors import FootplateError

log = logging.getLogger(__name__)
NAME: Final = re.compile(r"[a-z0-9_]{1,20}")


class Brought:
    """The commands of packages."""

    def __init__(self, kit: Kit, prompter: Prompter) -> None:
        self._kit = kit
        self._prompter = prompter
        self._commands = {name: made for name in sorted(entries(GROUP)) if (made := self._make(name)) is not None}
        kit.brought = {name: each.description for name, each in self._commands.items()}

    def handlers(self) -> dict[str, Handler]:
        """The commands of this room."""
        return dict.fromkeys(self._commands, self._written)

    def _make(self, name: str) -> ChatCommand | None:
        """One that cannot be used is told in the log, and is not there."""
        if not NAME.fullmatch(name) or name in NAMES or name in self._kit.roster.names:
            log.warning("the chat command %r is left out: its name is taken, or not of the form [a-z0-9_]{1,20}", name)
            return None
        try:
            return cast("Callable[[], ChatCommand]", entries(GROUP)[name].load())()
        except Exception:
            log.exception("the chat command %r is left out", name)
            return None

    async def _written(self, command: Command, ordered: Ordered) -> str:
        spot, message = ordered.spot, ordered.message.message_id
        key = f"c/{spot.chat}-{message}"
        place = Place(chat=spot.chat, topic=spot.topic, reply_to=message)
        call = self._call(command.rest, key, spot, ordered.sender)
        await self._show(command.name, key, place, await self._run(command.name, call))
        return ""

    async def pressed(self, press: Press, query: CallbackQuery) -> str:
        """A button of one was pressed: its message shows what the command says now. What to tell in a toast."""
        message = query.message
        found = await self._kit.outbox.about(message.chat.id, message.message_id) if message is not None else ""
        key = msgspec.json.decode(found, type=About).command if found else ""
        if message is None or not key or not await self._kit.outbox.stands_at(key, message.message_id):
            return "this button belongs to another message."
        if press.about not in self._commands:
            return f"/{press.about} is not there any more."
        spot = Spot(chat=message.chat.id, topic=message.topic, private=message.chat.private)
        call = self._call(press.choice, key, spot, Actor.of(query.sender), press=query.id)
        place = Place(chat=spot.chat, topic=spot.topic)
        await self._show(press.about, key, place, await self._run(press.about, call))
        return ""

    def _call(self, words: str, slot: str, spot: Spot, sender: Actor, *, press: str = "") -> Call:
        key, numbers = f"{slot}-{press}" if press else slot, count()

        async def prompt(text: str) -> None:
            own = f"{key}-{next(numbers)}"
            await self._prompter.take(Wish(spot=spot, message=own, sender=sender, said=Said(text=text), own=True))

        return Call(
            words=words,
            pressed=bool(press),
            person=sender.id,
            name=sender.name,
            chat=spot.chat,
            topic=spot.topic,
            key=key,
            prompt=prompt,
        )

    async def _run(self, name: str, call: Call) -> Reply:
        try:
            return await self._commands[name].run(call)
        except FootplateError:
            raise
        except Exception as problem:
            log.exception("the chat command %r failed", name)
            return Reply(text=f"✗ /{name} failed: {type(problem).__name__}")

    async def _show(self, name: str, key: str, place: Place, reply: Reply) -> None:
        rich = trim(render_markdown(reply.text), self._kit.text_limit)
        rows = tuple((self._kit.sealer.button(label, "x", name, words),) for label, words in reply.buttons)
        content = Content(text=rich.text or name, entities=rich.entities, keyboard=rows)
        await self._kit.outbox.put(key, place, content, urgent=True, about=About(command=key).encode())
