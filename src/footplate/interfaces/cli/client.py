"""Calls of the service that a command talks to: at a URL, on this machine, or in this very process.

`--url` (FOOTPLATE_URL) and `--token` (FOOTPLATE_TOKEN) name a server anywhere. Without them it is the one that runs on
the data folder, by its local socket; when none runs, the command runs one for itself for as long as it takes.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, cast

import click
import msgspec

from footplate.config.places import data_folder
from footplate.config.settings import Settings, load_settings
from footplate.engines.commands import with_agents
from footplate.errors import HostError, RequestError
from footplate.interfaces.cli.app import load_part
from footplate.interfaces.cli.failing import guarded_run
from footplate.runtime.private_socket import connect, short_address

if TYPE_CHECKING:
    import httpx
    from websockets.asyncio.client import ClientConnection

SOCKET_NAME: Final = "http.sock"
SURFACE: Final = {"x-footplate-surface": "cli"}
CONNECT_S: Final = 10.0

T = TypeVar("T")
S = TypeVar("S")
Query = Mapping[str, object]
Embedding = Callable[[Mapping[str, str], Settings], AbstractAsyncContextManager[Path]]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says when it refuses, as far as we look."""

    detail: str = ""
    title: str = ""


class Client:
    """One service. A refusal is raised as `RequestError`, anything else that fails as `HostError`."""

    def __init__(self, http: httpx.AsyncClient, *, address: str = "", embedded: bool = False) -> None:
        """`address` is its local socket, if it has one; `embedded`: what it has started ends with the command."""
        self._http = http
        self._address = address
        self.embedded = embedded

    async def get(self, path: str, shape: type[S], query: Query | None = None) -> S:
        """The answer as that shape."""
        return msgspec.json.decode(await self.send("GET", path, query=query), type=shape)

    async def post(self, path: str, shape: type[S], body: object, query: Query | None = None) -> S:
        """The answer to that body as that shape."""
        return msgspec.json.decode(await self.send("POST", path, query=query, body=body), type=shape)

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: object = None,
        raw: bytes | None = None,
        media: str = "application/octet-stream",
    ) -> bytes:
        """The answer as it came."""
        async with self._open(method, path, query, body, raw, media) as answer:
            return await answer.aread()

    async def lines(
        self, path: str, query: Query | None = None, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[str]:
        """An answer that does not end, line by line."""
        async with self._open("GET", path, query, headers=headers) as answer:
            async for line in answer.aiter_lines():
                yield line

    @asynccontextmanager
    async def socket(self, path: str) -> AsyncIterator[ClientConnection]:
        """A WebSocket, both ways."""
        from websockets.asyncio.client import connect as dial  # noqa: PLC0415
        from websockets.asyncio.client import unix_connect  # noqa: PLC0415
        from websockets.exceptions import ConnectionClosed, InvalidStatus  # noqa: PLC0415

        url = str(self._http.base_url.join(path)).replace("http", "ws", 1)
        headers = {name: self._http.headers[name] for name in ("authorization", *SURFACE) if name in self._http.headers}
        given = {"additional_headers": headers, "max_size": None, "open_timeout": CONNECT_S}
        try:
            opened = unix_connect(self._address, url, **given) if self._address else dial(url, proxy=None, **given)  # type: ignore[arg-type]
            async with opened as socket:
                yield socket
        except InvalidStatus as problem:
            raise _refusal(problem.response.status_code, bytes(problem.response.body)) from problem
        except (OSError, TimeoutError, ConnectionClosed) as problem:
            raise HostError(
                f"{self._http.base_url}: {str(problem) or type(problem).__name__}; is the server there?"
            ) from problem

    @asynccontextmanager
    async def _open(
        self,
        method: str,
        path: str,
        query: Query | None,
        body: object = None,
        raw: bytes | None = None,
        media: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[httpx.Response]:
        import httpx  # noqa: PLC0415  (only who calls pays for it)

        content = raw if raw is not None else msgspec.json.encode(body) if body is not None else None
        kind = {} if content is None else {"content-type": media if raw is not None else "application/json"}
        params = {name: value for name, value in (query or {}).items() if value not in (None, "", ())}
        try:
            async with self._http.stream(
                method,
                path,
                params=cast("dict[str, str]", params),
                content=content,
                headers={**kind, **(headers or {})},
            ) as answer:
                if answer.status_code >= 400:
                    raise _refusal(answer.status_code, await answer.aread())
                yield answer
        except httpx.HTTPError as problem:
            words = str(problem) or type(problem).__name__
            raise HostError(f"{self._http.base_url}: {words}; is the server there?") from problem


def _refusal(status: int, body: bytes) -> RequestError | HostError:
    """What the server says as an error of ours: what the caller can mend by its own name, where it has one."""
    from footplate.sdk.problems import error_of  # noqa: PLC0415  (only when something is wrong)

    named = error_of(status, body)
    if isinstance(named, RequestError) and status < 500:
        return named
    try:
        told = msgspec.json.decode(body, type=Problem)
    except msgspec.DecodeError:
        told = Problem(detail=body.decode("utf-8", "replace")[:500])
    words = told.detail or told.title or f"it answered {status}"
    return RequestError(words) if status < 500 else HostError(words)


@asynccontextmanager
async def open_client(url: str = "", token: str = "") -> AsyncIterator[Client]:
    """The service that is meant."""
    import httpx  # noqa: PLC0415

    environ = dict(os.environ)
    local = data_folder(environ) / SOCKET_NAME
    timeout = httpx.Timeout(None, connect=CONNECT_S)
    async with AsyncExitStack() as stack:
        address = ""
        embedded = not url and not await answers(local)
        if url:
            headers = {**SURFACE, **({"authorization": f"Bearer {token}"} if token else {})}
            http = httpx.AsyncClient(base_url=url.rstrip("/"), headers=headers, timeout=timeout, trust_env=False)
        else:
            if embedded:
                embed = cast("Embedding", load_part("service"))
                settings = with_agents(load_settings(environ), environ)
                local = await stack.enter_async_context(embed(environ, settings))
            address = stack.enter_context(short_address(local))
            transport = httpx.AsyncHTTPTransport(uds=address)
            http = httpx.AsyncClient(
                transport=transport, base_url="http://localhost", headers=SURFACE, timeout=timeout, trust_env=False
            )
        yield Client(await stack.enter_async_context(http), address=address, embedded=embedded)


async def answers(path: Path) -> bool:
    """Whether a service listens there."""
    try:
        _, writer = await connect(path)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


F = TypeVar("F", bound=Callable[..., object])


def service_options(command: F) -> F:
    """`--url`, `--token` and `--json`, in that order, for every command that talks to a service."""
    return address_options(click.option("--json", "as_json", is_flag=True, help="The answer as JSON.")(command))


def json_service_options(command: F) -> F:
    """The same for a command whose answer is JSON anyway."""
    return address_options(click.option("--json", is_flag=True, expose_value=False, help="It is JSON anyway.")(command))


def address_options(command: F) -> F:
    """`--url` and `--token`."""
    for option in (
        click.option("--token", envvar="FOOTPLATE_TOKEN", default="", metavar="T", help="The token for --url."),
        click.option("--url", envvar="FOOTPLATE_URL", default="", metavar="U", help="A server; default: the one here."),
    ):
        command = option(command)
    return command


def with_client(url: str, token: str, work: Callable[[Client], Awaitable[T]]) -> T:
    """Do the work with the service that is meant; a refusal ends the command."""

    async def go() -> T:
        async with open_client(url, token) as client:
            return await work(client)

    return guarded_run(go)
