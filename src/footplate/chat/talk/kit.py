"""What all rooms of the bridge work with."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from footplate.chat.drawing.markdown import render_markdown
from footplate.chat.drawing.rich import trim
from footplate.chat.model import Content, Id, Place, User
from footplate.chat.outbox.drafts import Drafts
from footplate.chat.outbox.marks import needs_marks
from footplate.chat.outbox.outbox import Outbox
from footplate.chat.reading.directives import Names
from footplate.chat.reading.presses import Sealer
from footplate.chat.reading.routing import Context
from footplate.chat.talk.records import Records
from footplate.chat.transport import Transport
from footplate.config.chat import ChatSettings
from footplate.config.settings import Settings
from footplate.events.ids import SessionId
from footplate.runtime.audit import Principal
from footplate.runtime.backend import HubBackend
from footplate.runtime.hub import Hub
from footplate.runtime.roster import Roster
from footplate.runtime.services import Services

MARKS_ROOM: Final = 600
"""What marks of buttons may add to a message."""
Select = Callable[[Settings], ChatSettings]
"""The bridge's own section of the settings."""


class Kit:
    """One account at work: the sessions, the chat service, the memory, the settings in force."""

    def __init__(
        self,
        *,
        hub: Hub,
        services: Services,
        transport: Transport,
        outbox: Outbox,
        drafts: Drafts,
        settings: Settings,
        select: Select,
        secret: str,
        section: str,
    ) -> None:
        self.hub = hub
        self.services = services
        self.transport = transport
        self.outbox = outbox
        self.drafts = drafts
        self.me = transport.me
        self.records = Records(services.store, account_of(transport))
        self.sealer = Sealer(secret)
        self.section = section
        self.brought: Mapping[str, str] = {}
        """The commands that packages bring, with their lines in the menu."""
        self._select = select
        self.use(settings)

    def use(self, settings: Settings) -> None:
        """Work by these settings from here on."""
        self.all_settings = settings
        self.roster = Roster(settings, self.services.environ)
        self.backend = HubBackend(self.hub, settings)

    @property
    def settings(self) -> ChatSettings:
        """The bridge's own section."""
        return self._select(self.all_settings)

    @property
    def surface(self) -> str:
        """What others are told: answered on this."""
        return self.transport.name

    @property
    def text_limit(self) -> int:
        """How long a message may be before its marks, if it needs some."""
        capabilities = self.transport.capabilities
        return capabilities.text_limit - (MARKS_ROOM if needs_marks(capabilities) else 0)

    def principal(self, sender: Actor) -> Principal:
        """Who acts, as the audit log names a person of the chat."""
        return Principal(by=sender.name, surface=self.surface, origin=sender.origin)

    def page_link(self, session: SessionId) -> str:
        """The address of a session on the page; empty where no setting names one that people outside can reach."""
        link = next((hook.link for hook in self.all_settings.notify if hook.link), "")
        return f"{link.rstrip('/')}/ui/sessions/{session}" if link else ""

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
        path = self.services.data / f"{self.transport.name}-outgoing" / self.services.surroundings.new_id() / name
        await self.services.surroundings.blocking(_keep, path, body)
        return path

    async def say(self, key: str, place: Place, markdown: str) -> None:
        """Show a short message of our own, once per key."""
        rich = trim(render_markdown(markdown), self.text_limit)
        await self.outbox.put(f"n/{key}", place, Content(text=rich.text, entities=rich.entities))


def account_of(transport: Transport) -> str:
    """The name under which everything of an account is kept."""
    return f"{transport.name}/{transport.me.id}"


def _keep(path: Path, body: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True)
    path.write_bytes(body)


class Actor(msgspec.Struct, frozen=True):
    """Who acts: that is what others are told."""

    id: Id
    name: str

    @classmethod
    def of(cls, user: User) -> Actor:
        """A person of the chat."""
        return cls(user.id, user.name or str(user.id))

    @property
    def origin(self) -> str:
        """Who that is to the chat service: names can be chosen, numbers cannot."""
        return f"user {self.id}"
