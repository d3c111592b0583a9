"""Who may use the bot, and whether a message in a group is meant for it. Pure."""

from __future__ import annotations

from typing import Literal

from footplate.config.telegram import TelegramSettings
from footplate.interfaces.telegram.bot.wire import Entity, Message, User

Trigger = Literal["all", "mentions"]


def allowed_users(settings: TelegramSettings) -> frozenset[int]:
    """The people who may use the bot."""
    if settings.allowed_user_ids:
        return frozenset(settings.allowed_user_ids)
    own = settings.chat_id
    return frozenset({own}) if own is not None and own > 0 else frozenset()


def known_chats(settings: TelegramSettings) -> frozenset[int]:
    """The chats that are set up."""
    main = () if settings.chat_id is None else (settings.chat_id,)
    return frozenset((*main, *settings.project_chats.values()))


def may_use(settings: TelegramSettings, sender: User | None, chat: int) -> bool:
    """Whether somebody is let in: known people, in their own private chat or in one that is set up."""
    if sender is None or sender.is_bot or sender.id not in allowed_users(settings):
        return False
    return chat == sender.id or chat in known_chats(settings)


def is_meant(message: Message, trigger: Trigger, bot: str, bot_id: int) -> bool:
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
