"""The root, and whether the server is well."""

from __future__ import annotations

from typing import Literal

import msgspec

from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import Routes
from footplate.version import __version__

routes = Routes("server")


class Welcome(msgspec.Struct, frozen=True, kw_only=True):
    """What this is."""

    name: str
    version: str
    docs: str


class Health(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether the server is well; `checks` when it was asked to look closely."""

    status: Literal["ok", "failing"]


@routes.get("/", scope=None, summary="What this is", answer=Welcome)
async def welcome(call: Call) -> Welcome:
    return Welcome(name="Footplate", version=__version__, docs="/openapi.json")


@routes.get("/v1/health", scope="read", summary="Whether the server is well", answer=Health)
async def health(call: Call) -> Health:
    return Health(status="ok")
