"""The SDK has every name of the published TypeScript SDK, with underscores, on the client and on the session."""

from __future__ import annotations

import inspect

import pytest

from footplate.sdk import blocking, client, session

CLIENT = (
    *("connect", "start", "dispose", "create_session", "resume_session", "resume_or_create_session", "destroy_session"),
    *("on_session_event", "on_permission_request", "respond_permission", "raw_respond_permission"),
    *("set_session_mode", "set_session_model", "set_session_thought_level", "set_session_config_option"),
    *("get_session_config_options", "get_session_modes", "raw_send_session_method"),
)
SESSION = (
    *("prompt", "raw_send", "on_event", "on_permission_request", "respond_permission", "raw_respond_permission"),
    *("set_mode", "set_model", "set_thought_level", "set_config_option", "get_config_options", "get_modes"),
)
OURS = ("on_request", "answer", "queue", "steer", "interrupt", "continue_queue", "fork")


@pytest.mark.parametrize("kind", [client.Client, blocking.Client], ids=["with await", "without"])
@pytest.mark.parametrize("name", CLIENT)
def test_a_client_has_the_name(kind: type, name: str) -> None:
    assert callable(getattr(kind, name))


@pytest.mark.parametrize("kind", [session.Session, blocking.Session], ids=["with await", "without"])
@pytest.mark.parametrize("name", [*SESSION, *OURS])
def test_a_session_has_the_name(kind: type, name: str) -> None:
    assert callable(getattr(kind, name))


@pytest.mark.parametrize(
    ("kind", "twin"), [(client.Client, blocking.Client), (session.Session, blocking.Session)], ids=["client", "session"]
)
def test_what_a_name_takes_is_the_same_without_await(kind: type, twin: type) -> None:
    """`create_session` hands on what it is given; all others say it."""
    names = [
        name for name in (*CLIENT, *SESSION, *OURS) if hasattr(kind, name) and name not in ("create_session", "start")
    ]
    told = {name: tuple(inspect.signature(getattr(kind, name)).parameters) for name in names}
    assert {name: tuple(inspect.signature(getattr(twin, name)).parameters) for name in names} == told


def test_raw_is_what_takes_types_of_the_protocol() -> None:
    for kind in (client.Client, session.Session):
        raw = [name for name in dir(kind) if name.startswith("raw_")]
        assert raw
        for name in raw:
            assert {"method", "response"} & set(inspect.signature(getattr(kind, name)).parameters)
