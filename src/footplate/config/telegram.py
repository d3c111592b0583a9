"""Settings of the Telegram bridge: `[telegram]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from footplate.config.chat import ChatSettings


class TelegramSettings(ChatSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[telegram]`: off until there is a token."""

    bot_token: Annotated[str, Meta(description="the token that BotFather gave you; the bridge is off without one")] = ""
    chat_id: Annotated[int | None, Meta(description="the main chat: yours with the bot, or a group")] = None
    allowed_user_ids: Annotated[
        tuple[int, ...],
        Meta(description="who may use the bot; default: the person of the private main chat. A group needs it"),
    ] = ()
    admin_user_ids: Annotated[
        tuple[int, ...],
        Meta(
            description="who may use `!command`; default: in a private chat its person, in a group its administrators"
        ),
    ] = ()
    api_url: Annotated[str, Meta(description="where the Bot API is")] = "https://api.telegram.org"
    project_chats: Annotated[
        Mapping[str, int], Meta(description="chats of projects: `alias = chat id` in `[telegram.project_chats]`")
    ] = {}

    @property
    def people(self) -> frozenset[int | str]:
        """Who may use the bot: the person of a private main chat where nobody is named."""
        if self.allowed_user_ids or self.chat_id is None or self.chat_id < 0:
            return frozenset(self.allowed_user_ids)
        return frozenset({self.chat_id})
