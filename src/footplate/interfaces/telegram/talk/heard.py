"""A message was written: let in or not, then a command, an answer in words, a file, or a prompt."""

from __future__ import annotations

import msgspec

from footplate.errors import FootplateError
from footplate.interfaces.telegram.bot.content import Place
from footplate.interfaces.telegram.bot.wire import Message, Update
from footplate.interfaces.telegram.reading.commands import read_command, read_shell
from footplate.interfaces.telegram.reading.gate import is_meant, may_use
from footplate.interfaces.telegram.reading.routing import Said
from footplate.interfaces.telegram.talk.commands import Commands, Ordered
from footplate.interfaces.telegram.talk.kit import Actor, Kit
from footplate.interfaces.telegram.talk.places import Places, Spot
from footplate.interfaces.telegram.talk.pressed import Pressed
from footplate.interfaces.telegram.talk.prompts import Prompter, Wish
from footplate.interfaces.telegram.talk.records import About


class Ears:
    """Everything that comes in goes through here."""

    def __init__(self, kit: Kit, places: Places, prompter: Prompter, pressed: Pressed, commands: Commands) -> None:
        self._kit = kit
        self._places = places
        self._prompter = prompter
        self._pressed = pressed
        self._commands = commands

    async def take(self, update: Update) -> None:
        """One update. What cannot be done is told in the chat."""
        if update.callback_query is not None:
            await self._pressed.take(update.callback_query)
        elif update.message is not None:
            await self._hear(update.message)

    async def _hear(self, message: Message) -> None:
        self._kit.outbox.learn(message.chat.id, message.message_id)
        if message.migrate_to_chat_id is not None:
            await self._places.move(message.chat.id, message.migrate_to_chat_id)
            return
        spot = spot_of(message)
        trigger = await self._places.trigger(spot)
        if not may_use(self._kit.settings, message.sender, message.chat.id) or message.sender is None:
            return
        if not is_meant(message, trigger, self._kit.me.username, self._kit.me.id):
            return
        await self._kit.outbox.revive(message.chat.id)
        try:
            await self._understand(message, spot, Actor.of(message.sender))
        except FootplateError as problem:
            await self.tell(message, f"✗ {problem}")

    async def _understand(self, message: Message, spot: Spot, sender: Actor) -> None:
        about = await self._about(message)
        said = self._said(message, about)
        ordered = Ordered(spot=spot, message=message, sender=sender, said=said, about=about)
        command, shell = read_command(said.text, self._kit.me.username), read_shell(said.text)
        if command is not None:
            await self._say(message, await self._commands.carry_out(command, ordered))
        elif shell:
            await self._say(message, await self._commands.shell(shell, ordered))
        elif about is not None and about.request is not None and said.text:
            await self._say(message, await self._pressed.reply(about.request, said.text, sender))
        elif said.text:
            await self._prompter.take(Wish(spot=spot, message=message.message_id, sender=sender, said=said))

    def _said(self, message: Message, about: About | None) -> Said:
        reply = message.reply_to_message
        text = message.words.strip()
        mention = f"@{self._kit.me.username}"
        if text.lower().startswith(mention.lower()):
            text = text[len(mention) :].lstrip(" ,:")
        return Said(
            text=text,
            reply_text=reply.words if reply is not None else "",
            reply_session=about.session if about is not None else None,
        )

    async def _about(self, message: Message) -> About | None:
        """What the message replies to, if it is one of ours."""
        reply = message.reply_to_message
        if reply is None or reply.forum_topic_created is not None:
            return None
        found = await self._kit.outbox.about(message.chat.id, reply.message_id)
        return msgspec.json.decode(found, type=About) if found else None

    async def _say(self, message: Message, text: str) -> None:
        if text:
            await self.tell(message, text)

    async def tell(self, message: Message, text: str) -> None:
        """Answer a message with words of our own."""
        place = Place(chat=message.chat.id, topic=message.topic, reply_to=message.message_id)
        await self._kit.say(f"{message.chat.id}-{message.message_id}", place, text)


def spot_of(message: Message) -> Spot:
    """Where a message was written."""
    return Spot(chat=message.chat.id, topic=message.topic, private=message.chat.private)
