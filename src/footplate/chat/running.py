"""The bridge kept running: opened again after trouble, changed with the settings, stopped in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from footplate.chat.bridge import Bridge
from footplate.chat.model import Place
from footplate.config.places import settings_file
from footplate.config.settings import Settings, load_settings
from footplate.errors import BotUnreachable, ConfigError, RetryAfter
from footplate.runtime.service import Service
from footplate.ulid import new_ulid

log = logging.getLogger(__name__)
LOOK_S: Final = 1.0
LONGEST_PAUSE_S: Final = 30.0


class Kind(Protocol):
    """A kind of bridge: how it is opened, and which settings it cannot follow while it is open."""

    label: str

    def check(self, settings: Settings) -> None:
        """Raise `ConfigError` for settings that cannot work."""

    def identity(self, settings: Settings) -> object:
        """What it must be opened anew for."""

    def open(self, service: Service, settings: Settings) -> AbstractAsyncContextManager[Bridge]:
        """A bridge for as long as the block lasts."""
        ...


class Keeping:
    """One bridge for as long as it is wanted."""

    def __init__(self, kind: Kind, service: Service, settings: Settings, environ: Mapping[str, str]) -> None:
        self._kind = kind
        self._service = service
        self._settings = settings
        self._environ = environ
        self._path = settings_file(environ)
        self._stamp = self._look_at_file()

    async def run(self) -> None:
        """Until it is cancelled. Raises a `FootplateError` where trying again cannot help."""
        trouble = 0
        while True:
            try:
                async with self._kind.open(self._service, self._settings) as bridge:
                    trouble = 0
                    log.info("the %s bridge runs as @%s", self._kind.label, bridge.kit.me.username)
                    await self._watch(bridge)
            except (BotUnreachable, RetryAfter) as problem:
                pause = min(2.0**trouble, LONGEST_PAUSE_S)
                trouble = min(trouble + 1, 10)
                log.warning("the %s bridge cannot be opened (again in %g s): %s", self._kind.label, pause, problem)
                await asyncio.sleep(pause)

    async def _watch(self, bridge: Bridge) -> None:
        """Follow the settings; return when they ask for another bot."""
        while True:
            done, _ = await asyncio.wait((bridge.poller,), timeout=LOOK_S)
            if done:
                await bridge.poller
            fresh = await self._changed(bridge)
            if fresh is not None and fresh != self._settings:
                before, self._settings = self._settings, fresh
                if self._kind.identity(before) != self._kind.identity(fresh):
                    return
                await bridge.use(fresh)
                log.info("the %s bridge goes on with the new settings", self._kind.label)

    async def _changed(self, bridge: Bridge) -> Settings | None:
        """The settings if their file has changed and can be used; one that cannot is told, once."""
        stamp = await asyncio.to_thread(self._look_at_file)
        if stamp == self._stamp:
            return None
        self._stamp = stamp
        try:
            fresh = await asyncio.to_thread(load_settings, self._environ)
            self._kind.check(fresh)
        except ConfigError as problem:
            await self._complain(bridge, str(problem))
            return None
        return fresh

    def _look_at_file(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return (found.st_mtime_ns, found.st_size)

    async def _complain(self, bridge: Bridge, problem: str) -> None:
        """Settings that cannot be used are told; those before stay in force."""
        log.warning("the settings of before stay in force: %s", problem)
        chat = bridge.kit.settings.chat_id
        if chat is not None:
            words = f"the new settings cannot be used, those before stay in force: {problem}"
            await bridge.kit.say(f"settings-{new_ulid()}", Place(chat=chat), words)
