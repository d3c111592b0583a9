"""Saying hello to an agent: the first line for each kind of wire, and what its answer tells. Pure.

The answer proves that a program is what it should be, before anybody relies on it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.engines.distribution import Wire
from footplate.events.base import OptionalRaw
from footplate.version import __version__

_ACP: Final = {
    "protocolVersion": 1,
    "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
    "clientInfo": {"name": "footplate", "version": __version__},
}
_CODEX: Final = {"clientInfo": {"name": "footplate", "title": "Footplate", "version": __version__}}
_HELLO: Final[dict[Wire, dict[str, object]]] = {
    "acp": {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _ACP},
    "codex": {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _CODEX},
    "claude": {"type": "control_request", "request_id": "1", "request": {"subtype": "initialize"}},
}
UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class Greeted(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent answered: who it says it is, or why it will not talk."""

    name: str = ""
    version: str = ""
    refused: str = ""

    def describe(self) -> str:
        """A few words: `gemini-cli 0.61.0`."""
        return f"{self.name} {self.version}".strip() or "an answer without a name"


class _Info(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    title: str = ""
    version: str = ""


class _Result(msgspec.Struct, frozen=True, rename="camel"):
    agent_info: _Info | None = None
    user_agent: str = ""


class _Error(msgspec.Struct, frozen=True):
    message: str = ""


class _Answer(msgspec.Struct, frozen=True):
    id: int | str | None = None
    result: OptionalRaw = None
    error: _Error | None = None


class _Control(msgspec.Struct, frozen=True):
    subtype: str = ""
    request_id: str = ""
    error: str = ""


class _Line(msgspec.Struct, frozen=True):
    type: str = ""
    response: _Control | None = None


def hello(wire: Wire) -> bytes:
    """The line to begin with."""
    return msgspec.json.encode(_HELLO[wire]) + b"\n"


def read_hello(wire: Wire, line: bytes) -> Greeted | None:
    """The answer, where the line is one; whatever else comes before it is none of our business."""
    try:
        return _read_claude(line) if wire == "claude" else _read_jsonrpc(line)
    except UNREADABLE:
        return None


def _read_claude(line: bytes) -> Greeted | None:
    told = msgspec.json.decode(line, type=_Line)
    if told.type != "control_response" or told.response is None or told.response.request_id != "1":
        return None
    return Greeted(name="claude") if told.response.subtype == "success" else Greeted(refused=told.response.error)


def _read_jsonrpc(line: bytes) -> Greeted | None:
    told = msgspec.json.decode(line, type=_Answer)
    if told.id != 1 or (told.result is None and told.error is None):
        return None
    if told.error is not None:
        return Greeted(refused=told.error.message or "it refused `initialize`")
    found = msgspec.json.decode(told.result or b"{}", type=_Result)
    info = found.agent_info or _Info()
    return Greeted(name=info.name or info.title or found.user_agent, version=info.version)
