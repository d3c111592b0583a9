"""Logging in: by a key that is set, by the method that the operator named, or not at all, with advice."""

from __future__ import annotations

import pytest

from footplate.engines.acp.auth import Method, Variable
from footplate.engines.base import Options
from footplate.events.model import EngineAttached, Notice, TurnEnded
from tests.unit.engines.acp.playing import AGENT, SESSION, Json, Play

KEY: Json = {"id": "key", "name": "API key", "description": "Requires setting the `SOME_API_KEY` environment variable"}
BROWSER: Json = {"id": "browser", "name": "Log in with X", "description": "Opens a browser"}
REQUIRED = -32000


def asked_to_log_in(*methods: Json, keys: tuple[str, ...] = (), auth_method: str = "", env: Json | None = None) -> Play:
    """A conversation whose agent wants a login before it opens a session."""
    play = Play(Options(cwd="/project", env=env or {}), keys=keys, auth_method=auth_method)  # type: ignore[arg-type]
    play.begin()
    play.answer("initialize", {**AGENT, "authMethods": list(methods)})
    return play


def test_a_method_whose_key_is_set_is_chosen_and_the_session_asked_for_again() -> None:
    play = asked_to_log_in(BROWSER, KEY, keys=("SOME_API_KEY",))
    assert play.fail("session/new", REQUIRED, "Authentication required") == []
    assert play.frames[-1]["params"] == {"methodId": "key"}
    play.answer("authenticate", {})
    assert play.frames[-1]["method"] == "session/new"
    [attached] = play.answer("session/new", {"sessionId": SESSION})
    assert isinstance(attached, EngineAttached)


def test_a_key_that_is_set_for_the_session_alone_counts() -> None:
    play = asked_to_log_in(KEY, env={"SOME_API_KEY": "x"})
    play.fail("session/new", REQUIRED, "Authentication required")
    assert play.frames[-1]["params"] == {"methodId": "key"}


def test_every_method_with_a_key_is_tried_before_a_person_is_told_of_all() -> None:
    other: Json = {"id": "openai-api-key", "name": "OpenAI"}
    play = asked_to_log_in(KEY, other, BROWSER, keys=("SOME_API_KEY", "OPENAI_API_KEY"))
    play.prompt()
    play.fail("session/new", REQUIRED, "Authentication required")
    play.fail("authenticate", -32603, "that key is no good")
    assert play.frames[-1]["params"] == {"methodId": "openai-api-key"}
    play.answer("authenticate", {})
    end = play.fail("session/new", REQUIRED, "Authentication required")[-1]
    assert isinstance(end, TurnEnded)
    assert (end.ok, end.error_kind) == (False, "auth")
    assert end.error == (
        "Authentication required; log in first: "
        "API key (Requires setting the `SOME_API_KEY` environment variable); OpenAI; Log in with X (Opens a browser)"
    )


def test_without_a_key_it_is_said_which_one_to_set() -> None:
    play = asked_to_log_in(KEY, BROWSER)
    [notice] = play.fail("session/new", REQUIRED, "Authentication required")
    assert notice == Notice(
        level="error",
        text="Authentication required; log in first: API key (set SOME_API_KEY); Log in with X (Opens a browser)",
        code="auth",
    )
    assert not [frame for frame in play.frames if frame.get("method") == "authenticate"]


def test_an_agent_without_methods_speaks_for_itself() -> None:
    play = asked_to_log_in()
    [notice] = play.fail("session/new", REQUIRED, "run `x login`")
    assert isinstance(notice, Notice)
    assert notice.text == "run `x login`; log in first"


def test_the_method_that_the_operator_named_is_used_at_once_and_no_other() -> None:
    play = asked_to_log_in(KEY, BROWSER, keys=("SOME_API_KEY",), auth_method="browser")
    assert [frame["method"] for frame in play.frames] == ["initialize", "authenticate"]
    assert play.frames[-1]["params"] == {"methodId": "browser"}
    [notice] = play.fail("authenticate", -32603, "no browser here")
    assert isinstance(notice, Notice)
    assert notice.text.startswith("no browser here; log in first: ")


@pytest.mark.parametrize(
    ("method", "variables"),
    [
        (Method(id="a", vars=(Variable(name="A_KEY"), Variable(name="B_KEY", optional=True))), ("A_KEY",)),
        (Method(id="gemini-api-key"), ("GEMINI_API_KEY",)),
        (Method(id="b", description="Set GH_TOKEN or log in"), ("GH_TOKEN",)),
        (Method(id="c", description="Opens a browser"), ()),
    ],
)
def test_the_variables_of_a_method_are_found_wherever_it_tells_them(method: Method, variables: tuple[str, ...]) -> None:
    assert method.variables == variables
