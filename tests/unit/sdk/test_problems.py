"""Every error of the service comes back as itself."""

from __future__ import annotations

import httpx
import msgspec
import pytest

from footplate import errors
from footplate.errors import AlreadyAnswered, FootplateError, ProtocolError, RequestError, ServiceFailed
from footplate.events.ids import SessionId
from footplate.interfaces.http.problem import problem_of
from footplate.sdk import follow, wire
from footplate.sdk.problems import error_of
from footplate.sdk.sse import SseEvent

RAISED: list[FootplateError] = [
    errors.UnknownSession("01ABC"),
    errors.UnknownEngine("emacs", ("claude", "mock")),
    errors.SessionOver("01ABC"),
    errors.TokenInvalid("no token"),
    errors.Conflict("it still runs"),
    errors.NotFound("process", "p1"),
    errors.EngineGone("claude", "it died"),
]


def _back(error: FootplateError) -> FootplateError:
    problem = problem_of(error)
    return error_of(problem.status, msgspec.json.encode(problem))


@pytest.mark.parametrize("error", RAISED, ids=lambda each: type(each).__name__)
def test_a_problem_is_the_error_that_was_raised(error: FootplateError) -> None:
    back = _back(error)
    assert type(back) is type(error)
    assert (back.code, back.status, back.retryable) == (error.code, error.status, error.retryable)
    assert str(error) in str(back) or isinstance(error, errors.TokenInvalid)


def test_an_answer_that_is_not_utf_8_is_a_failure_of_the_service() -> None:
    failed = error_of(502, b'{"detail":"caf\xe9"}')
    assert isinstance(failed, ServiceFailed)
    assert "caf\ufffd" in str(failed)
    answer = httpx.Response(200, content=b'{"name":"caf\xe9"}', request=httpx.Request("GET", "http://127.0.0.1/x"))
    with pytest.raises(ProtocolError, match="cannot be read"):
        wire._decode(answer, dict[str, str])
    event = SseEvent(event="event", data=b'{"seq":1,"session":"\xff"}', id="1")
    with pytest.raises(ProtocolError, match="cannot be read"):
        follow._read("http://127.0.0.1/x", SessionId("s"), event)


def test_a_lost_race_tells_who_was_first() -> None:
    back = _back(AlreadyAnswered("r1", state="answered", by="anna", surface="web", at=12.5, who="by anna from web"))
    assert isinstance(back, AlreadyAnswered)
    assert (back.request, back.state, back.by, back.surface, back.at) == ("r1", "answered", "anna", "web", 12.5)


def test_a_value_that_cannot_be_used_is_an_error_of_the_caller() -> None:
    back = _back(errors.InvalidValue("cwd", "x", "an absolute folder"))
    assert isinstance(back, RequestError)
    assert "an absolute folder" in str(back)


def test_what_has_no_name_here_says_what_came() -> None:
    later = error_of(418, b'{"type": "urn:sandbox-agent:error:of_a_later_version", "detail": "too hot"}')
    assert isinstance(later, ServiceFailed)
    assert (later.answered, later.words) == (418, "too hot")
    proxy = error_of(502, b"<html>bad gateway</html>")
    assert isinstance(proxy, ServiceFailed)
    assert "bad gateway" in str(proxy)
