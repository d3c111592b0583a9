"""Calls to a service over HTTP: one connection pool, typed answers, typed errors, patience while it is away.

A call that may be repeated is repeated until the service is back; one that may not is repeated only when nothing of it
can have arrived. `patience_s` is how long a service may be away before `ServiceUnreachable` is raised.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final, TypeVar

import httpx
import msgspec

from footplate.errors import ProtocolError, ServiceUnreachable
from footplate.sdk.problems import error_of
from footplate.sdk.stream import Streams

T = TypeVar("T")
Params = Mapping[str, object]
"""Of a query: what is empty is left out, a tuple is a name given several times."""

PATIENCE_S: Final = 120.0
CONNECT_S: Final = 10.0
ANSWER_S: Final = 60.0
SILENCE_S: Final = 60.0
"""A stream says that it lives far more often than this; one that does not is lost."""

FIRST_PAUSE_S: Final = 0.05
LONGEST_PAUSE_S: Final = 2.0
AWAY: Final = (502, 503, 504)
"""What a proxy answers while the service behind it restarts."""

SURFACE: Final = "python"


class Pauses:
    """How long to wait before the next attempt, and when to give up."""

    def __init__(self, url: str, patience_s: float | None) -> None:
        self._url = url
        self._deadline = None if patience_s is None else time.monotonic() + patience_s
        self._pause = FIRST_PAUSE_S

    async def next(self, problem: Exception | str) -> None:
        """Wait a little. Raises `ServiceUnreachable` when it has been too long."""
        if self._deadline is not None and time.monotonic() + self._pause > self._deadline:
            raise ServiceUnreachable(self._url, describe(problem))
        await asyncio.sleep(self._pause * random.uniform(0.5, 1.0))
        self._pause = min(self._pause * 2, LONGEST_PAUSE_S)


def describe(problem: Exception | str) -> str:
    """What is the matter, in words; some of httpx's errors have none."""
    return str(problem) or type(problem).__name__


class Wire:
    """The service at one address, with one token."""

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        patience_s: float | None = PATIENCE_S,
        headers: Mapping[str, str] | None = None,
        verify: bool | str = True,
    ) -> None:
        self.url = url.rstrip("/")
        self.token = token
        self.patience_s = patience_s
        self.streams = Streams()
        known = {"x-footplate-surface": SURFACE, **(headers or {})}
        if token:
            known["authorization"] = f"Bearer {token}"
        self._http = httpx.AsyncClient(
            base_url=self.url,
            headers=known,
            timeout=httpx.Timeout(ANSWER_S, connect=CONNECT_S),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            trust_env=False,
            verify=verify,
        )

    async def close(self) -> None:
        """Let go of the streams and the connections."""
        await self.streams.close()
        await self._http.aclose()

    # -------------------------------------------------------------------------------------------- calls

    async def get(self, path: str, answer: type[T], params: Params | None = None) -> T:
        """Read something."""
        return _decode(await self.exchange("GET", path, params=params, again=True), answer)

    async def post(
        self, path: str, answer: type[T], body: object = None, *, again: bool = False, slow: bool = False
    ) -> T:
        """Ask for something. `again`: asking twice does no harm. `slow`: the answer may take as long as it must."""
        return _decode(await self.exchange("POST", path, body=body or {}, again=again, slow=slow), answer)

    async def put(self, path: str, answer: type[T], body: object) -> T:
        """Have something be so, which does no harm when it is asked twice; how it is then."""
        return _decode(await self.exchange("PUT", path, body=body, again=True), answer)

    async def tell(self, method: str, path: str, body: object = None, *, params: Params | None = None) -> None:
        """Ask for something that has no answer, and does no harm when it is asked twice."""
        await self.exchange(method, path, body=body, params=params, again=True)

    async def exchange(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        content: bytes | AsyncIterator[bytes] | None = None,
        media: str = "application/json",
        params: Params | None = None,
        headers: Mapping[str, str] | None = None,
        again: bool = False,
        slow: bool = False,
    ) -> httpx.Response:
        """One call. Raises the error that the service tells, and `ServiceUnreachable` when there is none."""
        data = msgspec.json.encode(body) if body is not None else content
        sent = dict(headers or {})
        if data is not None:
            sent["content-type"] = media
        pauses = Pauses(self.url, self.patience_s)
        while True:
            try:
                response = await self._http.request(
                    method,
                    path,
                    params=_flat(params),
                    content=data,
                    headers=sent,
                    timeout=httpx.Timeout(None if slow else ANSWER_S, connect=CONNECT_S),
                )
            except (httpx.ConnectError, httpx.ConnectTimeout) as problem:
                await pauses.next(problem)
            except httpx.TransportError as problem:
                if not again:
                    raise ServiceUnreachable(self.url, describe(problem)) from problem
                await pauses.next(problem)
            else:
                if not (again and response.status_code in AWAY and not _told(response)):
                    return _check(response)
                await pauses.next(f"status {response.status_code}")

    # ------------------------------------------------------------------------------------------ streams

    @asynccontextmanager
    async def open(
        self,
        path: str,
        *,
        params: Params | None = None,
        headers: Mapping[str, str] | None = None,
        silence_s: float | None = SILENCE_S,
    ) -> AsyncIterator[httpx.Response]:
        """An answer that is read as it comes. Raises as `exchange` does, but does not try again."""
        timeout = httpx.Timeout(ANSWER_S, connect=CONNECT_S, read=silence_s)
        async with self._http.stream("GET", path, params=_flat(params), headers=headers, timeout=timeout) as response:
            if response.status_code >= 400:
                await response.aread()
                _check(response)
            yield response

    def socket_url(self, path: str) -> str:
        """The address of a WebSocket."""
        return "ws" + self.url.removeprefix("http") + path

    def socket_headers(self) -> dict[str, str]:
        """What a WebSocket is opened with."""
        return {"authorization": f"Bearer {self.token}"} if self.token else {}


def _flat(params: Params | None) -> httpx.QueryParams:
    given = {name: value if isinstance(value, tuple) else (value,) for name, value in (params or {}).items()}
    texts = [(name, _text(each)) for name, values in given.items() for each in values]
    return httpx.QueryParams([(name, text) for name, text in texts if text])


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _told(response: httpx.Response) -> bool:
    """Whether it is the service that speaks, not something in front of it."""
    return str(response.headers.get("content-type", "")).startswith("application/problem+json")


def _check(response: httpx.Response) -> httpx.Response:
    if response.status_code >= 400:
        raise error_of(response.status_code, response.content)
    return response


def _decode(response: httpx.Response, answer: type[T]) -> T:
    try:
        return msgspec.json.decode(response.content, type=answer)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise ProtocolError(
            str(response.url.copy_with(query=None)), f"an answer that cannot be read: {problem}"
        ) from None
