"""Who is let in: the name by which we are called, the page that calls, the token. Pure checks over one ASGI scope.

Host: bound to loopback, only loopback names (and those the operator listed) are ours, so a page cannot reach us under
a name of its own (DNS rebinding); bound elsewhere any name is, unless the operator listed some. Origin: a page's call
is taken from our own address and from listed origins only, with or without a token. Nothing here reads a cookie.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from typing import Final
from urllib.parse import parse_qsl

import msgspec
from starlette.types import Scope

from footplate.errors import PermissionDenied, RequestError
from footplate.interfaces.http.routing import SOCKET, Route
from footplate.runtime.access import OPEN, Access, Grant

LOOPBACK_NAMES: Final = ("localhost", "localhost.localdomain")
VARY: Final = (b"vary", b"origin, access-control-request-method, access-control-request-headers")
Headers = list[tuple[bytes, bytes]]


class Cors(msgspec.Struct, frozen=True, kw_only=True):
    """Which pages of elsewhere may call, and how. Without an origin none may."""

    origins: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    credentials: bool = False


class Doors(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator decided about who is let in."""

    host: str = "127.0.0.1"
    allowed_hosts: tuple[str, ...] = ()
    cors: Cors = Cors()


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Whether the name or address can only mean this machine."""
    name = host.lower().removesuffix(".")
    if name in LOOPBACK_NAMES or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


class Guard:
    """The checks before any handler runs."""

    def __init__(self, doors: Doors, access: Access) -> None:
        self._doors = doors
        self._access = access
        self._any_host = not doors.allowed_hosts and not is_loopback(doors.host)
        self._hosts = frozenset(host.lower() for host in doors.allowed_hosts)
        self._only_loopback = is_loopback(doors.host)

    def check(self, scope: Scope) -> Headers:
        """The headers that every answer to this call gets. Raises `PermissionDenied` for a foreign name or page."""
        host = header(scope, b"host")
        self._check_host(host)
        origin = header(scope, b"origin")
        if origin and not self._is_listed(origin) and not _same_origin(origin, host):
            raise PermissionDenied(
                f"pages of {origin!r} may not call this server; list the origin (--cors-allow-origin) if they should"
            )
        return self._cors_headers(origin)

    def preflight(self, scope: Scope) -> Headers:
        """What a page is told that asks before it calls."""
        cors = self._doors.cors
        return [
            *self.check(scope),
            (b"access-control-allow-methods", ",".join(cors.methods or ("*",)).encode("latin-1")),
            (b"access-control-allow-headers", ",".join(cors.headers or ("*", "authorization")).encode("latin-1")),
            (b"access-control-max-age", b"600"),
        ]

    def admit(self, scope: Scope, route: Route) -> Grant:
        """What the caller may do, whether or not it is enough for the route. Raises `TokenInvalid`."""
        return OPEN if route.scope is None else self._access.authenticate(_token(scope, route))

    def _check_host(self, host: str) -> None:
        if self._any_host:
            return
        name = _hostname(host)
        if not name:
            raise RequestError("the Host header is missing; HTTP/1.1 wants one")
        if name in self._hosts or (self._only_loopback and is_loopback(name)):
            return
        raise PermissionDenied(
            f"this server is not called {name!r}; add the name to allowed_hosts in [http] if it should be"
        )

    def _is_listed(self, origin: str) -> bool:
        return origin in self._doors.cors.origins or "*" in self._doors.cors.origins

    def _cors_headers(self, origin: str) -> Headers:
        headers: Headers = [VARY]
        if origin and self._is_listed(origin):
            headers.append((b"access-control-allow-origin", origin.encode("latin-1")))
            headers.append((b"access-control-expose-headers", b"*"))
            if self._doors.cors.credentials:
                headers.append((b"access-control-allow-credentials", b"true"))
        return headers


def header(scope: Scope, name: bytes) -> str:
    """The header's value; empty when it was not sent."""
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


def _token(scope: Scope, route: Route) -> str:
    scheme, _, token = header(scope, b"authorization").partition(" ")
    if scheme == "Bearer" and token:
        return token
    if route.method == SOCKET:
        return next((value for name, value in parse_qsl(scope["query_string"].decode("latin-1")) if name == QUERY), "")
    return ""


QUERY: Final = "access_token"


def _hostname(host: str) -> str:
    """The name in a Host header, without its port, in lower case."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()


def _same_origin(origin: str, host: str) -> bool:
    """Whether a page was loaded from the very address that it calls. A proxy before us may speak TLS: names decide."""
    scheme, mark, place = origin.partition("://")
    return bool(mark) and scheme in ("http", "https") and _plain(place) == _plain(host)


def _plain(place: str) -> str:
    lower = place.lower()
    return lower.removesuffix(":80").removesuffix(":443")
