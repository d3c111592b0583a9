"""What the CLI calls in our process: hooks that we registered, and tools of servers inside it. Pure.

The results of handlers come back by the id of the CLI's control request. A call that the CLI no longer waits for is
forgotten; its late result then means nothing.
"""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.engines.base import HookSpec, HostCall, ToolServer
from footplate.engines.claude import control, mcp
from footplate.engines.claude.lenient import read_struct
from footplate.engines.claude.wire import Part
from footplate.events.base import OptionalRaw

PASS: Final = msgspec.Raw(b"{}")
"""What a hook says that has nothing to say."""


class HostRequest(Part, frozen=True, kw_only=True):
    """A control request to something of ours."""

    subtype: str = ""
    callback_id: str = ""
    input: OptionalRaw = None
    server_name: str = ""
    message: mcp.Message = mcp.Message()


class OpenCall(msgspec.Struct, frozen=True):
    """A call that waits for its handler: of a hook, or of a server's tool by the id of the server's protocol."""

    server: str = ""
    name: msgspec.Raw = PASS


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """What a control request comes to: a frame that answers it, a call for a handler, a call that is taken back."""

    frame: bytes = b""
    call: HostCall | None = None
    dropped: str = ""


HOST_REQUEST: Final = msgspec.json.Decoder(HostRequest)


class Hosting:
    """The hooks and tools of one process, and the calls of them that are open."""

    def __init__(self, hooks: tuple[HookSpec, ...], servers: tuple[ToolServer, ...]) -> None:
        self._hooks = hooks
        self._servers = {server.name: server for server in servers}
        self._strangers = set(self._servers)
        self._open: dict[str, OpenCall] = {}

    @property
    def introduced(self) -> bool:
        """Whether the CLI has seen the tools of every server: a prompt before that would not find them (2.1.197)."""
        return not self._strangers

    def registration(self) -> dict[str, object]:
        """What `initialize` says of them."""
        said: dict[str, object] = {}
        if self._hooks:
            said["hooks"] = self._listed_hooks()
        if self._servers:
            said["sdkMcpServers"] = list(self._servers)
        return said

    def take(self, request_id: str, raw: msgspec.Raw | None) -> Served:
        """A control request to something of ours."""
        asked = read_struct(HOST_REQUEST, raw) or HostRequest()
        if asked.subtype == "mcp_message":
            return self._message(request_id, asked)
        if asked.callback_id not in {hook.name for hook in self._hooks}:
            return Served(frame=control.refusal_frame(request_id, f"no hook {asked.callback_id!r}"))
        self._open[request_id] = OpenCall()
        payload = PASS if asked.input is None else asked.input.copy()
        return Served(call=HostCall(key=request_id, kind="hook", name=asked.callback_id, payload=payload))

    def drop(self, request_id: str) -> bool:
        """The CLI takes a call back; False when there is none."""
        return self._open.pop(request_id, None) is not None

    def reply(self, request_id: str, result: msgspec.Raw | str, error: str) -> tuple[bytes, ...]:
        """The frame for what a handler made of a call; none when nobody waits for it."""
        call = self._open.pop(request_id, None)
        if call is None:
            return ()
        if call.server:
            answer = mcp.tool_response(call.name, error or result, is_error=bool(error))
            return (control.success_frame(request_id, {"mcp_response": answer}),)
        if error:
            return (control.refusal_frame(request_id, error),)
        return (control.success_frame(request_id, result if isinstance(result, msgspec.Raw) else PASS),)

    def _message(self, request_id: str, asked: HostRequest) -> Served:
        server = self._servers.get(asked.server_name)
        if server is None:
            return Served(frame=control.refusal_frame(request_id, f"no server {asked.server_name!r}"))
        served = mcp.serve(server, asked.message)
        if asked.message.method == "tools/list":
            self._strangers.discard(server.name)
        if not isinstance(served, mcp.ToolCall):
            frame = control.success_frame(request_id, {"mcp_response": served})
            return Served(frame=frame, dropped=self._taken_back(server.name, mcp.cancelled_call(asked.message)))
        self._open[request_id] = OpenCall(server.name, served.id)
        name = f"{server.name}.{served.name}"
        return Served(call=HostCall(key=request_id, kind="tool", name=name, payload=served.arguments))

    def _taken_back(self, server: str, name: msgspec.Raw | None) -> str:
        """The request of the call that a server's client takes back by its id; empty when there is none."""
        for request_id, call in self._open.items():
            if name is not None and (call.server, call.name) == (server, name):
                del self._open[request_id]
                return request_id
        return ""

    def _listed_hooks(self) -> dict[str, list[object]]:
        listed: dict[str, list[object]] = {}
        for hook in self._hooks:
            entry: dict[str, object] = {"hookCallbackIds": [hook.name]}
            if hook.matcher:
                entry["matcher"] = hook.matcher
            if hook.timeout_s is not None:
                entry["timeout"] = hook.timeout_s
            listed.setdefault(hook.event, []).append(entry)
        return listed
