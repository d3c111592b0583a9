"""What every call meets, whatever it asks for: the table of routes, problems, decoding, limits."""

from __future__ import annotations

import asyncio
import re
import socket
from pathlib import Path
from typing import Annotated, get_args

import httpx
import msgspec
import pytest
from msgspec import Meta

from footplate.config.settings import HttpSettings, Settings
from footplate.errors import EndpointUnknown, InvalidValue, MethodNotAllowed, RequestError, WrongShape
from footplate.interfaces.http.app import all_routes
from footplate.interfaces.http.call import decode_json, decode_query
from footplate.interfaces.http.routing import Routes, RouteTable
from footplate.interfaces.http.serving import bind
from tests.unit.interfaces.http.served import Served, serve


class Thing(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    limit: Annotated[int, Meta(ge=1)] = 10
    deep: bool = False
    tags: tuple[str, ...] = ()


async def _handler(call: object, query: Thing) -> None: ...


def _table() -> RouteTable:
    routes = Routes("things")
    routes.get("/things", scope="read", summary="All")(_handler)
    routes.get("/things/{thing}", scope="read", summary="One")(_handler)
    routes.delete("/things/{thing}", scope="drive", summary="None")(_handler)
    routes.get("/things/{thing}/parts/{part}", scope="read", summary="Part")(_handler)
    routes.get("/old/{rest...}", scope=None, summary="Old")(_handler)
    return RouteTable(routes.all)


def test_a_route_is_found_by_its_fixed_and_variable_parts() -> None:
    table = _table()
    assert table.find("GET", b"/things").route.path == "/things"
    assert table.find("DELETE", b"/things/a%2Fb").params == {"thing": "a/b"}
    assert table.find("HEAD", b"/things/x/parts/y").params == {"thing": "x", "part": "y"}
    assert table.find("GET", b"/old/a/b").params == {"rest": "a/b"}


def test_what_no_route_has_is_told_apart_from_a_method_that_a_route_lacks() -> None:
    table = _table()
    for path in (b"/", b"/nothing", b"/things/", b"/things/x/parts"):
        with pytest.raises(EndpointUnknown):
            table.find("GET", path)
    with pytest.raises(MethodNotAllowed) as refused:
        table.find("POST", b"/things/x")
    assert refused.value.allowed == ("DELETE", "GET", "HEAD")


def test_a_handlers_annotations_are_what_is_decoded() -> None:
    assert _table().find("GET", b"/things").route.query is Thing


def test_a_query_becomes_a_struct_or_a_refusal_that_names_it() -> None:
    assert decode_query(b"name=a&deep=1&limit=3&tags=x&tags=y&other=1", Thing) == Thing(
        name="a", deep=True, limit=3, tags=("x", "y")
    )
    for bad, said in (
        (b"", "query: '' cannot be used; expected Object missing required field `name`"),
        (b"name=a&limit=0", "limit: '0' cannot be used; expected a whole number >= 1"),
        (b"name=a&limit=many", "limit: 'many' cannot be used; expected a whole number"),
        (b"name=a&deep=perhaps", "deep: 'perhaps' cannot be used; expected true or false"),
    ):
        with pytest.raises(InvalidValue) as refused:
            decode_query(bad, Thing)
        assert str(refused.value) == said


def _holds(kind: object, wanted: type) -> bool:
    return kind is wanted or any(_holds(part, wanted) for part in get_args(kind))


NUMBERS = {
    (field.encode_name, route.query)
    for route in all_routes()
    if route.query is not None
    for field in msgspec.structs.fields(route.query)
    if _holds(field.type, int)
}


@pytest.mark.parametrize("number", [str(2**63), str(2**64), "1" + "0" * 4_299, "1" + "0" * 4_300], ids=len)
def test_a_number_that_no_store_can_hold_is_refused_by_the_name_of_its_parameter(number: str) -> None:
    assert {name for name, _ in NUMBERS} >= {"after", "before", "limit", "tail", "chars", "epoch", "skip"}
    for name, shape in NUMBERS:
        required = "".join(f"{field.encode_name}=x&" for field in msgspec.structs.fields(shape) if field.required)
        with pytest.raises(InvalidValue) as refused:
            decode_query(f"{required}{name}={number}".encode(), shape)
        assert re.fullmatch(rf"{name}: '{number}' cannot be used; expected a whole number <= \d+", str(refused.value))


def test_what_is_no_json_and_json_of_another_shape_are_told_apart() -> None:
    assert decode_json(b'{"name":"a"}', Thing) == Thing(name="a")
    for bad in (b"", b"{", b"\xff", b'{"name":"\xff"}'):
        with pytest.raises(RequestError) as refused:
            decode_json(bad, Thing)
        assert refused.value.status == 400
    with pytest.raises(RequestError, match="not JSON"):
        decode_json(b'{"name":"caf\xe9"}', dict[str, msgspec.Raw])
    with pytest.raises(RequestError, match="not JSON"):
        decode_json(b"[" * 100_000, list[object])
    for bad in (b"[]", b"{}", b'{"name":1}', b"null"):
        with pytest.raises(WrongShape):
            decode_json(bad, Thing)


async def test_every_refusal_is_a_problem(served: Served, client: httpx.AsyncClient) -> None:
    async with served.client("") as stranger, served.client("wrong") as wrong:
        answers = {
            404: await stranger.get("/v1/nope"),
            401: await wrong.get("/v1/health"),
            405: await client.post("/v1/health"),
            403: await client.get("/v1/health", headers={"origin": "http://evil.example"}),
        }
    for status, answer in answers.items():
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == status
        assert answer.json()["type"].startswith("urn:sandbox-agent:error:")
    assert answers[405].headers["allow"] == "GET, HEAD"
    assert answers[404].json() == {
        "type": "urn:sandbox-agent:error:invalid_request",
        "title": "Not Found",
        "status": 404,
        "detail": "endpoint not found",
    }
    assert answers[401].json() == {
        "type": "urn:sandbox-agent:error:token_invalid",
        "title": "Token Invalid",
        "status": 401,
        "detail": "token invalid",
        "details": {"message": "missing or invalid bearer token"},
    }


async def _raw(url: str, data: bytes) -> bytes:
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(data)
    async with asyncio.timeout(30):
        answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


async def test_what_is_not_http_and_a_head_without_end_are_problems_too(tmp_path: Path) -> None:
    limits = Settings(http=HttpSettings(header_limit_kb=4, header_timeout_s=0.3))
    async with serve(tmp_path, limits) as served:
        garbage, large, slow = await asyncio.gather(
            _raw(served.url, b"\x16\x03\x01\x02\x00\r\n\r\n"),
            _raw(served.url, b"GET / HTTP/1.1\r\nx: " + b"y" * 8000),
            _raw(served.url, b"GET / HTTP/1.1\r\nhost: localhost\r\n"),
        )
        silent = await _raw(served.url, b"")
    assert garbage.startswith(b"HTTP/1.1 400")
    assert large.startswith(b"HTTP/1.1 431")
    assert slow.startswith(b"HTTP/1.1 408")
    for answer in (garbage, large, slow):
        assert b"application/problem+json" in answer
    assert silent == b""


def test_a_connection_sends_the_end_of_an_answer_without_waiting_for_an_acknowledgement() -> None:
    with bind("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        taken, _ = listening.accept()
        with taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
