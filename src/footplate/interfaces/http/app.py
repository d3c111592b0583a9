"""The application: guards, finds the route, decodes, calls the handler, encodes; every error leaves as a problem.

To add a resource, make a module beside this one:

    routes = Routes("things")

    class NewThing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
        name: str

    class ThingQuery(msgspec.Struct, frozen=True, kw_only=True):
        limit: Annotated[int, Meta(ge=1, le=1000)] = 100

    @routes.post("/v1/things/{room}", scope="drive", summary="Make a thing", status=201, answer=Thing, problems=(409,))
    async def make_thing(call: Call, body: NewThing) -> Thing:
        return await call.api.things.make(call.params["room"], body.name)

and name it in `RESOURCES` below. What a declaration carries:

- `scope`: what the caller's token must have (`read`, `answer`, `drive`, `files`, `admin`); None asks for no token.
- `summary`, `answer` (the type of its JSON), `status`, `problems` (statuses of refusals of its own): for OpenAPI, and
  `status` is what a returned value is answered with. 400, 401, 403 and, with a body, 413, 415, 422 need no mention.
- parameters of the handler named `query` and `body`, each with its struct as annotation: decoded before the call. A bad
  query is 400; a body of another content type 415, no JSON 400, another shape 422, too large 413.
- a handler that reads the body itself (files) says `raw_body=True, takes="application/octet-stream"` and uses
  `call.stream()` (no limit, chunk by chunk) or `await call.read_bytes(limit)`.

A handler returns a value (encoded as JSON; None is an empty answer), or an ASGI response: Starlette's, or an
`EventStream(call, feed)`. It raises `FootplateError`s and nothing else. What lives longer than a call is an
attribute of `Api`, opened in `open_api`. A handler of `routes.socket(...)` gets `call.socket`, accepts it and returns
None; what it raises before `accept` is a problem, too.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from importlib import import_module
from typing import Final

import msgspec
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from footplate.errors import FootplateError, TokenInvalid
from footplate.interfaces.http.api import Api
from footplate.interfaces.http.call import Call, Gone, origin_of, principal_of, surface_of
from footplate.interfaces.http.guard import Doors, Guard, Headers
from footplate.interfaces.http.problem import problem_response
from footplate.interfaces.http.request_log import log_call
from footplate.interfaces.http.routing import JSON, SOCKET, Found, Route, Routes, RouteTable
from footplate.interfaces.http.wire import ABORT
from footplate.runtime.access import Grant
from footplate.runtime.audit import Principal

RESOURCES: Final = (
    "root",
    "about",
    "sessions",
    "prompts",
    "session_facts",
    "frames",
    "session_events",
    "session_socket",
    "requests",
    "attention",
    "tokens",
    "audit",
    "history",
    "overview",
    "push",
    "projects",
    "agents",
    "catalog",
    "folder_config",
    "desktop",
    "retired",
    "files",
    "git",
    "processes",
    "terminals",
    "acp_servers",
    "acp_rpc",
    "acp_remote",
    "ui",
)
"""The modules of resources, each with its `routes`."""

log = logging.getLogger("footplate.http")
Answering = Callable[[Scope, Receive, Send], Awaitable[None]]


def all_routes(resources: Iterable[str] = RESOURCES) -> tuple[Route, ...]:
    """Every route of every resource."""
    found: list[Route] = []
    for name in resources:
        routes: Routes = import_module(f"footplate.interfaces.http.{name}").routes
        found += routes.all
    return tuple(found)


def build_app(api: Api, doors: Doors) -> App:
    """The application over these services."""
    api.routes = all_routes()
    return App(api, RouteTable(api.routes), Guard(doors, api.access))


class App:
    """The ASGI application."""

    def __init__(self, api: Api, table: RouteTable, guard: Guard) -> None:
        self._api = api
        self._table = table
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one call, or the beginning and end of the server."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        visit = _Visit(scope, receive, send)
        self._api.meters.running += 1
        try:
            await self._serve(visit)
        except Gone:
            visit.status = visit.status or 499
        finally:
            self._api.meters.running -= 1
            self._note(visit)

    async def _serve(self, visit: _Visit) -> None:
        try:
            visit.headers = self._guard.check(visit.scope)
            answering = await self._answer(visit)
        except FootplateError as error:
            answering = problem_response(error)
        except Gone:
            raise
        except WebSocketDisconnect as error:  # the caller hung up as we did
            raise Gone from error
        except Exception as error:
            log.exception("%s %s broke", visit.method, visit.scope["path"])
            answering = problem_response(error)
        if answering is not None and not visit.accepted:
            await self._write(visit, answering)
        elif answering is not None:
            await visit.close_socket()

    async def _write(self, visit: _Visit, answering: Answering) -> None:
        """Write the answer. What breaks once it has begun can only be cut off, and is told to the log."""
        try:
            await answering(visit.scope, visit.receive, visit.send)
        except Gone:
            raise
        except ConnectionError as error:
            raise Gone from error
        except Exception as error:
            log.exception("%s %s broke while it was answered", visit.method, visit.scope["path"])
            if not visit.status:
                await problem_response(error)(visit.scope, visit.receive, visit.send)
            elif ABORT in visit.scope.get("extensions", {}):
                visit.scope["extensions"][ABORT]()

    async def _answer(self, visit: _Visit) -> Answering | None:
        path = visit.scope.get("raw_path") or visit.scope["path"].encode()
        if visit.method == "OPTIONS":
            allow = self._table.methods(path)
            visit.headers = self._guard.preflight(visit.scope)
            return Response(status_code=204, headers={"allow": ", ".join(allow)})
        found = self._table.find(visit.method, path)
        visit.route = found.route
        visit.grant = grant = await self._admit(visit, found.route)
        call = Call(self._api, found, grant, visit.scope, visit.receive, visit.send)
        return _encode(found.route, await _invoke(call, found))

    async def _admit(self, visit: _Visit, route: Route) -> Grant:
        """What the caller may do. Logins, and calls without a valid token, are recorded."""
        origin = origin_of(visit.scope)
        try:
            grant = self._guard.admit(visit.scope, route)
        except TokenInvalid as problem:
            await self._api.logins.refuse(Principal(surface=surface_of(visit.scope), origin=origin), str(problem))
            raise
        if route.scope is not None and not self._api.logins.is_known(grant, origin):
            await self._api.logins.admit(grant, principal_of(visit.scope, grant))
        if route.scope is not None:
            grant.require(route.scope)
        return grant

    def _note(self, visit: _Visit) -> None:
        seconds = time.monotonic() - visit.began
        path = visit.route.path if visit.route is not None else "unknown"
        self._api.meters.served(visit.method, path, visit.status, seconds)
        log_call(visit.scope, status=visit.status, seconds=seconds, who=visit.grant.name if visit.grant else "")


async def _invoke(call: Call, found: Found) -> object:
    """Decode what the handler takes, then call it."""
    route = found.route
    taken: dict[str, object] = {}
    if route.query is not None:
        taken["query"] = call.read_query(route.query)
    if route.body is not None:
        taken["body"] = await call.read_body(route.body)
    return await route.handler(call, **taken)


def _encode(route: Route, value: object) -> Answering | None:
    """The handler's value as a response."""
    if callable(value):
        return value
    if route.method == SOCKET:
        return None
    if value is None:
        return Response(status_code=route.status)
    return Response(msgspec.json.encode(value), route.status, media_type=JSON)


class _Visit:
    """One call on its way: what is known of it so far, and what every answer to it gets."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.receive = receive
        self._send = send
        self.method: str = SOCKET if scope["type"] == "websocket" else scope["method"]
        self.headers: Headers = []
        self.began = time.monotonic()
        self.status = 0
        self.route: Route | None = None
        self.grant: Grant | None = None
        self.accepted = False

    async def send(self, message: Message) -> None:
        """Write; a response that begins gets our headers."""
        kind = message["type"]
        if kind.endswith("http.response.start"):
            self.status = message["status"]
            message = {**message, "headers": [*message.get("headers", ()), *self.headers]}
        elif kind == "websocket.accept":
            self.status, self.accepted = 101, True
        await self._send(message)

    async def close_socket(self) -> None:
        """A handler broke after it had accepted: the other end is told at least that."""
        await self._send({"type": "websocket.close", "code": 1011, "reason": "something of ours broke"})


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
