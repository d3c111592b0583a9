"""What the Bot API sends us, as far as we read it. Fields that are not named here are passed over."""

from __future__ import annotations

from typing import Literal

import msgspec

from footplate.events.base import OptionalRaw


class Incoming(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Base of all values that come in."""


class User(Incoming, frozen=True, kw_only=True):
    """A person or a bot."""

    id: int
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

    id: int
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

    message_id: int
    chat: Chat
    date: int = 0
    sender: User | None = msgspec.field(default=None, name="from")
    message_thread_id: int | None = None
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
    migrate_to_chat_id: int | None = None

    @property
    def topic(self) -> int | None:
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


class Update(Incoming, frozen=True, kw_only=True):
    """One thing that happened, under a number that rises."""

    update_id: int
    message: Message | None = None
    callback_query: CallbackQuery | None = None


class FileInfo(Incoming, frozen=True, kw_only=True):
    """Where a file can be fetched."""

    file_id: str
    file_path: str = ""
    file_size: int = 0


class Member(Incoming, frozen=True, kw_only=True):
    """What somebody is in a chat."""

    status: Literal["creator", "administrator", "member", "restricted", "left", "kicked"]
    user: User
    can_manage_topics: bool = False

    @property
    def admin(self) -> bool:
        """Whether they look after the chat."""
        return self.status in ("creator", "administrator")


class Topic(Incoming, frozen=True, kw_only=True):
    """A topic of a forum."""

    message_thread_id: int
    name: str = ""


class Sent(Incoming, frozen=True, kw_only=True):
    """What we must know of a message that we sent."""

    message_id: int


class Parameters(Incoming, frozen=True, kw_only=True):
    """What a refusal says beside its words."""

    retry_after: float | None = None
    migrate_to_chat_id: int | None = None


class Answer(Incoming, frozen=True, kw_only=True):
    """Every answer of the Bot API."""

    ok: bool
    result: msgspec.Raw = msgspec.Raw()
    error_code: int = 0
    description: str = ""
    parameters: Parameters = Parameters()
