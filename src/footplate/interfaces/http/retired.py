"""Paths of the past, which say what to use, and surfaces that are switched off."""

from __future__ import annotations

from typing import Final, NoReturn

from footplate.errors import Retired, SwitchedOff
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import Routes

routes = Routes("retired")

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
PATHS: Final = {
    "/v1/sessions": "/api/sessions, or session/new and session/list over POST /v1/acp/{server_id}",
    "/v1/sessions/{rest...}": "/api/sessions/{session} and what lies below it, or POST /v1/acp/{server_id}",
    "/v1/agents/{agent}/modes": "GET /v1/agents/{agent}?config=true",
    "/v1/agents/{agent}/models": "GET /v1/agents/{agent}?config=true",
    "/v1/events": "GET /api/events, or GET /v1/acp/{server_id}",
}


async def gone(call: Call) -> NoReturn:
    raise Retired(f"this path is retired; use {PATHS[call.route.path]}")


async def off(call: Call) -> NoReturn:
    raise SwitchedOff(
        "the OpenCode-compatible surface does not exist yet; use /api/sessions or POST /v1/acp/{server_id}"
    )


for _method in METHODS:
    for _path in PATHS:
        routes.add(_method, _path, scope="read", summary="Retired", status=410, listed=False)(gone)
    for _path in ("/opencode", "/opencode/{rest...}"):
        routes.add(_method, _path, scope="read", summary="Switched off", status=503, listed=False)(off)
