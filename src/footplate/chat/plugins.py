"""Transports that other packages bring, and the bridges over them.

A package names a factory in the entry-point group `footplate.transports`:

    [project.entry-points."footplate.transports"]
    irc = "my_package.irc:open_irc"

It is called with the name of the section in `[transports]` and that section's `options`, and gives the transport for
as long as its block lasts. It raises `ConfigError` for options that it cannot use, and a `BotError` when the service
cannot be reached.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, cast

from footplate.chat.bridge import Bridge, Line, open_bridge
from footplate.chat.packages import entries
from footplate.chat.transport import Transport
from footplate.config.chat import TransportSettings
from footplate.config.settings import Settings
from footplate.errors import ConfigError
from footplate.runtime.service import Service
from footplate.store.base import Store

GROUP: Final = "footplate.transports"
Factory = Callable[[str, Mapping[str, object]], AbstractAsyncContextManager[Transport]]


def find_factory(name: str, section: TransportSettings) -> Factory:
    """The factory of a section. Raises `ConfigError` when no package brings it."""
    wanted = section.uses or name
    found = entries(GROUP).get(wanted)
    if found is None:
        known = ", ".join(sorted(entries(GROUP))) or "none"
        advice = f"install the package that brings it, or name one of: {known}"
        raise ConfigError(f"[transports.{name}]", f"no transport {wanted!r} is installed", advice)
    return cast("Factory", found.load())


class PluginKind:
    """How the bridge of one section of `[transports]` is kept running."""

    def __init__(self, name: str, factory: Factory | None = None) -> None:
        """`factory`: in place of the one that a package brings."""
        self.name = self.label = name
        self._factory = factory

    def section(self, settings: Settings) -> TransportSettings:
        """Its section. Raises `ConfigError` when it is gone."""
        found = settings.transports.get(self.name)
        if found is None or not found.enabled:
            raise ConfigError(f"[transports.{self.name}]", "the section is gone", "restart the server")
        return found

    def check(self, settings: Settings) -> None:
        """Raise `ConfigError` for settings that cannot work."""
        section = self.section(settings)
        if not section.people:
            where = f"[transports.{self.name}]"
            raise ConfigError(where, "nobody may use the bot", "name people in allowed_user_ids")
        if self._factory is None:
            find_factory(self.name, section)

    def identity(self, settings: Settings) -> object:
        """What the bridge must be opened anew for."""
        section = self.section(settings)
        return section.uses, dict(section.options)

    @asynccontextmanager
    async def open(self, service: Service, settings: Settings) -> AsyncIterator[Bridge]:
        """The bridge. Raises `ConfigError` or a `BotError` when it cannot open."""
        self.check(settings)
        section = self.section(settings)
        factory = self._factory or find_factory(self.name, section)
        async with factory(self.name, section.options) as transport:
            line = Line(
                transport=transport,
                select=self.section,
                section=f"transports.{self.name}",
                secret=await _secret(service.services.store, self.name),
            )
            async with open_bridge(service, settings, line) as bridge:
                yield bridge


async def _secret(store: Store, name: str) -> str:
    """What the buttons of a section are sealed with: made once, kept in the store."""
    documents = store.documents("transports/secrets")
    known = await documents.get(name)
    if known is not None:
        return known.body.decode()
    made = secrets.token_hex(16)
    await documents.put(name, made.encode(), durable=True)
    return made
