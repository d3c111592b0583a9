"""Who is let in: names, pages, tokens, scopes."""

from __future__ import annotations

import pytest

from footplate.errors import PermissionDenied, RequestError, TokenInvalid
from footplate.interfaces.http.guard import Cors, Doors, Guard
from footplate.interfaces.http.routing import SOCKET, Route
from footplate.runtime.access import Access, Scope, TokenRequest
from footplate.runtime.log_lines import redact
from footplate.store.memory import MemoryStore

LOOPBACK = Doors(host="127.0.0.1", allowed_hosts=("box.example",))
EVERYWHERE = Doors(host="0.0.0.0")


def _scope(
    host: str = "localhost:2468", origin: str = "", authorization: str = "", query: str = ""
) -> dict[str, object]:
    headers = {"host": host, "origin": origin, "authorization": authorization}
    return {
        "headers": [(name.encode(), value.encode()) for name, value in headers.items() if value],
        "query_string": query.encode(),
    }


def _guard(doors: Doors = LOOPBACK, token: str = "secret") -> Guard:
    return Guard(doors, Access(MemoryStore(), chosen=token, open_to_all=not token))


async def _handler(call: object) -> None: ...


def _route(scope: Scope | None = "read", method: str = "GET") -> Route:
    return Route(method=method, path="/x", handler=_handler, scope=scope, summary="", tag="")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1:2468", "[::1]:80", "a.localhost", "box.example:9"]
)
def test_bound_to_loopback_we_answer_to_loopback_names_and_to_listed_ones(host: str) -> None:
    _guard().check(_scope(host))


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example.", "localhost.evil.example:80", "10.0.0.1"])
def test_bound_to_loopback_any_other_name_is_refused(host: str) -> None:
    with pytest.raises(PermissionDenied, match="allowed_hosts"):
        _guard().check(_scope(host))


def test_bound_elsewhere_any_name_is_ours_unless_some_are_listed() -> None:
    _guard(EVERYWHERE).check(_scope("whatever.example"))
    listed = _guard(Doors(host="0.0.0.0", allowed_hosts=("box.example",)))
    listed.check(_scope("box.example"))
    with pytest.raises(PermissionDenied):
        listed.check(_scope("localhost"))
    with pytest.raises(RequestError):
        listed.check(_scope(""))


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:9999", "file://", "https://localhost:1"]
)
def test_a_page_of_elsewhere_is_refused_even_on_loopback(origin: str) -> None:
    with pytest.raises(PermissionDenied, match="cors-allow-origin"):
        _guard().check(_scope(origin=origin))


def test_our_own_page_and_listed_origins_are_let_in() -> None:
    assert _guard().check(_scope(origin="http://localhost:2468")) == _guard().check(_scope())
    _guard().check(_scope("box.example", origin="https://box.example"))
    cors = Cors(origins=("http://app.example",), methods=("GET", "POST"), headers=("authorization",), credentials=True)
    listed = _guard(Doors(cors=cors))
    told = dict(listed.preflight(_scope(origin="http://app.example")))
    assert told[b"access-control-allow-origin"] == b"http://app.example"
    assert told[b"access-control-allow-methods"] == b"GET,POST"
    assert told[b"access-control-allow-headers"] == b"authorization"
    assert told[b"access-control-allow-credentials"] == b"true"
    with pytest.raises(PermissionDenied):
        listed.preflight(_scope(origin="http://other.example"))


def test_a_token_stands_in_the_authorization_header_and_in_the_query_of_a_websocket_only() -> None:
    guard = _guard()
    assert guard.admit(_scope(authorization="Bearer secret"), _route()).name == "operator"
    assert guard.admit(_scope(query="access_token=secret"), _route(method=SOCKET)).name == "operator"
    for scope in (
        _scope(),
        _scope(authorization="bearer secret"),
        _scope(authorization="Basic secret"),
        _scope(authorization="Bearer wrong"),
        _scope(query="access_token=secret"),
    ):
        with pytest.raises(TokenInvalid):
            guard.admit(scope, _route())
    guard.admit(_scope(), _route(scope=None))
    _guard(token="").admit(_scope(), _route("admin"))


async def test_a_token_opens_what_its_scopes_imply_and_nothing_else() -> None:
    access = Access(MemoryStore(), chosen="secret")
    guard = Guard(LOOPBACK, access)
    allowed: dict[Scope, set[Scope]] = {
        "read": {"read"},
        "answer": {"read", "answer"},
        "drive": {"read", "answer", "drive"},
        "files": {"files"},
        "admin": {"read", "answer", "drive", "files", "admin"},
    }
    for given, opens in allowed.items():
        issued = await access.issue(TokenRequest(name=given, scopes=(given,)))
        for wanted in allowed:
            scope = _scope(authorization=f"Bearer {issued.token}")
            if wanted in opens:
                guard.admit(scope, _route(wanted)).require(wanted)
            else:
                with pytest.raises(PermissionDenied, match=wanted):
                    guard.admit(scope, _route(wanted)).require(wanted)


def test_what_looks_like_a_secret_is_not_logged() -> None:
    assert redact("a=1&access_token=abc&b=2") == "a=1&access_token=***&b=2"
    assert redact("key sk-ant-REDACTED and fp_01ABCDEF_xyz") == "key sk-ant-*** and fp_***"
