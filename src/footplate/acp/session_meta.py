"""What a client asks for in the `_meta` of a session's opening, in the words of claude-agent-acp. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.acp.failures import invalid_params
from footplate.events.base import OptionalRaw

CONTROL: Final = ("control_", "keep_alive")
"""Lines between the host and the agent that are no messages of the conversation."""


class RawFilter(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of raw message that a client wants."""

    type: str
    subtype: str | None = None
    origin: str | None = None


class _Origin(msgspec.Struct):
    kind: str = ""


class _Head(msgspec.Struct):
    type: str = ""
    subtype: str = ""
    origin: _Origin | None = None


class _ClaudeCode(msgspec.Struct, frozen=True, kw_only=True):
    options: OptionalRaw = None
    raw: bool | tuple[RawFilter, ...] = msgspec.field(name="emitRawSDKMessages", default=False)


class _Append(msgspec.Struct, frozen=True):
    append: str = ""


class SessionMeta(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The members that we know; everything else in it passes unread."""

    claude_code: _ClaudeCode = _ClaudeCode()
    system_prompt: str | _Append = ""
    additional_roots: tuple[str, ...] = ()
    disable_built_in_tools: bool = False

    @property
    def options(self) -> OptionalRaw:
        """Options of the engine's own; no tools of its own is an older way to ask for none of them."""
        given = self.claude_code.options
        if not self.disable_built_in_tools:
            return given
        fields = msgspec.json.decode(given or b"{}", type=dict[str, msgspec.Raw])
        return msgspec.Raw(msgspec.json.encode({"tools": msgspec.Raw(b"[]"), **fields}))

    @property
    def raw(self) -> RawMessages | None:
        """Which raw messages are wanted, if any."""
        wanted = self.claude_code.raw
        return None if wanted is False or wanted == () else RawMessages(() if wanted is True else wanted)


_decoder: Final = msgspec.json.Decoder(SessionMeta)
_head_decoder: Final = msgspec.json.Decoder(_Head)


def read_session_meta(raw: OptionalRaw) -> SessionMeta:
    """What is asked for. Raises `Failure` for a known member in a shape that it does not have."""
    if raw is None:
        return SessionMeta()
    try:
        return _decoder.decode(raw)
    except msgspec.ValidationError as problem:
        raise invalid_params(f"_meta: {problem}") from problem


class RawMessages:
    """Chooses among an agent's lines those that a client wants to see as they are."""

    def __init__(self, filters: tuple[RawFilter, ...]) -> None:
        self._filters = filters

    def choose(self, lines: bytes) -> list[msgspec.Raw]:
        """The messages among whole lines; what is no JSON, or not part of the conversation, is none."""
        return [msgspec.Raw(line) for line in lines.split(b"\n") if line.startswith(b"{") and self._wants(line)]

    def _wants(self, line: bytes) -> bool:
        try:
            if not line.isascii():
                line.decode()  # the client gets the line as it is
            head = _head_decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        if not head.type or head.type.startswith(CONTROL):
            return False
        return not self._filters or any(_fits(each, head) for each in self._filters)


def _fits(wanted: RawFilter, head: _Head) -> bool:
    return (
        wanted.type == head.type
        and wanted.subtype in (None, head.subtype)
        and (wanted.origin is None or (head.origin is not None and head.origin.kind == wanted.origin))
    )
