"""Bridges beside a server of the same process. Costs nothing where none is set up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from footplate.config.settings import Settings
from footplate.errors import FootplateError
from footplate.runtime.service import Service
from footplate.tasks import spawn

if TYPE_CHECKING:
    from footplate.chat.running import Kind

log = logging.getLogger(__name__)


@asynccontextmanager
async def transports_beside_server(
    service: Service, settings: Settings, environ: Mapping[str, str]
) -> AsyncIterator[str]:
    """The bridges of `[transports]` for as long as the block lasts. Yields what to tell.

    Raises `ConfigError` for settings that cannot work.
    """
    names = [name for name, section in settings.transports.items() if section.enabled]
    if not names:
        yield ""
        return
    from footplate.chat.plugins import PluginKind  # noqa: PLC0415  (only where one is set up)

    kinds = [PluginKind(name) for name in names]
    for kind in kinds:
        kind.check(settings)
    async with keep_bridges(kinds, service, settings, environ):
        yield "\n".join(f"{name:<9} the bridge runs beside the server" for name in names)


@asynccontextmanager
async def keep_bridges(
    kinds: Sequence[Kind], service: Service, settings: Settings, environ: Mapping[str, str]
) -> AsyncIterator[None]:
    """Keep these bridges running for as long as the block lasts: what becomes of them is in the log."""
    tasks = [spawn(_report(kind, service, settings, environ), name=f"{kind.label} bridge") for kind in kinds]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _report(kind: Kind, service: Service, settings: Settings, environ: Mapping[str, str]) -> None:
    from footplate.chat.running import Keeping  # noqa: PLC0415  (only where one is set up)

    try:
        await Keeping(kind, service, settings, environ).run()
    except FootplateError as problem:
        log.error("the %s bridge has stopped: %s", kind.label, problem)  # noqa: TRY400 - a known problem
