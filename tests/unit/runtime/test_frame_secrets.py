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


@pytest.mark.parametrize(
    ("line", "hidden"),
    [
        (b"GET /x?access_token=S1", b"GET /x?access_token=***"),
        (b"API_KEY=S1", b"API_KEY=***"),
        (b"my secret=S1", b"my secret=***"),
        (b"PASSWORD: S1", b"PASSWORD: ***"),
        (b"Proxy-Authorization: Basic S1", b"Proxy-Authorization: ***"),
        (b"set-cookie: S1", b"set-cookie: ***"),
        (b"use sk-ant-S1S1S1S1", b"use sk-ant-***"),
        (b"use fp_S1S1S1S1", b"use fp_***"),
        (b"bot123456:S1S1S1S1S1S1S1S1S1 began", b"bot123456:*** began"),
        (b"ftp://me:S1@host", b"ftp://***@host"),
    ],
)
def test_a_secret_among_lines_of_stderr_is_hidden_and_its_neighbours_stay(line: bytes, hidden: bytes) -> None:
    around = b"ab \xff\xfe\n%s\nnext line\n"
    errors = RawLines("err", 1.0, 1, around % line)
    assert hide_secrets(errors).lines == around % hidden


@pytest.mark.parametrize("line", [b"Authorization:", b"password =", b"Authorization: Bearer", b"token", b"no secret"])
def test_a_line_of_stderr_without_a_value_leaves_the_next_one_alone(line: bytes) -> None:
    for newline in (b"\n", b"\r\n"):
        stored_lines = hide_secrets(RawLines("err", 1.0, 1, line + newline + b"next line" + newline)).lines
        assert stored_lines == line.replace(b"Bearer", b"***") + newline + b"next line" + newline


@pytest.mark.parametrize(
    ("direction", "line"),
    [
        # Codex has the headers of a server under another name than the others.
        (
            "out",
            {"params": {"config": {"mcp_servers": {"a": {"http_headers": {"X": "S1"}}}}}},
        ),
        ("out", {"params": {"mcpServers": [{"command": "x", "args": ["--api-key", "S1", "--verbose"]}]}}),
        ("out", {"params": {"mcpServers": [{"command": "x", "args": ["--token=S1"]}]}}),
        ("out", {"env": {"name": "S1"}}),
        ("in", {"id": 1, "method": "terminal/create", "params": {"env": [{"name": "A", "value": "S1"}]}}),
    ],
)
def test_secrets_of_servers_and_terminals_are_hidden_under_any_name(direction: Direction, line: object) -> None:
    (hidden,) = stored(direction, line)
    assert "S1" not in json.dumps(hidden)
    assert "***" in json.dumps(hidden)


def test_json_on_stderr_loses_its_keys() -> None:
    errors = RawLines("err", 1.0, 1, b'failed: {"apiKey":"S1","access_token": "S2", "model": "m"}\n')
    assert hide_secrets(errors).lines == b'failed: {"apiKey":"***","access_token": "***", "model": "m"}\n'


@pytest.mark.parametrize(
    ("direction", "line", "hidden"),
    [
        (
            "in",
            b'{"id":1,"result":{"m":"see http://a:S1@x/ caf\xe9"}}',
            b'{"id":1,"result":{"m":"see http://***@x/ caf\xe9"}}',
        ),
        ("out", b'{"x":"caf\xe9","env":{"A":"S1"}}', b'{"x":"caf\xe9",***'),
        ("out", b'{"env":{"A":"S1 \xff"}}', b"{***"),
    ],
)
def test_a_line_that_is_not_utf_8_is_stored_without_its_secrets(
    direction: Direction, line: bytes, hidden: bytes
) -> None:
    assert hide_secrets(RawLines(direction, 1.0, 1, line + b"\n")).lines.removesuffix(b"\n") == hidden


@pytest.mark.parametrize("depth", [300, 400, 900, 5_000])
def test_a_line_of_any_depth_is_stored_without_its_secrets(depth: int) -> None:
    nested = b'{"a":' * depth + b"1" + b"}" * depth
    chunk = RawLines("in", 1.0, 1, b'{"result":1,"env":{"A":"S1"},"x":' + nested + b"}\n")
    hidden = hide_secrets(chunk).lines
    assert b"S1" not in hidden
    assert hidden.startswith(b'{"result":1,')
    assert hidden.endswith(b"\n")
