"""The root, and whether the server is well."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable
from typing import Final, Literal

import msgspec
from starlette.responses import Response

from footplate.errors import FootplateError
from footplate.events.wording import format_size
from footplate.interfaces.http.api import Api
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import JSON, Routes
from footplate.runtime.shell import run_shell
from footplate.version import __version__

routes = Routes("server")
DEADLINE_S: Final = 10.0
ENOUGH_BYTES: Final = 50 * 1024 * 1024


class Welcome(msgspec.Struct, frozen=True, kw_only=True):
    """What this is."""

    name: str
    version: str
    docs: str


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was tried."""

    name: str
    ok: bool
    detail: str
    ms: float


class Health(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether the server is well; `checks` when it was asked to look closely, or what is wrong."""

    status: Literal["ok", "failing"]
    checks: tuple[Check, ...] = ()


class HealthQuery(msgspec.Struct, frozen=True, kw_only=True):
    """`deep`: write to the store, look for damage in it for a second, start a process, look at the disk."""

    deep: bool = False


@routes.get("/", scope=None, summary="What this is", answer=Welcome)
async def welcome(call: Call) -> Welcome:
    return Welcome(name="Footplate", version=__version__, docs="/openapi.json")


@routes.get(
    "/v1/health",
    scope="read",
    summary="Whether the server is well: 503 while nothing can be stored; `deep=1` tries all that it needs",
    answer=Health,
    problems=(503,),
)
async def health(call: Call, query: HealthQuery) -> Health | Response:
    checks = await look_closely(call.api) if query.deep else _known_problems(call.api)
    if all(check.ok for check in checks):
        return Health(status="ok", checks=checks)
    return Response(msgspec.json.encode(Health(status="failing", checks=checks)), 503, media_type=JSON)


def _known_problems(api: Api) -> tuple[Check, ...]:
    """What is known to be wrong without a look at anything."""
    failed = api.store.failed
    return () if failed is None else (Check(name="store", ok=False, detail=str(failed), ms=0.0),)


async def look_closely(api: Api) -> tuple[Check, ...]:
    """Try what the server needs, each with a deadline."""
    tried: tuple[tuple[str, Callable[[Api], Awaitable[str]]], ...] = (
        ("store", _store),
        ("keeper", _keeper),
        ("disk", _disk),
    )
    return tuple(await asyncio.gather(*(_try(api, name, check) for name, check in tried)))


async def _try(api: Api, name: str, check: Callable[[Api], Awaitable[str]]) -> Check:
    began = time.monotonic()
    try:
        async with asyncio.timeout(DEADLINE_S):
            problem, detail = "", await check(api)
    except TimeoutError:
        problem, detail = "slow", f"no answer within {DEADLINE_S:g} s"
    except (FootplateError, OSError) as error:
        problem, detail = "failed", str(error)
    return Check(name=name, ok=not problem, detail=detail, ms=round((time.monotonic() - began) * 1000, 1))


async def _store(api: Api) -> str:
    await api.store.probe()
    return "written and read"


async def _keeper(api: Api) -> str:
    ran = await run_shell(api.services.keeper, "true", cwd="/", environ=api.services.environ)
    if ran.exit_code != 0:
        raise OSError(f"`true` ended with {ran.exit_code}")
    return "started a process"


async def _disk(api: Api) -> str:
    place = next(folder for folder in (api.data, *api.data.parents) if folder.exists())
    free = (await asyncio.to_thread(shutil.disk_usage, place)).free
    if free < ENOUGH_BYTES:
        raise OSError(f"{format_size(free)} are free in {place}; that is little")
    return f"{format_size(free)} are free"
