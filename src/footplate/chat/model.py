"""What goes through a chat: messages and presses that come in, content and places that go out.

The names are those of Telegram's Bot API, which has the richest set; a transport of another service fills in what it
has. An id is whatever the service calls a thing: a number or a word.
"""

from __future__ import annotations

import msgspec

from footplate.events.base import OptionalRaw

Id = int | str
"""Of a chat, a topic, a person or a message."""


class Incoming(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Base of all values that come in."""


class User(Incoming, frozen=True, kw_only=True):
    """A person or a bot."""

    id: Id
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""

    @property
    def name(self) -> str:
        """The name to tell others."""
        return f"@{self.username}" if self.username else " ".join((self.first_name, self.last_name)).strip()


class Chat(Incoming, frozen=True, kw_only=True):
    """A private chat, a group or a supergroup."""

    id: Id
    type: str = "private"
    title: str = ""
    is_forum: bool = False

    @property
    def private(self) -> bool:
        """Whether it is with one person."""
        return self.type == "private"


class Entity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A span of a text with a meaning; offset and length count UTF-16 units. The same shape goes out."""

    type: str
    offset: int
    length: int
    url: str = ""
    language: str = ""


class Attachment(Incoming, frozen=True, kw_only=True):
    """A file of a message: document, video, sticker, voice or audio."""

    file_id: str
    file_unique_id: str = ""
    file_name: str = ""
    mime_type: str = ""
    file_size: int = 0


class PhotoSize(Incoming, frozen=True, kw_only=True):
    """One size of a photo."""

    file_id: str
    file_unique_id: str = ""
    width: int = 0
    height: int = 0
    file_size: int = 0


class Message(Incoming, frozen=True, kw_only=True):
    """One message."""

    message_id: Id
    chat: Chat
    date: int = 0
    sender: User | None = msgspec.field(default=None, name="from")
    message_thread_id: Id | None = None
    is_topic_message: bool = False
    text: str = ""
    caption: str = ""
    entities: tuple[Entity, ...] = ()
    caption_entities: tuple[Entity, ...] = ()
    photo: tuple[PhotoSize, ...] = ()
    document: Attachment | None = None
    video: Attachment | None = None
    sticker: Attachment | None = None
    voice: Attachment | None = None
    audio: Attachment | None = None
    media_group_id: str = ""
    reply_to_message: Message | None = None
    forward_origin: OptionalRaw = None
    forum_topic_created: OptionalRaw = None
    migrate_to_chat_id: Id | None = None

    @property
    def topic(self) -> Id | None:
        """The topic it stands in; a reply in a group without topics has a thread that is none."""
        return self.message_thread_id if self.is_topic_message else None

    @property
    def words(self) -> str:
        """Its text, or what is written under its file."""
        return self.text or self.caption

    @property
    def forwarded(self) -> bool:
        """Whether it was written elsewhere."""
        return bool(self.forward_origin)


class CallbackQuery(Incoming, frozen=True, kw_only=True):
    """A press of a button."""

    id: str
    sender: User = msgspec.field(name="from")
    data: str = ""
    message: Message | None = None
    typed: bool = False
    """Somebody typed the mark of the button: what came of it is told in the chat."""


class Update(Incoming, frozen=True, kw_only=True):
    """One thing that happened, under a number that rises."""

    update_id: int
    message: Message | None = None
    callback_query: CallbackQuery | None = None


class Button(msgspec.Struct, frozen=True, kw_only=True):
    """One button under a message: what it says, and what a press of it sends us."""

    text: str
    callback_data: str


Keyboard = tuple[tuple[Button, ...], ...]


class Content(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person sees: text, its formatting, and buttons."""

    text: str
    entities: tuple[Entity, ...] = ()
    keyboard: Keyboard = ()


class Place(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where it stands: chat, topic, behind which message, and whether it makes a sound."""

    chat: Id
    topic: Id | None = None
    reply_to: Id | None = None
    silent: bool = False


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the command menu."""

    command: str
    description: str
