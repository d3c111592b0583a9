"""Who may use the bot, and whether a message in a group is meant for it. Pure."""

from __future__ import annotations

from typing import Literal

from footplate.chat.model import Chat, Entity, Id, Message, User
from footplate.config.chat import ChatSettings

Trigger = Literal["all", "mentions"]


def may_use(settings: ChatSettings, sender: User | None, chat: Chat) -> bool:
    """Whether somebody is let in: known people, in a chat of their own or in one that is set up."""
    if sender is None or sender.is_bot or sender.id not in settings.people:
        return False
    return chat.private or chat.id in settings.chats


def is_meant(message: Message, trigger: Trigger, bot: str, bot_id: Id) -> bool:
    """Whether a message is for the bot: always in private; where mentions are asked for, by name, reply or command."""
    if message.chat.private or trigger == "all":
        return True
    reply = message.reply_to_message
    if reply is not None and reply.sender is not None and reply.sender.id == bot_id:
        return not _implicit(message)
    words = message.words
    if words.startswith("/"):
        first = words.split(maxsplit=1)[0]
        return "@" not in first or first.lower().endswith(f"@{bot.lower()}")
    entities = message.entities or message.caption_entities
    return any(_names(words, entity, bot) for entity in entities) or f"@{bot.lower()}" in words.lower()


def _implicit(message: Message) -> bool:
    """Every message of a topic replies to the one that made it: that means nothing."""
    reply = message.reply_to_message
    return reply is not None and reply.forum_topic_created is not None


def _names(text: str, entity: Entity, bot: str) -> bool:
    raw = text.encode("utf-16-le")[entity.offset * 2 : (entity.offset + entity.length) * 2]
    return entity.type == "mention" and raw.decode("utf-16-le").lower() == f"@{bot.lower()}"
