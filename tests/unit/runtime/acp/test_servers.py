"""MCP servers of a client, as engines take them."""

from __future__ import annotations

import msgspec
import pytest

from footplate.acp.failures import Failure
from footplate.acp.schema.sessions import McpServer
from footplate.engines.claude.engine import ClaudeEngine
from footplate.runtime.acp.servers import read_servers
from footplate.runtime.folder_config import LocalMcp, McpConfig, RemoteMcp


def read(text: bytes) -> dict[str, McpConfig]:
    return read_servers(ClaudeEngine(), msgspec.json.decode(text, type=tuple[McpServer, ...]))


def test_programs_and_addresses_are_read() -> None:
    assert read(
        b"""[
            {"name":"a","command":"/bin/a","args":["x"],"env":[{"name":"K","value":"v"}]},
            {"type":"http","name":"b","url":"http://localhost/b","headers":[{"name":"H","value":"w"}]},
            {"type":"sse","name":"c","url":"http://localhost/c","headers":[]}
        ]"""
    ) == {
        "a": LocalMcp(command="/bin/a", args=("x",), env={"K": "v"}),
        "b": RemoteMcp(url="http://localhost/b", headers={"H": "w"}, transport="http"),
        "c": RemoteMcp(url="http://localhost/c", headers={}, transport="sse"),
    }


@pytest.mark.parametrize("text", [b'[{"name":"odd"}]', b'[{"type":"acp","name":"odd","serverId":"1"}]'])
def test_a_server_of_another_kind_is_refused_by_name(text: bytes) -> None:
    with pytest.raises(Failure, match="odd"):
        read(text)
