"""Opening a chat: own the data folder, or join the process that owns it; then find or make the session."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Literal

import msgspec

from footplate.config.places import data_folder
from footplate.config.settings import Settings
from footplate.errors import InvalidValue, UnknownSession
from footplate.events.ids import SessionId
from footplate.runtime.backend import ChatBackend
from footplate.runtime.limits import Limits
from footplate.runtime.link import SOCKET_NAME
from footplate.runtime.link_client import LinkBackend
from footplate.runtime.run import RunRequest, choose_engine
from footplate.runtime.service import open_service
from footplate.runtime.spec import SessionSpec
from footplate.runtime.tenancy import open_doors, own_or_join


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a person asked for on the command line."""

    session: str = ""
    engine: str = ""
    model: str = ""
    mode: str = ""
    effort: str = ""
    cwd: str = ""
    resume: str = ""
    max_budget: float | None = None
    max_turns: int | None = None
    on_limit: Literal["stop", "ask"] = "stop"

    def limits(self) -> Limits:
        """What the session may use. Raises `InvalidValue`."""
        for name, value in (("max-budget", self.max_budget), ("max-turns", self.max_turns)):
            if value is not None and not value > 0:
                raise InvalidValue(name, value, "a number greater than 0")
        return Limits(cost_usd=self.max_budget, turns=self.max_turns, on_reached=self.on_limit)


@asynccontextmanager
async def open_backend(environ: Mapping[str, str], settings: Settings) -> AsyncIterator[ChatBackend]:
    """The sessions of the data folder: ours when it is free (and served to others), else those of its owner."""
    async with AsyncExitStack() as stack:

        async def own() -> ChatBackend:
            service = await stack.enter_async_context(open_service(environ, settings))
            return await stack.enter_async_context(open_doors(service, "chat"))

        async def join() -> ChatBackend:
            return await stack.enter_async_context(LinkBackend.open(data_folder(environ) / SOCKET_NAME))

        yield await own_or_join(own, join)


async def choose_session(backend: ChatBackend, wanted: Wanted, settings: Settings) -> SessionId:
    """The session that is meant: by its id (or enough of it), by what it resumes, or a new one."""
    if wanted.session:
        return await _find(backend, wanted.session)
    engine, token = choose_engine(RunRequest(prompt="-", engine=wanted.engine, resume=wanted.resume), settings)
    if token is not None:
        known = await backend.find(token.value)
        if known is not None:
            return known
    cwd = os.path.abspath(wanted.cwd or ".")  # noqa: PTH100, ASYNC240 - asks no disk
    spec = SessionSpec(
        engine=engine.name,
        cwd=cwd,
        model=wanted.model,
        mode=wanted.mode,
        effort=wanted.effort,
        limits=wanted.limits(),
    )
    return await backend.create(spec, resume=token)


WHOLE_ID = 26
"""How long a session's id is: one that is given whole is not looked up among the latest."""


async def _find(backend: ChatBackend, text: str) -> SessionId:
    if len(text) == WHOLE_ID and text.isalnum():
        return SessionId(text.upper())
    rows = await backend.sessions()
    found = [row.session for row in rows if text in (row.session, row.title)] or [
        row.session for row in rows if row.session.startswith(text.upper()) or row.session.endswith(text.upper())
    ]
    if len(found) > 1:
        raise InvalidValue("session", text, f"one session; it fits {', '.join(found[:5])}")
    if not found:
        raise UnknownSession(text)
    return found[0]
