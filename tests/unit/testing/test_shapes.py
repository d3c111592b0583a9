"""The shapes of an agent's lines: what is new is told, what belongs to others is not looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from footplate.runtime.examination import Examined, Step
from footplate.testing.doctor import known_shapes, render
from footplate.testing.shapes import read_known, shape_of, unknown

RECORDED = Path(__file__).resolve().parents[2] / "fixtures" / "claude"


def test_a_line_has_a_kind_and_fields_and_nothing_of_a_tools_input() -> None:
    line = b'{"type":"assistant","message":{"content":[{"type":"tool_use","input":{"deep":1}}],"odd key":{"x":1}}}'
    assert shape_of(line) == {
        "assistant",
        "assistant.type",
        "assistant.message",
        "assistant.message.content",
        "assistant.message.content[tool_use].type",
        "assistant.message.content[tool_use].input",
        "assistant.message.*",
        "assistant.message.*.x",
    }
    update = b'{"method":"session/update","params":{"update":{"sessionUpdate":"plan"}}}'
    assert "session/update/plan" in shape_of(update)
    request = b'{"type":"control_request","request":{"subtype":"can_use_tool"}}'
    assert "control_request/can_use_tool" in shape_of(request)
    assert shape_of(b'{"id":1,"result":{}}') == {"response", "response.id", "response.result"}
    assert shape_of(b"Loading") == {"(not JSON)"}
    assert shape_of(b"[1]") == {"(not an object)"}


def test_of_a_new_kind_only_the_kind_is_told_and_of_a_known_one_the_new_fields() -> None:
    known = read_known("# a remark\nsystem/init\nsystem/init.type\nsystem/init.subtype\n\n")
    lines = [
        b'{"type":"system","subtype":"init","brand_new":1}',
        b'{"type":"telepathy","thought":{"of":"you"}}',
        b'{"type":"system","subtype":"init"}',
    ]
    assert unknown(lines, known) == ("system/init.brand_new", "telepathy")


@pytest.mark.parametrize("version", ["2.1.197", "2.1.325"])
def test_everything_that_was_recorded_is_known(version: str) -> None:
    known = known_shapes("claude")
    files = [path for path in (RECORDED / version).glob("*.jsonl") if "stdin" not in path.name]
    lines = [line for path in files for line in path.read_bytes().splitlines() if line.strip()]
    assert lines
    assert unknown(lines, known) == ()


def test_an_agent_that_was_never_recorded_is_compared_with_what_others_say_in_its_protocol() -> None:
    update = b'{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"%s"},"sessionId":"1"}}'
    lines = [update % b"agent_message_chunk", update % b"telepathy"]
    assert unknown(lines, known_shapes("nobody")) == ("session/update/telepathy",)


def test_a_report_says_what_went_wrong_and_what_is_new() -> None:
    steps = (Step(name="permission", ok=True, seconds=65.25), Step(name="resume", ok=False, problem="it forgot"))
    found = Examined(agent="a", version="1", ok=False, steps=steps, unparsed=("odd",), new=("telepathy",), lines=3)
    assert render(found).splitlines() == [
        "FAIL  a 1",
        "      permission: ok (1m 05s)",
        "      resume: it forgot",
        "      a line that we cannot read: odd",
        "      new: telepathy",
    ]
