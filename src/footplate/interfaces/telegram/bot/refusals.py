"""A refusal of the Bot API as one of our errors. Pure."""

from __future__ import annotations

from typing import Final

from footplate.errors import (
    BotError,
    BotForbidden,
    BotRefused,
    BotTokenWrong,
    BotUnreachable,
    ChatMigrated,
    MessageMissing,
    MessageNotModified,
    PollConflict,
    RetryAfter,
)
from footplate.interfaces.telegram.bot.wire import Answer

DEFAULT_WAIT_S: Final = 5.0
"""How long to wait where the service says only that it was too much."""
MISSING: Final = (
    "message to edit not found",
    "message to delete not found",
    "message can't be edited",
    "message can't be deleted",
    "message to be replied not found",
    "message_id_invalid",
)


def read_refusal(method: str, answer: Answer, status: int) -> BotError:
    """The error that an answer without `ok` stands for."""
    code, words = answer.error_code or status, answer.description
    small = words.lower()
    if answer.parameters.migrate_to_chat_id is not None:
        return ChatMigrated(method, words, chat=answer.parameters.migrate_to_chat_id)
    if code == 429:
        return RetryAfter(method, words, seconds=answer.parameters.retry_after or DEFAULT_WAIT_S)
    if "message is not modified" in small:
        return MessageNotModified(method, words)
    if any(each in small for each in MISSING):
        return MessageMissing(method, words)
    if code >= 500:
        return BotUnreachable(method, f"{code} {words}".strip(), certain=False)
    known = {401: BotTokenWrong, 404: BotTokenWrong, 403: BotForbidden, 409: PollConflict}
    return known.get(code, BotRefused)(method, words or f"HTTP {code}")
