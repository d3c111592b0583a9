"""MCP servers that a client hands over with a session, as engines take them."""

from __future__ import annotations

from collections.abc import Mapping

from footplate.acp.failures import invalid_params
from footplate.acp.schema.sessions import McpServer
from footplate.engines.base import Engine
from footplate.engines.declared import Declared
from footplate.runtime.folder_config import LocalMcp, McpConfig, RemoteMcp


def read_servers(engine: Engine, servers: tuple[McpServer, ...]) -> dict[str, McpConfig]:
    """The servers for the engine. Raises `Failure` when it takes none, or for one of a kind that it cannot have."""
    if servers and not engine.capabilities().mcp:
        names = ", ".join(server.name for server in servers)
        raise invalid_params(f"{engine.title} takes no MCP servers ({names}); leave mcpServers empty")
    return {server.name: _read(server) for server in servers}


def read_tuned(servers: Mapping[str, Declared]) -> dict[str, McpConfig]:
    """Servers among an engine's own options. Raises `Failure` for one of a kind that it cannot have."""
    return {name: _read_tuned(name, server) for name, server in servers.items()}


def _read_tuned(name: str, server: Declared) -> McpConfig:
    if server.type in ("http", "sse") and server.url:
        return RemoteMcp(url=server.url, headers=dict(server.headers), transport=server.type)
    if server.type == "stdio" and server.command:
        return LocalMcp(command=server.command, args=server.args, env=dict(server.env))
    raise invalid_params(f"options.mcpServers: {name!r} is {server.type!r}; write a command, or an http or sse address")


def _read(server: McpServer) -> McpConfig:
    if server.type in ("http", "sse") and server.url:
        headers = {each.name: each.value for each in server.headers or ()}
        return RemoteMcp(url=server.url, headers=headers, transport=server.type)
    if server.command and server.type in (None, "stdio"):
        env = {each.name: each.value for each in server.env or ()}
        return LocalMcp(command=server.command, args=server.args or (), env=env)
    raise invalid_params(f"the MCP server {server.name!r} has neither a command nor an http or sse address")
