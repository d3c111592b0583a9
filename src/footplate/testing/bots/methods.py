"""What each method of the Bot API does to the chats, and what it refuses, in the service's own words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from footplate.testing.bots.faults import Refusal
from footplate.testing.bots.form import Upload
from footplate.testing.bots.world import Bubble, Room, World

Parameters = Mapping[str, object]
Method = Callable[[World, Parameters], object]
TEXT_LIMIT: Final = 4096
CAPTION_LIMIT: Final = 1024
DATA_LIMIT: Final = 64
ENTITY_LIMIT: Final = 100
COUNTED: Final = ("sendMessage", "editMessageText", "editMessageReplyMarkup", "sendDocument", "sendPhoto")
"""The methods that the limits of a chat count."""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a message answers."""

    message_id: int
    allow_sending_without_reply: bool = False


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """An entity, as far as it is checked."""

    type: str
    offset: int
    length: int
    url: str = ""


def utf16(text: str) -> int:
    """How many units a text has."""
    return len(text.encode("utf-16-le")) // 2


def _bad(words: str) -> Refusal:
    return Refusal(400, f"Bad Request: {words}")


def _room(world: World, given: Parameters) -> Room:
    chat = given.get("chat_id")
    if not isinstance(chat, int) or (chat < 0 and chat not in world.rooms):
        raise _bad("chat not found")
    room = world.room(chat)
    if room.migrated_to is not None:
        words = "Bad Request: group chat was upgraded to a supergroup chat"
        raise Refusal(400, words, migrate_to_chat_id=room.migrated_to)
    if room.blocked:
        raise Refusal(403, "Forbidden: bot was blocked by the user")
    topic = given.get("message_thread_id")
    if topic is not None and topic not in room.topics:
        raise _bad("message thread not found")
    return room


def _text(given: Parameters, name: str, limit: int) -> str:
    text = str(given.get(name, ""))
    if utf16(text) > limit:
        raise _bad(f"{'message is too long' if name == 'text' else 'message caption is too long'}")
    return text


def _entities(given: Parameters, text: str) -> list[dict[str, object]]:
    spans = msgspec.convert(given.get("entities") or [], list[Span])
    for span in spans:
        if span.length < 1 or span.offset < 0 or span.offset + span.length > utf16(text):
            raise _bad("ENTITY_BOUNDS_INVALID")
        if span.type == "text_link" and not span.url.startswith(("http://", "https://", "tg://")):
            raise _bad(f"Wrong HTTP URL: {span.url}")
    kept = spans[:ENTITY_LIMIT]
    return [{"type": s.type, "offset": s.offset, "length": s.length, **({"url": s.url} if s.url else {})} for s in kept]


def _buttons(given: Parameters) -> list[list[dict[str, str]]]:
    markup = given.get("reply_markup") or {}
    rows = markup.get("inline_keyboard", []) if isinstance(markup, dict) else []
    for row in rows:
        for button in row:
            if len(button.get("callback_data", "").encode()) > DATA_LIMIT:
                raise _bad("BUTTON_DATA_INVALID")
            if not button.get("text"):
                raise _bad("text buttons are unallowed in the inline keyboard")
    return list(rows)


def _reply_to(given: Parameters, room: Room) -> int | None:
    if not given.get("reply_parameters"):
        return None
    reply = msgspec.convert(given["reply_parameters"], Reply)
    if reply.message_id in room.bubbles:
        return reply.message_id
    if not reply.allow_sending_without_reply:
        raise _bad("message to be replied not found")
    return None


def _add(world: World, room: Room, given: Parameters, bubble: Bubble) -> object:
    topic = given.get("message_thread_id")
    bubble.topic = topic if isinstance(topic, int) else None
    bubble.silent = bool(given.get("disable_notification"))
    bubble.reply_to = _reply_to(given, room)
    bubble.buttons = _buttons(given)
    bubble.id = world.new_id(room)
    world.add(bubble)
    return world.message(bubble)


def _send_message(world: World, given: Parameters) -> object:
    room = _room(world, given)
    text = _text(given, "text", TEXT_LIMIT)
    if not text.strip():
        raise _bad("message text is empty")
    bubble = Bubble(id=0, chat=room.id, sender=world.bot, text=text, entities=_entities(given, text))
    return _add(world, room, given, bubble)


