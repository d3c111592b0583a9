"""What tools answered in full: read beside the events, told with the end of the call."""

from __future__ import annotations

import json

import msgspec
import pytest

from footplate.acp.encode_tools import ToolEncoder
from footplate.acp.profile import Profile
from footplate.acp.schema.updates import ToolCallChange
from footplate.acp.tool_responses import HELD, ToolResponses
from footplate.events.ids import ToolCallId
from footplate.events.model import ToolEnded, ToolStarted
from footplate.events.tools import ToolKind


def _line(*calls: str, **more: object) -> bytes:
    content = [{"type": "tool_result", "tool_use_id": call, "content": "hi"} for call in calls]
    line = {"type": "user", "message": {"content": content}, "tool_use_result": {"stdout": "hi"}, **more}
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def test_an_answer_is_that_of_the_only_call_of_its_line() -> None:
    responses = ToolResponses()
    responses.read(b'{"type":"assistant"}\n' + _line("a") + _line("b", "c") + _line("d", type="assistant"))
    responses.read(b'"tool_use_result" no json\n{"type":"user","message":{"content":"x"},"tool_use_result":1}\n')
    assert responses.take(ToolCallId("a")) == msgspec.Raw(b'{"stdout":"hi"}')
    assert [responses.take(ToolCallId(call)) for call in "abcd"] == [None] * 4


@pytest.mark.parametrize("bad", [b"\xff", b"[" * 3_000 + b"]" * 3_000], ids=["not UTF-8", "deep"])
def test_a_line_that_cannot_be_decoded_is_left_to_the_translator(bad: bytes) -> None:
    responses = ToolResponses()
    text = b'"' + bad + b'"' if bad == b"\xff" else bad
    for name in (b"x", b"type", b"tool_use_result"):
        line = _line("a").replace(b'"tool_use_result":{"stdout":"hi"}', b'"%s":%s,"tool_use_result":1' % (name, text))
        responses.read(line + _line("b"))
        assert responses.take(ToolCallId("b")) == msgspec.Raw(b'{"stdout":"hi"}')
    responses.read(_line("c").replace(b"hi", b"caf\xe9"))
    assert responses.take(ToolCallId("c")) is None


def test_what_nobody_asks_for_is_forgotten() -> None:
    responses = ToolResponses()
    for number in range(HELD + 1):
        responses.read(_line(f"call-{number}"))
    assert responses.take(ToolCallId("call-0")) is None
    assert responses.take(ToolCallId("call-1")) is not None


def _ended(kind: ToolKind, profile: Profile) -> object:
    encoder = ToolEncoder(profile)
    encoder.responses = ToolResponses()
    encoder.responses.read(_line("a"))
    call = ToolCallId("a")
    encoder.started(ToolStarted(call=call, name="Bash", kind=kind, title=""))
    [told] = encoder.ended(ToolEnded(call=call, ok=True, outcome="completed"))
    assert isinstance(told, ToolCallChange)
    return json.loads(bytes(told.meta or b"null"))


def test_the_end_of_a_call_tells_it_but_for_the_internal_words_of_a_sub_agent() -> None:
    claude = Profile(claude_code=True)
    assert _ended("command", claude) == {"claudeCode": {"toolName": "Bash", "toolResponse": {"stdout": "hi"}}}
    assert _ended("subagent", claude) == {"claudeCode": {"toolName": "Bash"}}
    assert _ended("command", Profile()) is None
