"""The server about itself: what it is, its numbers for Prometheus, its API as OpenAPI, a closer look at it."""

from __future__ import annotations

import os
import sys
import time
from typing import Final

import msgspec
from starlette.responses import Response

from footplate.interfaces.http.call import Call
from footplate.interfaces.http.openapi import render_openapi
from footplate.interfaces.http.root import Check, look_closely
from footplate.interfaces.http.routing import JSON, Routes
from footplate.runtime.access import Scope
from footplate.version import __version__

routes = Routes("server")
METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"


class Info(msgspec.Struct, frozen=True, kw_only=True):
    """What this server is, and what the caller may do."""

    name: str
    version: str
    python: str
    started_at: float
    data: str
    default_engine: str
    root: bool
    token: str
    scopes: tuple[Scope, ...]


@routes.get("/api/info", scope="read", summary="What this server is, and what you may do", answer=Info)
async def info(call: Call) -> Info:
    return Info(
        name="Footplate",
        version=__version__,
        python=sys.version.split()[0],
        started_at=call.api.started_at,
        data=str(call.api.data),
        default_engine=call.api.settings.default_engine,
        root=os.geteuid() == 0,
        token=call.grant.name,
        scopes=tuple(sorted(call.grant.scopes)),
    )


class Doctor(msgspec.Struct, frozen=True, kw_only=True):
    """What was tried, and what came of it."""

    ok: bool
    checks: tuple[Check, ...]
    store_problems: tuple[str, ...]
    uptime_s: float


@routes.get("/api/doctor", scope="admin", summary="Look closely at everything, the whole store too", answer=Doctor)
async def doctor(call: Call) -> Doctor:
    checks = await look_closely(call.api)
    problems = await call.api.store.check()
    return Doctor(
        ok=all(check.ok for check in checks) and not problems,
        checks=checks,
        store_problems=problems,
        uptime_s=round(time.time() - call.api.started_at, 1),
    )


@routes.get("/metrics", scope="read", summary="Numbers for Prometheus", media=METRICS)
async def metrics(call: Call) -> Response:
    from footplate.interfaces.http.metrics import render_metrics  # noqa: PLC0415 - a tenth of the start-up's imports

    return Response(await render_metrics(call.api), media_type=METRICS)


@routes.get("/openapi.json", scope=None, summary="This API as OpenAPI 3.1", media=JSON)
async def openapi(call: Call) -> Response:
    return Response(render_openapi(call.api.routes), media_type=JSON)
