"""Secrets in raw lines: replaced where the log does not have them, and nothing else is touched."""

from __future__ import annotations

import json

import msgspec
import pytest

from footplate.runtime.frame_secrets import hide_secrets
from footplate.store.values import Direction, RawLines


def stored(direction: Direction, *lines: object) -> list[object]:
    """The JSON of lines as they are stored."""
    raw = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    return [json.loads(line) for line in hide_secrets(RawLines(direction, 1.0, 1, raw)).lines.splitlines()]


def test_headers_and_environment_of_mcp_servers_are_hidden_in_both_shapes() -> None:
    claude = {
        "type": "control_request",
        "request": {
            "subtype": "mcp_set_servers",
            "servers": {
                "web": {"type": "http", "url": "https://u:pw@host/mcp?token=T1", "headers": {"X-Key": "S1"}},
                "local": {"command": "x", "args": ["--port", "1"], "env": {"API": "S2", "N": 7}},
            },
        },
    }
    acp = {
        "jsonrpc": "2.0",
        "method": "session/new",
        "params": {
            "cwd": "/w",
            "mcpServers": [{"name": "web", "url": "u", "headers": [{"name": "Authorization", "value": "Bearer S3"}]}],
        },
    }
    hidden = stored("out", claude, acp)
    assert not any(secret in json.dumps(hidden) for secret in ("S1", "S2", "S3", "T1", "pw", "7"))
    assert hidden == [
        {
            "type": "control_request",
            "request": {
                "subtype": "mcp_set_servers",
                "servers": {
                    "web": {"type": "http", "url": "https://***@host/mcp?token=***", "headers": {"X-Key": "***"}},
                    "local": {"command": "x", "args": ["--port", "1"], "env": {"API": "***", "N": "***"}},
                },
            },
        },
        {
            "jsonrpc": "2.0",
            "method": "session/new",
            "params": {
                "cwd": "/w",
                "mcpServers": [{"name": "web", "url": "u", "headers": [{"name": "Authorization", "value": "***"}]}],
            },
        },
    ]


def test_answers_of_the_agent_lose_keys_and_tokens_and_keep_the_rest() -> None:
    settings = {
        "type": "control_response",
        "response": {
            "subtype": "success",
            "response": {
                "effective": {"env": {"ANTHROPIC_API_KEY": "sk-ant-1234567890"}, "model": "opus"},
                "account": {"email": "a@b", "accessToken": "T", "apiKeySource": "none", "max_tokens": 5},
            },
        },
    }
    (hidden,) = stored("in", settings)
    assert hidden["response"]["response"] == {  # type: ignore[index]
        "effective": {"env": {"ANTHROPIC_API_KEY": "***"}, "model": "opus"},
        "account": {"email": "a@b", "accessToken": "***", "apiKeySource": "none", "max_tokens": 5},
    }


@pytest.mark.parametrize(
    "line",
    [
        # All of this is in the log as well: the input of a call must be seen as it is.
        {"type": "control_request", "request": {"subtype": "can_use_tool", "input": {"headers": {"a": "b"}}}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "input": {"env": {"K": "V"}}}]}},
        {"type": "stream_event", "event": {"delta": {"text": '"env": {"K": "V"}'}}},
    ],
)
def test_what_the_log_has_is_stored_byte_for_byte(line: object) -> None:
    chunk = RawLines("in", 1.0, 1, msgspec.json.encode(line) + b"\n")
    assert hide_secrets(chunk) is chunk


def test_a_prompt_is_stored_byte_for_byte_whatever_it_says() -> None:
    prompt = {"type": "user", "message": {"content": 'my "env": {"TOKEN": "x"} and password=y at https://host/a'}}
    chunk = RawLines("out", 1.0, 1, msgspec.json.encode(prompt) + b"\n")
    assert hide_secrets(chunk) is chunk


def test_lines_that_cannot_be_decoded_and_lines_of_stderr_are_redacted_as_text() -> None:
    cut = RawLines("out", 1.0, 1, b'{"method":"m","url":"http://a:b@c","env": {"PLAIN": "S1"}, "a\n', 9_000)
    assert hide_secrets(cut).lines == b'{"method":"m","url":"http://***@c",***\n'
    assert hide_secrets(cut).size == 9_000
    errors = RawLines("err", 1.0, 1, b"GET https://me:pw@host/?token=S3\nCookie: S4\nkey sk-ant-abcdefgh\nplain\n")
    assert hide_secrets(errors).lines == b"GET https://***@host/?token=***\nCookie: ***\nkey sk-ant-***\nplain\n"
