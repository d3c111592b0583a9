"""What the tools of Claude Code answered, in full: its lines hold it beside the text that the model reads. Pure.

It is told to editors as claude-agent-acp does (`_meta.claudeCode.toolResponse`) and is in no log: the content of whole
files is part of it. So it is read from the lines as they come, and held until the call's end is told.
"""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.events.base import OptionalRaw
from footplate.events.ids import ToolCallId

MARK: Final = b'"tool_use_result"'
HELD: Final = 64
"""How many answers are held at most; calls of which no end is told are not asked for."""


class _Block(msgspec.Struct):
    type: str = ""
    tool_use_id: str = ""


class _Body(msgspec.Struct):
    content: list[_Block] = []


class _Line(msgspec.Struct):
    type: str = ""
    message: _Body = msgspec.field(default_factory=_Body)
    tool_use_result: OptionalRaw = None


_decoder: Final = msgspec.json.Decoder(_Line)


class ToolResponses:
    """The answers of calls that are ending."""

    def __init__(self) -> None:
        self._held: dict[str, msgspec.Raw] = {}

    def read(self, lines: bytes) -> None:
        """Look through whole lines of the agent."""
        if MARK not in lines:
            return
        for line in lines.split(b"\n"):
            if MARK in line:
                self._take(line)

    def take(self, call: ToolCallId) -> OptionalRaw:
        """What the call's tool answered, once."""
        return self._held.pop(call, None)

    def _take(self, line: bytes) -> None:
        try:
            if not line.isascii():
                line.decode()  # the decoder does not look into what it leaves raw
            read = _decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return  # the translator tells of it
        calls = [block.tool_use_id for block in read.message.content if block.type == "tool_result"]
        if read.type != "user" or len(calls) != 1 or read.tool_use_result is None:
            return
        while len(self._held) >= HELD:
            del self._held[next(iter(self._held))]
        self._held[calls[0]] = read.tool_use_result.copy()
