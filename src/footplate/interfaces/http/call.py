"""One call as a handler sees it: who calls, the decoded query and body, the services behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Annotated, Final, Literal, TypeVar, get_args, get_origin
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import Request
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from footplate.errors import BodyTooLarge, ClientTooSlow, InvalidValue, RequestError, UnsupportedMedia, WrongShape
from footplate.events.ids import SessionId
from footplate.interfaces.http.api import Api
from footplate.interfaces.http.guard import header
from footplate.interfaces.http.routing import JSON, Found
from footplate.interfaces.http.wire import HANGUP
from footplate.runtime.access import Grant
from footplate.runtime.audit import LOCAL, Act, Principal, claimed_surface
from footplate.runtime.session import Session

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)
MB = 1024 * 1024
PLAIN: Final = {"`int`": "a whole number", "`float`": "a number", "`bool`": "true or false"}
"""The types of a query in words."""
LARGEST: Final = 2**63 - 1
"""The largest number in a query: those of events, lines and records have 64 bits with their sign."""
SURFACE: Final = "api"
SURFACE_HEADER: Final = b"x-footplate-surface"


def origin_of(scope: Scope) -> str:
    """Where a call comes from: the address of the peer, which is a proxy where one stands before the server."""
    client = scope.get("client")
    return str(client[0]) if client and client[0] else LOCAL


def surface_of(scope: Scope) -> str:
    """What the caller says that it is: the page, a terminal, a program."""
    return claimed_surface(header(scope, SURFACE_HEADER), SURFACE)


class Gone(Exception):
    """The caller hung up: nobody is there to be told anything."""


def principal_of(scope: Scope, grant: Grant) -> Principal:
    """Who calls, by which surface, from where."""
    return Principal(by=grant.name, surface=surface_of(scope), origin=origin_of(scope), token=grant.token)


class Call:
    """What a handler gets. `api` holds the services, `grant` what the caller may do, `params` the path's parts."""

    def __init__(self, api: Api, found: Found, grant: Grant, scope: Scope, receive: Receive, send: Send) -> None:
        self.api = api
        self.grant = grant
        self.route = found.route
        self.params = found.params
        self._scope = scope
        self._receive = receive
        self._send = send

    @property
    def request(self) -> Request:
        """Starlette's view of the call, for headers and the like."""
        return Request(self._scope, self._receive, self._send)

    @property
    def socket(self) -> WebSocket:
        """Starlette's view of a WebSocket's call; the handler accepts it."""
        return WebSocket(self._scope, self._receive, self._send)

    @property
    def hangup(self) -> asyncio.Future[None]:
        """Done when the caller has hung up. It belongs to the connection: nobody cancels it."""
        found: asyncio.Future[None] = self._scope["extensions"][HANGUP]
        return found

    @contextmanager
    def while_connected(self) -> Iterator[None]:
        """Cancel what the block waits for when the caller hangs up. Raises `Gone` then."""
        task, inside = asyncio.current_task(), True

        def leave(_: object) -> None:
            if inside and task is not None:
                task.cancel()

        self.hangup.add_done_callback(leave)
        try:
            yield
        except asyncio.CancelledError:
            if self.hangup.done() and task is not None and task.uncancel() == 0:
                raise Gone from None
            raise
        finally:
            inside = False
            self.hangup.remove_done_callback(leave)

    def at_end(self, end: Callable[[], None]) -> Callable[[], None]:
        """Have this called when what the caller follows must end: the server stops, or the caller's token is no more.

        Returns what takes the wish back.
        """
        stopping = self.api.at_stop(end)
        revoking = self.api.access.at_end(self.grant.token, end)

        def forget() -> None:
            stopping()
            revoking()

        return forget

    def header(self, name: str) -> str:
        """A header's value; empty when it was not sent."""
        return header(self._scope, name.lower().encode("latin-1"))

    # --------------------------------------------------------------------------------------------- audit

    @property
    def origin(self) -> str:
        """Where the call comes from: the address of the peer."""
        return origin_of(self._scope)

    @property
    def principal(self) -> Principal:
        """Who calls, by which surface, from where."""
        return principal_of(self._scope, self.grant)

    @property
    def surface(self) -> str:
        """What the caller says that it is: the page, a terminal, a program."""
        return surface_of(self._scope)

    async def record(self, act: Act, *, session: str = "", target: str = "", **detail: object) -> None:
        """Write the act that follows to the audit log. Raises `StoreError`: then it must not take place."""
        await self.api.services.audit.record(act, self.principal, session=session, target=target, detail=detail)

    # ------------------------------------------------------------------------------------------ sessions

    async def session(self) -> Session:
        """The session that the path names. Raises `UnknownSession`, or `PermissionDenied` when it is out of reach."""
        return await self.reach(SessionId(self.params["session"]))

    async def reach(self, name: SessionId) -> Session:
        """A session by its id, if the caller reaches it."""
        live = await self.api.hub.get(name)
        self.grant.require_session(live.id, live.spec.cwd)
        return live

    # ------------------------------------------------------------------------------------------ decoding

    def read_query(self, shape: type[S]) -> S:
        """The query as the struct. Raises `InvalidValue` (400)."""
        return decode_query(self._scope["query_string"], shape)

    async def read_body(self, shape: type[T]) -> T:
        """The JSON body as the struct. Raises 415 for another content type, 400 for no JSON, 422 for another shape."""
        given = self.header("content-type")
        if given.partition(";")[0].strip().lower() != JSON:
            raise UnsupportedMedia(given, JSON)
        return decode_json(await self.read_bytes(self.api.settings.http.json_limit_mb * MB), shape)

    async def read_bytes(self, limit: int) -> bytes:
        """The whole body, if it is no larger than the limit. Raises `BodyTooLarge`."""
        declared = self.header("content-length")
        if declared.isdecimal() and int(declared) > limit:
            raise BodyTooLarge(limit)
        pieces: list[bytes] = []
        size = 0
        async for piece in self.stream():
            size += len(piece)
            if size > limit:
                raise BodyTooLarge(limit)
            pieces.append(piece)
        return b"".join(pieces)

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """The body as it comes, without a limit. Raises `ClientTooSlow` when it stands still, `Gone` on a hang-up."""
        patience = self.api.settings.http.body_timeout_s
        while True:
            try:
                async with asyncio.timeout(patience):
                    message = await self._receive()
            except TimeoutError:
                raise ClientTooSlow(f"nothing of the body came for {patience:g} s; send it again") from None
            if message["type"] == "http.disconnect":
                raise Gone
            if message.get("body"):
                yield message["body"]
            if not message.get("more_body"):
                return


