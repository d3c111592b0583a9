"""The Telegram bridge opened: settings checked, the bot's lock held, its transport handed to the bridge."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from footplate.chat.bridge import Bridge, Line
from footplate.chat.bridge import open_bridge as open_over
from footplate.chat.outbox.buckets import Pace
from footplate.config.settings import Settings
from footplate.config.telegram import TelegramSettings
from footplate.errors import ConfigError
from footplate.host.locks import SessionLock
from footplate.interfaces.telegram.bot.client import BotClient
from footplate.interfaces.telegram.transport import POLL_S, TelegramTransport
from footplate.runtime.service import Service


def check_settings(settings: TelegramSettings) -> None:
    """Raise `ConfigError` for settings that cannot work."""
    where = "[telegram]"
    if not settings.bot_token:
        raise ConfigError(where, "no bot_token", "ask @BotFather for one, or run `footplate telegram setup`")
    if not settings.people:
        problem = "nobody may use the bot"
        raise ConfigError(where, problem, "set chat_id to your private chat, or allowed_user_ids: see the tutorial")


@asynccontextmanager
async def open_bridge(
    service: Service, settings: Settings, *, pace: Pace | None = None, poll_s: float = POLL_S
) -> AsyncIterator[Bridge]:
    """A bridge for as long as the block lasts. Raises `LockHeld`, `ConfigError` or a `BotError` when it cannot open."""
    telegram = settings.telegram
    check_settings(telegram)
    async with token_lock(telegram.bot_token), BotClient.open(telegram.bot_token, telegram.api_url) as client:
        transport = await TelegramTransport.begin(client, pace or Pace(), poll_s=poll_s)
        line = Line(
            transport=transport,
            select=lambda fresh: fresh.telegram,
            section="telegram",
            secret=telegram.bot_token,
        )
        async with open_over(service, settings, line) as bridge:
            yield bridge


class TelegramKind:
    """How the bridge of `[telegram]` is kept running."""

    label = "Telegram"

    def check(self, settings: Settings) -> None:
        """Raise `ConfigError` for settings that cannot work."""
        check_settings(settings.telegram)

    def identity(self, settings: Settings) -> object:
        """What the bridge must be opened anew for: another bot, or another address."""
        return settings.telegram.bot_token, settings.telegram.api_url

    def open(self, service: Service, settings: Settings) -> AbstractAsyncContextManager[Bridge]:
        """The bridge."""
        return open_bridge(service, settings)


def token_lock(token: str) -> SessionLock:
    """The lock of a bot on this machine: two pollers of one bot take each other's messages away."""
    fingerprint = hashlib.sha256(token.encode()).hexdigest()[:10]
    folder = Path(tempfile.gettempdir()) / f"footplate-{os.getuid()}"
    return SessionLock(folder, f"telegram bot {fingerprint}", what="a Telegram bridge")
