"""The Telegram bridge beside a server of the same process. Costs nothing where there is no token."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from footplate.config.settings import Settings
from footplate.runtime.service import Service


@asynccontextmanager
async def beside_server(service: Service, settings: Settings, environ: Mapping[str, str]) -> AsyncIterator[str]:
    """The bridge for as long as the block lasts. Yields what to tell; raises `ConfigError` for what cannot work."""
    if not settings.telegram.bot_token:
        yield ""
        return
    from footplate.chat.beside import keep_bridges  # noqa: PLC0415  (only with a token)
    from footplate.interfaces.telegram.opening import TelegramKind  # noqa: PLC0415

    kind = TelegramKind()
    kind.check(settings)
    async with keep_bridges((kind,), service, settings, environ):
        yield "telegram  the bridge runs beside the server"
