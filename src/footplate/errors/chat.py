"""A chat service's side."""

from __future__ import annotations

from typing import ClassVar

from footplate.errors.base import FootplateError


class BotError(FootplateError):
    """A chat service refused a call, or could not be reached."""

    code: ClassVar[str] = "bot_error"
    title: ClassVar[str] = "Chat service error"
    status: ClassVar[int] = 502

    def __init__(self, method: str, problem: str) -> None:
        self.method = method
        self.problem = problem
        super().__init__(f"{method}: {problem}")


class BotUnreachable(BotError):
    """The chat service does not answer, or is broken. `certain`: surely nothing was done."""

    code: ClassVar[str] = "bot_unreachable"
    title: ClassVar[str] = "Chat service not reachable"
    retryable: ClassVar[bool] = True

    def __init__(self, method: str, problem: str, *, certain: bool) -> None:
        self.certain = certain
        super().__init__(method, problem)


class BotRefused(BotError):
    """The chat service says no, in its own words; trying again does not help."""

    code: ClassVar[str] = "bot_refused"
    title: ClassVar[str] = "Refused by the chat service"


class BotTokenWrong(BotRefused):
    """The chat service does not know the bot's token."""

    code: ClassVar[str] = "bot_token_wrong"
    title: ClassVar[str] = "Bot token not known"


class MessageNotModified(BotError):
    """The message has that content already: what was wanted holds."""

    code: ClassVar[str] = "message_not_modified"
    title: ClassVar[str] = "Message not modified"


class MessageMissing(BotError):
    """The message to change is not there, or is not the bot's own."""

    code: ClassVar[str] = "message_missing"
    title: ClassVar[str] = "Message not there"


class RetryAfter(BotError):
    """Too many messages; the chat service says after how many seconds to come again."""

    code: ClassVar[str] = "bot_retry_after"
    title: ClassVar[str] = "Too many messages"
    status: ClassVar[int] = 429
    retryable: ClassVar[bool] = True

    def __init__(self, method: str, problem: str, *, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(method, problem)


class BotForbidden(BotError):
    """The bot may not write there: blocked, removed, or without the right."""

    code: ClassVar[str] = "bot_forbidden"
    title: ClassVar[str] = "Bot not allowed there"


class PollConflict(BotError):
    """Another program reads the same bot's messages."""

    code: ClassVar[str] = "bot_poll_conflict"
    title: ClassVar[str] = "Bot read by another program"


class ChatMigrated(BotError):
    """The group became a supergroup and has another id now."""

    code: ClassVar[str] = "chat_migrated"
    title: ClassVar[str] = "Chat moved"

    def __init__(self, method: str, problem: str, *, chat: int) -> None:
        self.chat = chat
        super().__init__(method, problem)
