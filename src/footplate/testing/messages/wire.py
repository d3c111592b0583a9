"""HTTP/1.1 as far as a test server needs it: requests with a length or in chunks, answers plain or chunked."""

from __future__ import annotations

import asyncio
import http
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

HEAD_LIMIT = 1 << 20


class MalformedRequestError(ValueError):
    """What came over the connection is no HTTP request."""


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request: the path without prefix `/k/<key>`, which is in `key`; header names in lower case."""

    method: str
    path: str
    key: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def keeps_alive(self) -> bool:
        return self.headers.get("connection", "").lower() != "close"


class HttpAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One whole answer."""

    status: int = 200
    headers: dict[str, str] = {}
    body: bytes = b""

    def encode(self, *, for_method: str) -> bytes:
        headers = {"content-type": "application/json", "content-length": str(len(self.body))} | self.headers
        return encode_head(self.status, headers) + (b"" if for_method == "HEAD" else self.body)


async def read_request(reader: asyncio.StreamReader) -> HttpRequest | None:
    """The next request of a connection, or None when the client has gone."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, headers = _parse_head(head)
        body = await _read_body(reader, headers)
    except asyncio.IncompleteReadError:
        return None
    except (asyncio.LimitOverrunError, ValueError) as error:
        raise MalformedRequestError(str(error)) from error
    url = urlsplit(target)
    key, path = split_key(url.path)
    query = dict(parse_qsl(url.query, keep_blank_values=True))
    return HttpRequest(method=method, path=path, key=key, query=query, headers=headers, body=body)


def split_key(path: str) -> tuple[str, str]:
    """`/k/<key>/rest` as the key and `/rest`; any other path has the empty key."""
    if not path.startswith("/k/"):
        return "", path
    key, _, rest = path.removeprefix("/k/").partition("/")
    return unquote(key), f"/{rest}"


def encode_head(status: int, headers: dict[str, str]) -> bytes:
    phrase = http.HTTPStatus(status).phrase if status in set(http.HTTPStatus) else "Scripted"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def encode_chunk(data: bytes) -> bytes:
    """One chunk of a chunked body; no data at all is the end of the body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def _parse_head(head: bytes) -> tuple[str, str, dict[str, str]]:
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, target, _version = first.split(" ")
    pairs = (line.split(":", 1) for line in lines)
    return method, target, {name.strip().lower(): value.strip() for name, value in pairs}


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    pieces = []
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        pieces.append(await reader.readexactly(size))
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass
    return b"".join(pieces)
