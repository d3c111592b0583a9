"""Routes as values: each says who may call it, what it takes and what it answers; and the table that finds them.

A resource module holds one `Routes` and declares its handlers on it. The types of a handler's `query` and `body`
parameters are read from its annotations: what is decoded and what OpenAPI says cannot differ.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, TypeVar, get_type_hints
from urllib.parse import unquote

import msgspec

from footplate.errors import EndpointUnknown, MethodNotAllowed
from footplate.runtime.access import Scope

Handler = Callable[..., Awaitable[object]]
H = TypeVar("H", bound=Handler)

SOCKET: Final = "WS"
"""The method under which a WebSocket stands in the table."""

REST: Final = "..."
"""A path's last part `{rest...}` takes everything that follows."""

JSON: Final = "application/json"


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path. `scope` None: no token is asked for."""

    method: str
    path: str
    handler: Handler
    scope: Scope | None
    summary: str
    tag: str
    status: int = 200
    answer: object = None
    """The type of the JSON that it answers; None where it answers nothing, or something else (`media`)."""

    media: str = JSON
    takes: str = JSON
    """The content type of a body that the handler reads by itself; matters for documents only."""

    also: tuple[int, ...] = ()
    """Other statuses of success, which have no body."""

    problems: tuple[int, ...] = ()
    """The refusals of its own, beside those that every route has."""

    query: type[msgspec.Struct] | None = None
    body: type | None = None
    raw_body: bool = False
    listed: bool = True
    """Whether OpenAPI shows it."""


class Routes:
    """The routes of one resource, in the order of their declaration."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.all: list[Route] = []

    def add(self, method: str, path: str, *, scope: Scope | None, summary: str, **facts: object) -> Callable[[H], H]:
        """Declare the function as the handler; `facts` are the other fields of `Route`."""

        def declare(handler: H) -> H:
            kinds = get_type_hints(handler)
            given = {name: kinds[name] for name in ("query", "body") if name in kinds}
            route = Route(
                method=method,
                path=path,
                handler=handler,
                scope=scope,
                summary=summary,
                tag=self.tag,
                **given,
                **facts,  # type: ignore[arg-type]
            )
            self.all.append(route)
            return handler

        return declare

    def get(self, path: str, *, scope: Scope | None, summary: str, **facts: object) -> Callable[[H], H]:
        """A route that reads."""
        return self.add("GET", path, scope=scope, summary=summary, **facts)

    def post(self, path: str, *, scope: Scope | None, summary: str, **facts: object) -> Callable[[H], H]:
        """A route that does something."""
        return self.add("POST", path, scope=scope, summary=summary, **facts)

    def put(self, path: str, *, scope: Scope | None, summary: str, **facts: object) -> Callable[[H], H]:
        """A route that sets something."""
        return self.add("PUT", path, scope=scope, summary=summary, **facts)

    def delete(self, path: str, *, scope: Scope | None, summary: str, **facts: object) -> Callable[[H], H]:
        """A route that removes something; it answers 204 unless it says otherwise."""
        return self.add("DELETE", path, scope=scope, summary=summary, **{"status": 204, **facts})

    def socket(self, path: str, *, scope: Scope | None, summary: str, **facts: object) -> Callable[[H], H]:
        """A WebSocket; its token may stand in the query (`?access_token=`)."""
        return self.add(SOCKET, path, scope=scope, summary=summary, **{"status": 101, **facts})


class Found(msgspec.Struct, frozen=True):
    """A route and what the variable parts of its path were."""

    route: Route
    params: Mapping[str, str]


class _Node:
    def __init__(self) -> None:
        self.fixed: dict[str, _Node] = {}
        self.variable: _Node | None = None
        self.rest: _Node | None = None
        self.routes: dict[str, tuple[Route, tuple[str, ...]]] = {}


class RouteTable:
    """Finds routes by path in as many steps as the path has parts."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = tuple(routes)
        self._root = _Node()
        for route in self.routes:
            self._add(route)

    def _add(self, route: Route) -> None:
        node, names = self._root, []
        for part in route.path.split("/")[1:]:
            if part.endswith(REST + "}"):
                names.append(part[1 : -len(REST) - 1])
                node.rest = node = node.rest or _Node()
            elif part.startswith("{"):
                names.append(part[1:-1])
                node.variable = node = node.variable or _Node()
            else:
                node = node.fixed.setdefault(part, _Node())
        if route.method in node.routes:
            raise ValueError(f"two routes for {route.method} {route.path}")
        node.routes[route.method] = (route, tuple(names))

    def find(self, method: str, raw_path: bytes) -> Found:
        """The route for this call. Raises `EndpointUnknown` or `MethodNotAllowed`."""
        parts = [unquote(part) for part in raw_path.decode("latin-1").split("/")[1:]]
        found = _walk(self._root, parts, 0, ())
        if found is None:
            raise EndpointUnknown
        node, values = found
        hit = node.routes.get(method) or (node.routes.get("GET") if method == "HEAD" else None)
        if hit is None:
            raise MethodNotAllowed("WebSocket" if method == SOCKET else method, allowed(node.routes))
        return Found(hit[0], dict(zip(hit[1], values, strict=True)))

    def methods(self, raw_path: bytes) -> tuple[str, ...]:
        """What may be done at this path. Raises `EndpointUnknown`."""
        parts = [unquote(part) for part in raw_path.decode("latin-1").split("/")[1:]]
        found = _walk(self._root, parts, 0, ())
        if found is None:
            raise EndpointUnknown
        return allowed(found[0].routes)


def allowed(methods: Iterable[str]) -> tuple[str, ...]:
    """The methods as the `Allow` header names them."""
    names = {"GET" if method == SOCKET else method for method in methods}
    return tuple(sorted(names | ({"HEAD"} if "GET" in names else set())))


def _walk(node: _Node, parts: list[str], at: int, values: tuple[str, ...]) -> tuple[_Node, tuple[str, ...]] | None:
    if at == len(parts):
        return (node, values) if node.routes else None
    part = parts[at]
    if part in node.fixed:
        found = _walk(node.fixed[part], parts, at + 1, values)
        if found is not None:
            return found
    if node.variable is not None and part:
        found = _walk(node.variable, parts, at + 1, (*values, part))
        if found is not None:
            return found
    if node.rest is not None:
        return node.rest, (*values, "/".join(parts[at:]))
    return None
