"""A message was written: let in or not, then a command, an answer in words, a file, or a prompt."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from footplate.chat.model import CallbackQuery, Content, Id, Message, Place, Update
from footplate.chat.outbox.marks import needs_marks, read_mark
from footplate.chat.reading.commands import read_command, read_shell
from footplate.chat.reading.files import attached_to
from footplate.chat.reading.forwards import with_forwards
from footplate.chat.reading.gate import is_meant, may_use
from footplate.chat.reading.routing import Said
from footplate.chat.talk.commands import Commands, Ordered
from footplate.chat.talk.gathering import Albums
from footplate.chat.talk.kit import Actor, Kit
from footplate.chat.talk.menu import Menu
from footplate.chat.talk.places import Places, Spot
from footplate.chat.talk.pressed import Pressed
from footplate.chat.talk.prompts import Prompter, Wish
from footplate.chat.talk.records import About
from footplate.chat.talk.transfer import Transfer
from footplate.chat.talk.voice import transcribe, voice_of
from footplate.errors import FootplateError


class Ears:
    """Everything that comes in goes through here."""

    def __init__(
        self,
        kit: Kit,
        places: Places,
        prompter: Prompter,
        pressed: Pressed,
        commands: Commands,
        transfer: Transfer,
        menu: Menu,
    ) -> None:
        self._kit = kit
        self._places = places
        self._prompter = prompter
        self._pressed = pressed
        self._commands = commands
        self._transfer = transfer
        self._menu = menu
        self._albums = Albums(kit, self.take_album)
        self._comments: dict[str, tuple[Id, Message]] = {}

    async def start(self) -> None:
        """Go on with what was on its way."""
        await self._albums.start()

    async def stop(self) -> None:
        """Leave the rest to the next start."""
        await self._albums.stop()

    async def take(self, updates: list[Update]) -> None:
        """An update with those that belong to it. What cannot be done is told in the chat."""
        first, *rest = updates
        if first.callback_query is not None:
            await self._pressed.take(first.callback_query)
        elif first.message is not None:
            if await self._marked(first.message):
                return
            forwards = [each.message for each in rest if each.message is not None]
            await self._hear(first.message, forwards)

    async def _marked(self, message: Message) -> bool:
        """Whether the message began with a mark that means another message: then it is a press of it, or a reply."""
        mark = read_mark(message.text) if needs_marks(self._kit.transport.capabilities) else None
        slot = await self._kit.outbox.tagged(message.chat.id, mark.tag) if mark is not None else None
        if mark is None or slot is None or slot.message is None or message.sender is None:
            return False
        content = slot.shown or Content(text="")
        target = Message(message_id=slot.message, chat=message.chat, text=content.text, sender=self._kit.me)
        if mark.button is None:
            await self._hear(replace(message, text=mark.words, reply_to_message=target), [])
            return True
        buttons = [button for row in content.keyboard for button in row]
        data = buttons[mark.button].callback_data if mark.button < len(buttons) else ""
        press = CallbackQuery(id=str(message.message_id), sender=message.sender, data=data, message=target, typed=True)
        await self._pressed.take(press)
        return True

    async def _hear(self, message: Message, forwards: list[Message]) -> None:
        for each in (message, *forwards):
            self._kit.outbox.learn(each.chat.id, each.message_id)
        if message.migrate_to_chat_id is not None:
            await self._places.move(message.chat.id, message.migrate_to_chat_id)
        elif await self._lets_in(message):
            await self._kit.outbox.revive(message.chat.id)
            if message.media_group_id:
                await self._albums.add(message)
            else:
                await self._act([message], forwards)

    async def _lets_in(self, message: Message) -> bool:
        if not may_use(self._kit.settings, message.sender, message.chat):
            return False
        trigger = await self._places.trigger(spot_of(message))
        return is_meant(message, trigger, self._kit.me.username, self._kit.me.id)

    async def take_album(self, messages: list[Message]) -> None:
        """The files of an album have come: what is written under one of them is for all."""
        titled = next((each for each in messages if each.caption), messages[0])
        await self._act([titled, *(each for each in messages if each is not titled)], [])

    async def _act(self, messages: list[Message], forwards: list[Message]) -> None:
        try:
            await self._understand(messages, forwards)
        except FootplateError as problem:
            await self.tell(messages[0], f"✗ {problem}")

    async def _understand(self, messages: list[Message], forwards: list[Message]) -> None:
        message = messages[0]
        if message.sender is None:
            return
        about = await self._about(message)
        said = await self._said(message, about, forwards)
        ordered = Ordered(
            spot=spot_of(message), message=message, sender=Actor.of(message.sender), said=said, about=about
        )
        await self._say(message, await self._do(messages, ordered))

    async def _do(self, messages: list[Message], ordered: Ordered) -> str:
        """Whatever the message asks for; what to tell."""
        text, about = ordered.said.text, ordered.about
        command, shell = read_command(text, self._kit.me.username, self._kit.brought), read_shell(text)
        if command is not None:
            return await self._commands.carry_out(command, ordered)
        if any(attached_to(each) is not None for each in messages):
            return await self._transfer.take(messages, ordered)
        if ordered.message.forwarded:
            return await self._late_forward(ordered)
        if shell:
            return await self._commands.shell(shell, ordered)
        if about is not None and about.request is not None and text:
            return await self._pressed.reply(about.request, text, ordered.sender)
        if text:
            self._comments[ordered.spot.key] = (ordered.sender.id, ordered.message)
            await self._prompter.take(self._wish(ordered))
        return ""

    async def _late_forward(self, ordered: Ordered) -> str:
        """A forward whose comment came just before goes after it, to the same session; a lone one means nothing."""
        sender, comment = self._comments.get(ordered.spot.key, (0, None))
        near = comment is not None and ordered.message.date - comment.date <= self._kit.settings.forward_coalesce_s + 1
        if near and sender == ordered.sender.id and ordered.said.text:
            said = Said(text=with_forwards("", [ordered.message]).strip(), reply_session=ordered.said.reply_session)
            await self._prompter.take(self._wish(ordered, said))
        return ""

    def _wish(self, ordered: Ordered, said: Said | None = None) -> Wish:
        message = ordered.message.message_id
        return Wish(spot=ordered.spot, message=message, sender=ordered.sender, said=said or ordered.said)

    async def _said(self, message: Message, about: About | None, forwards: list[Message]) -> Said:
        reply, voice = message.reply_to_message, voice_of(message)
        text = message.words.strip() if voice is None else await transcribe(self._kit, voice)
        mention = f"@{self._kit.me.username}"
        if text.lower().startswith(mention.lower()):
            text = text[len(mention) :].lstrip(" ,:")
        return Said(
            text=with_forwards(self._menu.restore(text), forwards),
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
