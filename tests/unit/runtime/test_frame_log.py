"""The debug log of raw lines: what a frame calls itself, and lines of stderr."""

from __future__ import annotations

import logging

import pytest

from footplate.runtime.frame_log import STDERR_LINES, frame_type, log_errors, log_frames


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (
            '{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}}',
            "stream_event content_block_delta text_delta",
        ),
        (
            '{"type":"stream_event","event":{"type":"content_block_start","content_block":{"type":"tool_use"}}}',
            "stream_event content_block_start tool_use",
        ),
        ('{"type":"stream_event","event":{"type":"message_stop"}}', "stream_event message_stop"),
        (
            '{"type":"control_request","request_id":"1","request":{"subtype":"can_use_tool","input":{}}}',
            "control_request can_use_tool",
        ),
        (
            '{"type":"control_response","response":{"subtype":"success","request_id":"1","response":{"type":"x"}}}',
            "control_response success",
        ),
        ('{"type":"control_response","response":{"subtype":"error","error":"no"}}', "control_response error"),
        ('{"type":"system","subtype":"init","session_id":"s"}', "system init"),
        ('{"type":"result","subtype":"success","result":"done"}', "result success"),
        (
            '{"type":"assistant","message":{"type":"message","content":[{"type":"text"},{"type":"tool_use"}]}}',
            "assistant text tool_use",
        ),
        ('{"type":"user","message":{"role":"user","content":"hello"}}', "user"),
        (
            '{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{}}}}',
            "session/update agent_message_chunk",
        ),
        (
            '{"method":"item/completed","params":{"item":{"type":"commandExecution"}}}',
            "item/completed commandExecution",
        ),
        ('{"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{"prompt":[]}}', "session/prompt"),
        ('{"jsonrpc":"2.0","id":4,"result":{}}', "response"),
        ('{"jsonrpc":"2.0","id":4,"error":{"code":-32000,"message":"no"}}', "response error"),
        ('{"type":"stream_event","event":"a text"}', "stream_event"),
        ('{"type":"stream_event","event":{"type":7}}', "stream_event"),
        ("not json", "?"),
        ("[1, 2]", "?"),
        ("{}", "?"),
    ],
)
def test_a_frame_is_named_from_the_outside_in(line: str, name: str) -> None:
    assert frame_type(line.encode()) == name


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (b'{"type":"\xff"}', "?"),
        (b'{"method":"x/caf\xe9","params":{}}', "?"),
        (b'{"jsonrpc":"2.0","id":"\xff","result":{}}', "?"),
        (b'{"method":"session/update","params":{"update":{"sessionUpdate":"\xe9"}}}', "session/update"),
        (b'{"type":"assistant","message":{"content":[{"type":"\xff"}]}}', "assistant"),
        (b'{"type":"assistant","message":{"content":"\xff"}}', "assistant"),
        (b"\xff\xff", "?"),
    ],
)
def test_a_name_that_is_not_utf_8_is_left_out(line: bytes, name: str) -> None:
    assert frame_type(line) == name


def test_the_log_has_the_type_and_the_size_of_a_frame_and_never_its_content(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="footplate.frames")
    line = b'{"type":"control_request","request":{"subtype":"can_use_tool","input":{"command":"cat secret"}}}\n'
    log_frames("s1", "in", line)
    (record,) = caplog.records
    fields = {"direction": "in", "type": "control_request can_use_tool", "bytes": len(line) - 1, "session": "s1"}
    assert record.fields == fields  # type: ignore[attr-defined]
    assert "secret" not in repr(record.__dict__)


def test_lines_of_stderr_are_logged_with_their_session_and_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    log_errors("s1", b"quiet\n")
    caplog.set_level(logging.DEBUG, logger="footplate.frames")
    log_errors("s1", b"MCP server: Authorization: Bearer abc.def\nsecond line\n")
    lines = [record.fields for record in caplog.records]  # type: ignore[attr-defined]
    assert [(line["session"], line["line"]) for line in lines] == [
        ("s1", "MCP server: Authorization: ***"),
        ("s1", "second line"),
    ]


def test_of_a_flood_of_stderr_the_first_lines_are_logged_and_how_many_follow(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, logger="footplate.frames")
    log_errors("s1", b"".join(b"%d\n" % number for number in range(1_000)))
    *lines, rest = [record.fields for record in caplog.records]  # type: ignore[attr-defined]
    assert [line["line"] for line in lines] == [str(number) for number in range(STDERR_LINES)]
    assert rest == {"session": "s1", "lines": 1_000 - STDERR_LINES}
