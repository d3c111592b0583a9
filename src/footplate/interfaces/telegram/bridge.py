"""One bot at work: every room opened in order, and closed so that nothing is lost."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from footplate.config.settings import Settings
from footplate.config.telegram import TelegramSettings
from footplate.errors import ConfigError
from footplate.host.locks import SessionLock
from footplate.interfaces.telegram.bot.client import BotClient
from footplate.interfaces.telegram.inbox.intake import Intake
from footplate.interfaces.telegram.inbox.letters import Letters
from footplate.interfaces.telegram.inbox.poller import POLL_S, Poller
from footplate.interfaces.telegram.outbox.buckets import Pace
from footplate.interfaces.telegram.outbox.drafts import Drafts
from footplate.interfaces.telegram.outbox.outbox import Outbox
from footplate.interfaces.telegram.reading.forwards import joins
from footplate.interfaces.telegram.reading.gate import allowed_users
from footplate.interfaces.telegram.talk.commands import Commands
from footplate.interfaces.telegram.talk.commands.choices import Choices
from footplate.interfaces.telegram.talk.commands.sessions import SessionCommands
from footplate.interfaces.telegram.talk.following import Following
from footplate.interfaces.telegram.talk.heard import Ears
from footplate.interfaces.telegram.talk.kit import Kit
from footplate.interfaces.telegram.talk.menu import Menu
from footplate.interfaces.telegram.talk.places import Places
from footplate.interfaces.telegram.talk.pressed import Pressed
from footplate.interfaces.telegram.talk.prompts import Prompter
from footplate.interfaces.telegram.talk.schedule import Schedule
from footplate.interfaces.telegram.talk.topics import Topics
from footplate.interfaces.telegram.talk.transfer import Transfer
from footplate.runtime.service import Service

log = logging.getLogger(__name__)
HANDLING_S: Final = 5.0
"""How long what was just heard may take when the bridge stops."""


class Bridge:
    """An open bridge."""

    def __init__(self, kit: Kit, poller: asyncio.Task[None], menu: Menu) -> None:
        self.kit = kit
        self.poller = poller
        self._menu = menu

    async def use(self, settings: Settings) -> None:
        """Go on with other settings; the token must be the same."""
        self.kit.use(settings)
        await self._menu.show()


def check_settings(settings: TelegramSettings) -> None:
    """Raise `ConfigError` for settings that cannot work."""
    where = "[telegram]"
    if not settings.bot_token:
        raise ConfigError(where, "no bot_token", "ask @BotFather for one, or run `footplate telegram setup`")
    if not allowed_users(settings):
        problem = "nobody may use the bot"
        raise ConfigError(where, problem, "set chat_id to your private chat, or allowed_user_ids: see the tutorial")


@asynccontextmanager
async def open_bridge(
    service: Service, settings: Settings, *, pace: Pace | None = None, poll_s: float = POLL_S
) -> AsyncIterator[Bridge]:
    """A bridge for as long as the block lasts. Raises `LockHeld`, `ConfigError` or a `BotError` when it cannot open."""
    telegram = settings.telegram
    check_settings(telegram)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(token_lock(telegram.bot_token))
        client = await stack.enter_async_context(BotClient.open(telegram.bot_token, telegram.api_url))
        me = await client.get_me()
        await client.delete_webhook()
        store = service.services.store
        outbox = await stack.enter_async_context(Outbox.open(client, store, me.id, pace))
        stack.push_async_callback(outbox.drain, telegram.drain_s)
        drafts = Drafts(client, pace or Pace())
        stack.push_async_callback(drafts.close)
        kit = Kit(
            hub=service.hub,
            services=service.services,
            client=client,
            outbox=outbox,
            drafts=drafts,
            me=me,
            settings=settings,
        )
        yield await _open_rooms(stack, kit, poll_s)


async def _open_rooms(stack: AsyncExitStack, kit: Kit, poll_s: float) -> Bridge:
    places, following = Places(kit), Following(kit)
    prompter = Prompter(kit, places, following)
    pressed = Pressed(kit, following, prompter)
    transfer, schedule = Transfer(kit, prompter), Schedule(kit, prompter)
    choices = Choices(kit, places, prompter)
    commands = Commands(
        kit,
        prompter,
        choices.handlers(),
        SessionCommands(kit, places, prompter, pressed).handlers(),
        Topics(kit, places, choices).handlers(),
        transfer.handlers(),
        schedule.handlers(),
    )
    menu = Menu(kit)
    ears = Ears(kit, places, prompter, pressed, commands, transfer, menu)
    stack.callback(kit.services.bulletin.subscribe(following.hear))
    stack.push_async_callback(following.stop)
    await following.start()
    stack.push_async_callback(schedule.stop)
    await schedule.start()
    stack.push_async_callback(ears.stop)
    await ears.start()
    letters = Letters(kit.services.store, kit.me.id)
    intake = Intake(letters, ears.take, joins)
    stack.push_async_callback(intake.stop, HANDLING_S)
    intake.give(await letters.load())
    poller = asyncio.create_task(Poller(kit.client, letters, intake, poll_s=poll_s).run(), name="telegram poller")
    stack.push_async_callback(_end, poller)
    stack.push_async_callback(menu.close)
    stack.callback(kit.services.bulletin.subscribe(menu.hear))
    await menu.greet()
    return Bridge(kit, poller, menu)


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait((task,))


def token_lock(token: str) -> SessionLock:
    """The lock of a bot on this machine: two pollers of one bot take each other's messages away."""
    fingerprint = hashlib.sha256(token.encode()).hexdigest()[:10]
    folder = Path(tempfile.gettempdir()) / f"footplate-{os.getuid()}"
    return SessionLock(folder, f"telegram bot {fingerprint}", what="a Telegram bridge")