def _send_file(name: str) -> Method:
    def send(world: World, given: Parameters) -> object:
        room = _room(world, given)
        upload = given.get(name)
        if not isinstance(upload, Upload):
            raise _bad(f"there is no {name} in the request")
        caption = _text(given, "caption", CAPTION_LIMIT)
        bubble = Bubble(id=0, chat=room.id, sender=world.bot, text=caption, document=upload.name, body=upload.body)
        return _add(world, room, given, bubble)

    return send


def _mine(world: World, given: Parameters, verb: str) -> Bubble:
    room = _room(world, given)
    message = given.get("message_id")
    bubble = room.bubbles.get(message) if isinstance(message, int) else None
    if bubble is None:
        raise _bad(f"message to {verb} not found")
    if bubble.sender != world.bot and verb == "edit":
        raise _bad("message can't be edited")
    return bubble


def _edit_text(world: World, given: Parameters) -> object:
    bubble = _mine(world, given, "edit")
    text = _text(given, "text", TEXT_LIMIT)
    if not text.strip():
        raise _bad("message text is empty")
    entities, buttons = _entities(given, text), _buttons(given)
    if (text, entities, buttons) == (bubble.text, bubble.entities, bubble.buttons):
        raise _bad("message is not modified: specified new message content and reply markup are exactly the same")
    bubble.text, bubble.entities, bubble.buttons = text, entities, buttons
    bubble.edits += 1
    return world.message(bubble)


def _edit_caption(world: World, given: Parameters) -> object:
    bubble = _mine(world, given, "edit")
    caption = _text(given, "caption", CAPTION_LIMIT)
    if caption == bubble.text:
        raise _bad("message is not modified")
    bubble.text = caption
    bubble.edits += 1
    return world.message(bubble)


def _edit_markup(world: World, given: Parameters) -> object:
    bubble = _mine(world, given, "edit")
    buttons = _buttons(given)
    if buttons == bubble.buttons:
        raise _bad("message is not modified")
    bubble.buttons = buttons
    bubble.edits += 1
    return world.message(bubble)


def _delete(world: World, given: Parameters) -> object:
    bubble = _mine(world, given, "delete")
    del world.rooms[bubble.chat].bubbles[bubble.id]
    return True


def _draft(world: World, given: Parameters) -> object:
    room = _room(world, given)
    if room.type != "private":
        raise _bad("TEXTDRAFT_PEER_INVALID")
    room.drafts.append(_text(given, "text", TEXT_LIMIT))
    return True


def _action(world: World, given: Parameters) -> object:
    _room(world, given).actions.append(str(given.get("action")))
    return True


def _get_chat(world: World, given: Parameters) -> object:
    return _room(world, given).view()


def _get_member(world: World, given: Parameters) -> object:
    room, user = _room(world, given), given.get("user_id")
    status = "administrator" if user in room.admins else "member"
    may = {"can_manage_topics": True} if status == "administrator" else {}
    return {"status": status, "user": {"id": user, "is_bot": user == world.bot, "first_name": "x"}, **may}


def _create_topic(world: World, given: Parameters) -> object:
    room = _room(world, given)
    if not room.is_forum:
        raise _bad("the chat is not a forum")
    if world.bot not in room.admins:
        raise _bad("not enough rights to create a topic")
    topic = world.new_id(room)
    room.topics[topic] = str(given.get("name"))
    return {"message_thread_id": topic, "name": room.topics[topic], "icon_color": 0}


def _edit_topic(world: World, given: Parameters) -> object:
    room, topic = _room(world, given), given.get("message_thread_id")
    if isinstance(topic, int):
        room.topics[topic] = str(given.get("name"))
    return True


def _yes(_world: World, _given: Parameters) -> object:
    return True


METHODS: Final[dict[str, Method]] = {
    "sendMessage": _send_message,
    "sendDocument": _send_file("document"),
    "sendPhoto": _send_file("photo"),
    "editMessageText": _edit_text,
    "editMessageCaption": _edit_caption,
    "editMessageReplyMarkup": _edit_markup,
    "deleteMessage": _delete,
    "sendMessageDraft": _draft,
    "sendChatAction": _action,
    "getChat": _get_chat,
    "getChatMember": _get_member,
    "createForumTopic": _create_topic,
    "editForumTopic": _edit_topic,
    "closeForumTopic": _yes,
    "deleteWebhook": _yes,
    "setMessageReaction": _yes,
    "pinChatMessage": _yes,
}
"""The methods that only concern the chats; updates, files and queries are the server's."""
