"""Telegram as a transport: every call of the protocol as calls of the Bot API."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Self

from footplate.chat.model import Command, Content, Id, Place, Update, User
from footplate.chat.outbox.buckets import Pace
from footplate.chat.transport import Capabilities, Lost, Transport
from footplate.errors import BotUnreachable, MessageMissing, MessageNotModified, RetryAfter
from footplate.interfaces.telegram.bot.client import BotClient
from footplate.interfaces.telegram.heights import Heights

POLL_S: Final = 50.0
MOST_PROBES: Final = 20
CAUGHT_UP_S: Final = 30.0
"""How long a search waits to hear what people wrote before; polls may fail for longer, as beside another poller."""
CAPABILITIES: Final = Capabilities(
    text_limit=4096,
    edits=True,
    deletes=True,
    buttons=True,
    replies=True,
    topics=True,
    drafts=True,
    files=True,
    numbers_anew_s=6 * 86_400.0,
)
"""After a week of silence the Bot API begins its numbers anew."""


class TelegramTransport(Transport):
    """One bot."""

    def __init__(self, client: BotClient, me: User, pace: Pace, *, poll_s: float = POLL_S) -> None:
        self.name = "telegram"
        self.me = me
        self.capabilities = CAPABILITIES
        self.pace = pace
        self._client = client
        self._poll_s = poll_s
        self._heights = Heights()
        self._ruled_out: dict[str, int] = {}
        """Of messages that are being looked for, by key: no message up to this id is the one."""
        self._caught_up = asyncio.Event()
        """Everything was received that had waited: the ids of what people wrote are known."""

    @classmethod
    async def begin(cls, client: BotClient, pace: Pace, *, poll_s: float = POLL_S) -> Self:
        """The bot of the client's token, ready to be polled."""
        me = await client.get_me()
        await client.delete_webhook()
        return cls(client, me, pace, poll_s=poll_s)

    async def receive(self, after: int) -> list[Update]:
        """Poll once. Does not wait for news before all that had waited is received: searches wait for that."""
        patience_s = self._poll_s if self._caught_up.is_set() else 0.0
        updates = await self._client.get_updates(offset=after + 1 if after else None, timeout_s=patience_s)
        for message in (each.message for each in updates if each.message is not None):
            self.saw(message.chat.id, message.message_id)
        if not updates:
            self._caught_up.set()
        return updates

    def saw(self, chat: Id, message: Id) -> None:
        """Messages of ours that come later stand above it."""
        self._heights.learn(int(chat), int(message))

    def is_private(self, chat: Id) -> bool:
        """Ids of groups are negative."""
        return int(chat) > 0

    def mark(self, chat: Id) -> int:
        """The highest message id that is known in the chat's sequence: the next message gets a later one."""
        return self._heights.of(int(chat))

    async def send(self, place: Place, content: Content, *, key: str) -> Id:
        """Write a message."""
        return await self._client.send_message(place, content)

    async def find(self, lost: Lost) -> Id | None:
        """An edit to the content that it was sent with changes nothing, and tells whether the message is there."""
        if not lost.mark:
            return None
        with suppress(TimeoutError):  # people wrote while nobody polled: it may stand above more than is known yet
            async with asyncio.timeout(CAUGHT_UP_S):
                await self._caught_up.wait()
        chat = int(lost.place.chat)
        self._heights.learn(chat, lost.mark)
        # Each probe counts as a message: after a 429 the search continues where it was, or it would never end.
        ruled_out = self._ruled_out.pop(lost.key, lost.mark)
        for message in self._heights.candidates(chat, lost.mark)[:MOST_PROBES]:
            if message <= ruled_out:
                continue
            try:
                await self.edit(chat, message, lost.content, is_file=lost.is_file)
            except MessageMissing:
                ruled_out = message
                continue
            except MessageNotModified:
                pass
            except (RetryAfter, BotUnreachable):
                self._ruled_out[lost.key] = ruled_out
                raise
            return message
        return None

    async def edit(self, chat: Id, message: Id, content: Content, *, is_file: bool = False) -> None:
        """Put other content in its place."""
        if is_file:
            await self._client.edit_caption(chat, message, content.text)
        else:
            await self._client.edit_text(chat, message, content)

    async def delete(self, chat: Id, message: Id) -> None:
        """Take a message away."""
        await self._client.delete_message(chat, message)

    async def send_file(self, place: Place, name: str, body: bytes, *, caption: str, key: str) -> Id:
        """Send a file as a document."""
        return await self._client.send_document(place, name, body, caption=caption)

    async def draft(self, place: Place, draft: int, text: str) -> None:
        """Show a text as it is being written."""
        await self._client.send_draft(place.chat, draft, text, topic=place.topic)

    async def answer_press(self, press: str, text: str) -> None:
        """Answer a press with a toast."""
        await self._client.answer_callback(press, text)

    async def fetch(self, file: str, *, limit: int) -> bytes:
        """Fetch a file of a message."""
        info = await self._client.get_file(file)
        return await self._client.download(info.file_path, limit=limit)

    async def show_menu(self, commands: Sequence[Command]) -> None:
        """Put up the command menu."""
        await self._client.set_commands(commands)

    async def is_admin(self, chat: Id, person: Id) -> bool:
        """By Telegram's own word."""
        return (await self._client.get_member(chat, person)).admin

    async def make_topic(self, chat: Id, name: str) -> Id:
        """Make a topic of a forum."""
        return (await self._client.create_topic(chat, name)).message_thread_id

    async def rename_topic(self, chat: Id, topic: Id, name: str) -> None:
        """Give a topic another name."""
        await self._client.rename_topic(chat, topic, name)
