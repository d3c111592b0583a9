"""What only the Bot API says, beside the values of `footplate.chat.model`. Other fields are passed over."""

from __future__ import annotations

from typing import Literal

import msgspec

from footplate.chat.model import Incoming, User


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
