"""Secrets in raw lines: replaced where the log does not have them, and nothing else is touched."""

from __future__ import annotations

import json
import time

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


@pytest.mark.parametrize(
    ("line", "hidden"),
    [
        ("Cookie: a=1; sid=S1", "Cookie: ***"),
        ("set-cookie: x=1; sid=S1", "set-cookie: ***"),
        ('Authorization: Digest username="a", response="S1"', "Authorization: ***"),
        ("Authorization: AWS4-HMAC-SHA256 Credential=S1, Signature=S1", "Authorization: ***"),
        ("Authorization=Bearer S1", "Authorization=***"),
        ("'Authorization': 'Bearer S1', 'a': 1", "'Authorization': '***', 'a': 1"),
        ("{ cookie: 'a=1; sid=S1', a: 1 }", "{ cookie: '***', a: 1 }"),
        ("{b'Authorization': b'Bearer S1'}", "{b'Authorization': '***'}"),
        ('{"headers":{"Authorization":"Bearer S1"},"a":1}', '{"headers":{"Authorization":"***"},"a":1}'),
        (r"{\"apiKey\":\"S1\",\"a\":1}", r"{\"apiKey\":\"***\",\"a\":1}"),
        (r'{"password":"S1\"S1","a":1}', '{"password":"***","a":1}'),
        (r"{\"password\":\"S1\\\"S1\",\"a\":1}", r"{\"password\":\"***\",\"a\":1}"),
        ('{"password":"hunter S1"}', '{"password":"***"}'),
        ('"aws_secret_access_key": "S1"', '"aws_secret_access_key": "***"'),
        ("AWS_SECRET_ACCESS_KEY=S1 a=1", "AWS_SECRET_ACCESS_KEY=*** a=1"),
        ("MY_TOKEN: S1", "MY_TOKEN: ***"),
        ("GH_TOKEN=S1", "GH_TOKEN=***"),
        ("GITHUB_PAT=S1", "GITHUB_PAT=***"),
        ("DB_PASSWORD: S1", "DB_PASSWORD: ***"),
        ("PGPASSWORD=S1", "PGPASSWORD=***"),
        ("client_secret: S1", "client_secret: ***"),
        ("x-goog-api-key: S1", "x-goog-api-key: ***"),
        ("api_keys: ['S1', 'S1'], a: 1", "api_keys: ***], a: 1"),
        ('{"token":{"v":"S1"},"a":1}', '{"token":***},"a":1}'),
        ("mcp --api-key S1 --verbose", "mcp --api-key *** --verbose"),
        ('mcp --github-token "S1 S1" -v', 'mcp --github-token "***" -v'),
        ("sent Bearer S1S1.S1-S1_S1", "sent Bearer ***"),
        ("github_pat_11ABCDEFGS1", "github_pat_***"),
        ("ghp_S1S1S1S1", "ghp_***"),
        ("AKIAIOSFODNN7EXAMS1E", "AKIA***"),
        ("https://ghp_S1S1S1S1@github.com/x", "https://ghp_***@github.com/x"),
        ("redis://:S1@host/0", "redis://***@host/0"),
        ("GET /x?token=S1&limit=5&sig=a", "GET /x?token=***&limit=5&sig=a"),
    ],
)
def test_a_secret_is_hidden_in_every_notation(line: str, hidden: str) -> None:
    assert hide_secrets(RawLines("err", 1.0, 1, f"{line}\n".encode())).lines.decode() == f"{hidden}\n"


@pytest.mark.parametrize(
    "line",
    [
        "tokens: 12 in, 40 out",
        '{"max_tokens": 5, "total_tokens": 12, "token_count": 3}',
        "--max-tokens 5 --token-budget 7",
        "the secretary has the keys: one, two",
        "cookies are off; no password was given",
        "tokenizer: fast, keyboard: us, primary key: id",
        "Bearer authentication is required",
        "basic understanding of the key points",
        "path=/a/b compat: yes",
        "git@github.com and https://host:8080/a@b",
        "--token --verbose",
    ],
)
def test_ordinary_words_stay(line: str) -> None:
    assert hide_secrets(RawLines("err", 1.0, 1, f"{line}\n".encode())).lines.decode() == f"{line}\n"


@pytest.mark.parametrize(
    "part",
    [
        *"a-\\\"'",
        "--a",
        "token",
        "token ",
        'token="',
        r"token=\"",
        r"token\\",
        "--token ",
        "cookie  ",
        "://a:",
        "bearer a",
    ],
)
def test_a_long_line_costs_in_proportion_whatever_it_holds(part: str) -> None:
    def seconds(size: int) -> float:
        chunk = RawLines("err", 1.0, 1, b"token" + part.encode() * (size // len(part)) + b"\n")
        before = time.process_time()
        hide_secrets(chunk)
        return time.process_time() - before

    assert any(seconds(64 * 1024) < 8 * max(seconds(16 * 1024), 0.000_5) for _ in range(5))


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
        ("out", {"params": {"mcpServers": [{"command": "x", "args": ["-e", "GITHUB_PAT=S1", "--env", "PLAIN=S1"]}]}}),
        ("out", {"params": {"mcpServers": [{"command": "x", "args": ["--header", "X-Auth: S1", "--env=PLAIN=S1"]}]}}),
        ("out", {"env": {"name": "S1"}}),
        ("out", {"headers": {"Authorization": ["Bearer S1"]}, "Authorization": ["Bearer S1"]}),
        ("out", {"apiKeys": ["S1"]}),
        ("in", {"id": 1, "result": {"accessToken": {"v": "S1"}}}),
        ("in", {"id": 1, "result": {"tokens": {"access": "S1", "refresh": ["S1"]}}}),
        ("in", {"id": 1, "method": "terminal/create", "params": {"env": [{"name": "A", "value": "S1"}]}}),
    ],
)
def test_secrets_of_servers_and_terminals_are_hidden_under_any_name(direction: Direction, line: object) -> None:
    (hidden,) = stored(direction, line)
    assert "S1" not in json.dumps(hidden)
    assert "***" in json.dumps(hidden)


def test_what_is_counted_under_a_name_of_secrets_stays() -> None:
    counts = {"id": 1, "result": {"tokens": {"input": 5, "output": 7}, "max_tokens": 5, "token": None, "secret": True}}
    assert stored("in", counts) == [counts]


def test_arguments_that_are_no_secrets_stay() -> None:
    server = {"command": "x", "args": ["-e", "console.log(1)", "-e", "NAME", "--header", "--port=1"]}
    assert stored("out", server) == [server]


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
