"""An MCP server without a wire: JSON-RPC messages in, responses or calls of tools out. Pure.

Just what tools need: `initialize`, `ping`, `tools/list`, `tools/call`, and notifications, which are taken note of.
"""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.engines.base import ToolServer, ToolSpec
from footplate.engines.claude.lenient import read_struct
from footplate.engines.claude.wire import Part
from footplate.events.base import OptionalRaw

PROTOCOL: Final = "2025-06-18"
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
NO_ID: Final = msgspec.Raw(b"0")


class Message(Part, frozen=True, kw_only=True):
    """One JSON-RPC message of the client; without an id it is a notification."""

    method: str = ""
    id: OptionalRaw = None
    params: OptionalRaw = None


class Hello(Part, frozen=True, kw_only=True):
    """What the client says of itself."""

    protocol: str = msgspec.field(default=PROTOCOL, name="protocolVersion")


class CallParams(Part, frozen=True, kw_only=True):
    """Which tool, with what."""

    name: str = ""
    arguments: OptionalRaw = None


class CancelParams(Part, frozen=True, kw_only=True):
    """Which call the client no longer waits for."""

    request: OptionalRaw = msgspec.field(default=None, name="requestId")


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool is called; its result goes to `tool_response` with this id."""

    id: msgspec.Raw
    name: str
    arguments: msgspec.Raw


MESSAGE: Final = msgspec.json.Decoder(Message)
HELLO: Final = msgspec.json.Decoder(Hello)
CALL: Final = msgspec.json.Decoder(CallParams)
CANCEL: Final = msgspec.json.Decoder(CancelParams)


def serve(server: ToolServer, message: Message) -> dict[str, object] | ToolCall:
    """What a message gets. A notification gets an empty result: the CLI waits for something even then."""
    if message.id is None:
        return response(NO_ID, {})
    name = message.id.copy()
    if message.method == "initialize":
        hello = read_struct(HELLO, message.params) or Hello()
        info = {"name": server.name, "version": server.version}
        return response(name, {"protocolVersion": hello.protocol, "capabilities": {"tools": {}}, "serverInfo": info})
    if message.method == "tools/list":
        return response(name, {"tools": [_listed(tool) for tool in server.tools]})
    if message.method == "tools/call":
        return _call(server, name, message.params)
    if message.method == "ping":
        return response(name, {})
    return failure(name, METHOD_NOT_FOUND, f"no method {message.method!r}")


def cancelled_call(message: Message) -> msgspec.Raw | None:
    """The id of the call that a notification takes back, if it is such a one."""
    if message.method != "notifications/cancelled":
        return None
    params = read_struct(CANCEL, message.params)
    return None if params is None else params.request


def tool_response(name: msgspec.Raw, result: msgspec.Raw | str, *, is_error: bool = False) -> dict[str, object]:
    """The result of a tool: words, or a whole `CallToolResult`."""
    if isinstance(result, msgspec.Raw):
        return response(name, result)
    content = {"content": [{"type": "text", "text": result}]}
    return response(name, {**content, "isError": True} if is_error else content)


def response(name: msgspec.Raw, result: object) -> dict[str, object]:
    """A JSON-RPC response."""
    return {"jsonrpc": "2.0", "id": name, "result": result}


def failure(name: msgspec.Raw, code: int, reason: str) -> dict[str, object]:
    """A JSON-RPC error."""
    return {"jsonrpc": "2.0", "id": name, "error": {"code": code, "message": reason}}


def _call(server: ToolServer, name: msgspec.Raw, params: msgspec.Raw | None) -> dict[str, object] | ToolCall:
    call = read_struct(CALL, params) or CallParams()
    if call.name not in {tool.name for tool in server.tools}:
        return failure(name, INVALID_PARAMS, f"no tool {call.name!r}")
    given = msgspec.Raw(b"{}") if call.arguments is None else call.arguments.copy()
    return ToolCall(id=name, name=call.name, arguments=given)


def _listed(tool: ToolSpec) -> dict[str, object]:
    return {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
