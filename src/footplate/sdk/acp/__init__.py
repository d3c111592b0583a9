"""The Agent Client Protocol over HTTP and WebSocket, and nothing else: works against any server that has these doors.

async with AcpClient.connect("http://127.0.0.1:2468", agent="mock") as client:
    await client.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
    made = await client.call("session/new", {"cwd": "/srv/app", "mcpServers": []})
"""

from __future__ import annotations

from footplate.sdk.acp.client import AcpClient, NotificationHandler, RequestHandler
from footplate.sdk.acp.doors import Door, RemoteDoor, RpcDoor, ServerDoor, SocketDoor

__all__ = [
    "AcpClient",
    "Door",
    "NotificationHandler",
    "RemoteDoor",
    "RequestHandler",
    "RpcDoor",
    "ServerDoor",
    "SocketDoor",
]
