"""MCP servers that a session declares (`Options.mcp_config`), for engines that are told of them over their wire."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from footplate.errors import ConfigError


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """One server: a program (`stdio`), or an address."""

    type: str = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    url: str = ""
    headers: Mapping[str, str] = {}


class _File(msgspec.Struct, frozen=True):
    servers: dict[str, Declared] = msgspec.field(name="mcpServers", default_factory=dict)


def read_declared(path: str) -> dict[str, Declared]:
    """The servers of the file by their names; none where there is no file. Raises `ConfigError`."""
    if not path:
        return {}
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=_File).servers
    except (OSError, msgspec.MsgspecError) as problem:
        raise ConfigError(path, str(problem), "store the servers of the folder again") from problem
