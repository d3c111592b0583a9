"""The bridge beside a server of the same process. Costs nothing where there is no token."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from footplate.config.settings import Settings
from footplate.errors import FootplateError
from footplate.runtime.service import Service

if TYPE_CHECKING:
    from footplate.interfaces.telegram.running import Keeping

log = logging.getLogger(__name__)


@asynccontextmanager
async def beside_server(service: Service, settings: Settings, environ: Mapping[str, str]) -> AsyncIterator[str]:
    """The bridge for as long as the block lasts: what becomes of it is in the log. Yields what to tell.

    Raises `ConfigError` for settings that cannot work.
    """
    if not settings.telegram.bot_token:
        yield ""
        return
    from footplate.interfaces.telegram.bridge import check_settings  # noqa: PLC0415  (only with a token)
    from footplate.interfaces.telegram.running import Keeping  # noqa: PLC0415

    check_settings(settings.telegram)
    task = asyncio.create_task(_report(Keeping(service, settings, environ)), name="telegram bridge")
    try:
        yield "telegram  the bridge runs beside the server"
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _report(work: Keeping) -> None:
    try:
        await work.run()
    except FootplateError as problem:
        log.error("the Telegram bridge has stopped: %s", problem)  # noqa: TRY400 - a known problem needs no traceback
