"""What all rooms of the bridge work with."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import msgspec

from footplate.config.settings import Settings
from footplate.config.telegram import TelegramSettings
from footplate.interfaces.telegram.bot.client import BotClient
from footplate.interfaces.telegram.bot.content import Content, Place
from footplate.interfaces.telegram.bot.wire import User
from footplate.interfaces.telegram.drawing.markdown import render_markdown
from footplate.interfaces.telegram.drawing.rich import TEXT_LIMIT, trim
from footplate.interfaces.telegram.outbox.drafts import Drafts
from footplate.interfaces.telegram.outbox.outbox import Outbox
from footplate.interfaces.telegram.reading.directives import Names
from footplate.interfaces.telegram.reading.presses import Sealer
from footplate.interfaces.telegram.reading.routing import Context
from footplate.interfaces.telegram.talk.records import Records
from footplate.runtime.backend import HubBackend
from footplate.runtime.hub import Hub
from footplate.runtime.roster import Roster
from footplate.runtime.services import Services
from footplate.runtime.ulid import new_ulid


class Kit:
    """One bot at work: the sessions, the chat service, the memory, the settings in force."""

    def __init__(
        self,
        *,
        hub: Hub,
        services: Services,
        client: BotClient,
        outbox: Outbox,
        drafts: Drafts,
        me: User,
        settings: Settings,
    ) -> None:
        self.hub = hub
        self.services = services
        self.client = client
        self.outbox = outbox
        self.drafts = drafts
        self.me = me
        self.records = Records(services.store, me.id)
        self.sealer = Sealer(settings.telegram.bot_token)
        self.use(settings)

    def use(self, settings: Settings) -> None:
        """Work by these settings from here on."""
        self.all_settings = settings
        self.roster = Roster(settings, self.services.environ)
        self.backend = HubBackend(self.hub, settings)

    @property
    def settings(self) -> TelegramSettings:
        """`[telegram]`."""
        return self.all_settings.telegram

    @property
    def projects(self) -> dict[str, str]:
        """The projects by name, each with its default engine (or nothing)."""
        return {each.alias: each.default_engine for each in self.services.projects.list()}

    @property
    def names(self) -> Names:
        """What directives can name."""
        return Names(engines=self.roster.names, projects=tuple(self.projects), bot=self.me.username)

    async def folder(self, context: Context) -> str:
        """Where a context works."""
        if context.project:
            return (await self.services.projects.place(context.project, context.branch)).cwd
        return os.path.abspath(os.path.expanduser(self.settings.cwd or "."))  # noqa: PTH100, PTH111, ASYNC240 - no disk

    async def outgoing(self, name: str, body: bytes) -> Path:
        """A file to be sent, in a folder of its own that is gone when it is."""
        path = self.services.data / "telegram-outgoing" / new_ulid() / name
        await asyncio.to_thread(_keep, path, body)
        return path

    async def say(self, key: str, place: Place, markdown: str) -> None:
        """Show a short message of our own, once per key."""
        rich = trim(render_markdown(markdown), TEXT_LIMIT)
        await self.outbox.put(f"n/{key}", place, Content(text=rich.text, entities=rich.entities))


def _keep(path: Path, body: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True)
    path.write_bytes(body)


class Actor(msgspec.Struct, frozen=True):
    """Who acts: that is what others are told."""

    id: int
    name: str

    @classmethod
    def of(cls, user: User) -> Actor:
        """A person of the chat."""
        return cls(user.id, user.name or str(user.id))