def decode_json(raw: bytes, shape: type[T]) -> T:
    """The JSON as the struct: no JSON is 400, another shape 422. Parts that the struct leaves raw are UTF-8 as well."""
    try:
        if not raw.isascii():
            raw.decode()
        return msgspec.json.decode(raw, type=shape)
    except msgspec.ValidationError as problem:
        raise WrongShape(str(problem)) from problem
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise RequestError(f"the body is not JSON: {problem}") from problem


def decode_query(raw: bytes, shape: type[S]) -> S:
    """The query as the struct; a field that is a tuple takes every value of its name, any other the last.

    Raises `InvalidValue`, which names the parameter.
    """
    many = _fields(shape)
    given: dict[str, object] = {}
    for name, value in parse_qsl(raw.decode("latin-1"), keep_blank_values=True):
        if many.get(name):
            values = given.setdefault(name, [])
            if isinstance(values, list):
                values.append(value)
        elif name in many:
            given[name] = value
    try:
        query = msgspec.convert(given, shape, strict=False)
    except msgspec.ValidationError as problem:
        raise _refusal(shape, given, str(problem)) from problem
    for field, name in zip(query.__struct_fields__, query.__struct_encode_fields__, strict=True):
        value = getattr(query, field)
        if type(value) is int and value > LARGEST:
            raise InvalidValue(name, given[name], f"a whole number <= {LARGEST}")
    return query


def _refusal(shape: type[msgspec.Struct], given: Mapping[str, object], reason: str) -> InvalidValue:
    """The error for what msgspec says of a query: which parameter, its value, and what is expected."""
    what, _, place = reason.partition(" - at `$.")
    name = place.partition("`")[0].partition("[")[0]
    if name not in given:
        return InvalidValue("query", _shown(given), reason)
    if "out of range" in what:  # a number of thousands of digits
        return InvalidValue(name, given[name], f"a whole number <= {LARGEST}")
    kind = next(field.type for field in msgspec.structs.fields(shape) if field.encode_name == name)
    if choices := _choices(kind):
        return InvalidValue(name, given[name], f"one of {', '.join(choices)}")
    what = what.removeprefix("Expected ").partition(", got ")[0].replace(" | null", "")
    for word, plain in PLAIN.items():
        what = what.replace(word, plain)
    return InvalidValue(name, given[name], what)


def _choices(kind: object) -> tuple[str, ...]:
    """The words that a type allows, if it lists them."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(choice for part in get_args(kind) for choice in _choices(part))


@cache
def _fields(shape: type[msgspec.Struct]) -> Mapping[str, bool]:
    """The names of its fields, and whether each takes many values. To look them up costs more than to decode."""
    return {field.encode_name: _takes_many(field.type) for field in msgspec.structs.fields(shape)}


def _takes_many(kind: object) -> bool:
    if get_origin(kind) is Annotated:
        return _takes_many(get_args(kind)[0])
    return get_origin(kind) in (tuple, list)


def _shown(given: Mapping[str, object]) -> str:
    return "&".join(f"{name}={value}" for name, value in given.items())
