"""The chats behind the scripted Bot API: messages, who wrote them, what sounded, as a person sees it."""

from __future__ import annotations

from typing import Final

import msgspec

FIRST_ID: Final = 100


class Bubble(msgspec.Struct, kw_only=True):
    """One message in a chat, as it looks now."""

    id: int
    chat: int
    sender: int
    text: str = ""
    entities: list[dict[str, object]] = []
    buttons: list[list[dict[str, str]]] = []
    silent: bool = False
    reply_to: int | None = None
    topic: int | None = None
    document: str = ""
    body: bytes = b""
    edits: int = 0
    raw: dict[str, object] = {}
    """What a message of a person carries beside its text, as the Bot API tells it."""

    @property
    def labels(self) -> list[str]:
        """What its buttons say, in order."""
        return [button["text"] for row in self.buttons for button in row]


class Room(msgspec.Struct, kw_only=True):
    """One chat."""

    id: int
    type: str
    title: str = ""
    is_forum: bool = False
    bubbles: dict[int, Bubble] = {}
    sounds: list[str] = []
    """The first lines of messages of the bot that made a sound, in order, also of those that are gone."""
    drafts: list[str] = []
    actions: list[str] = []
    blocked: bool = False
    migrated_to: int | None = None
    topics: dict[int, str] = {}
    admins: set[int] = set()
    next_id: int = FIRST_ID

    def view(self) -> dict[str, object]:
        """The chat as the Bot API tells it."""
        shown: dict[str, object] = {"id": self.id, "type": self.type}
        if self.title:
            shown["title"] = self.title
        if self.is_forum:
            shown["is_forum"] = True
        return shown


class World:
    """All chats of one bot."""

    def __init__(self, bot: int) -> None:
        self.bot = bot
        self.rooms: dict[int, Room] = {}
        self._next = FIRST_ID

    def room(self, chat: int, *, kind: str = "", title: str = "", forum: bool = False) -> Room:
        """The chat; a positive id is a private one and always there."""
        if chat not in self.rooms:
            made = kind or ("private" if chat > 0 else "supergroup")
            self.rooms[chat] = Room(id=chat, type=made, title=title, is_forum=forum)
        return self.rooms[chat]

    def new_id(self, room: Room) -> int:
        """The next message id: one sequence for all private chats and basic groups, one per supergroup."""
        if room.type == "supergroup":
            room.next_id += 1
            return room.next_id - 1
        self._next += 1
        return self._next - 1

    def add(self, bubble: Bubble) -> None:
        """Put a message at the end of its chat."""
        room = self.rooms[bubble.chat]
        room.bubbles[bubble.id] = bubble
        if bubble.sender == self.bot and not bubble.silent:
            room.sounds.append((bubble.text or bubble.document).partition("\n")[0])

    def message(self, bubble: Bubble, *, deep: bool = True) -> dict[str, object]:
        """A message as the Bot API tells it."""
        room = self.rooms[bubble.chat]
        told: dict[str, object] = {
            "message_id": bubble.id,
            "date": 1_700_000_000 + bubble.id,
            "chat": room.view(),
            "from": {"id": bubble.sender, "is_bot": bubble.sender == self.bot, "first_name": f"user{bubble.sender}"},
        }
        if bubble.text:
            told["text"] = bubble.text
        if bubble.topic is not None:
            told |= {"message_thread_id": bubble.topic, "is_topic_message": True}
        if deep and bubble.reply_to in room.bubbles:
            told["reply_to_message"] = self.message(room.bubbles[bubble.reply_to], deep=False)
        return told | bubble.raw
