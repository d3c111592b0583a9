"""Lines of an agent that speaks JSON-RPC: sorted, and kept as they came where they have no meaning. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from footplate.acp import jsonrpc
from footplate.acp.jsonrpc import Envelope
from footplate.engines.base import Reaction, oversize_notice
from footplate.events.model import Event, Unparsed
from footplate.host.lines import BadLine, Block, decode_block

RAW_LIMIT: Final = 64 * 1024
"""How much of a line that we cannot read is kept; its whole size is told beside it."""


class RpcLines:
    """The agent's side of the wire: what is read becomes events, and frames to write back."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.frames: list[bytes] = []
        self._at = (Block(), 0)

    def react(self) -> Reaction:
        """What has gathered since the last time."""
        reaction = Reaction(events=self.events, frames=tuple(self.frames))
        self.events, self.frames = [], []
        return reaction

    def read(self, block: Block) -> Iterator[Envelope]:
        """Every message of the block, in order; what is none is kept."""
        frames = decode_block(jsonrpc.envelope_decoder, block.lines)
        for place, frame in enumerate(frames):
            self._at = (block, place)
            if isinstance(frame, BadLine):
                self._keep_raw(frame.raw, frame.reason)
            elif frame.kind == "invalid":
                self.keep("not a JSON-RPC message")
            else:
                yield frame
        for oversize in block.oversize:
            self.events.append(oversize_notice(oversize))

    def keep(self, reason: str) -> None:
        """Keep the line that is being read as it came: it has no meaning for us."""
        block, place = self._at
        self._keep_raw([line for line in block.lines.split(b"\n") if line.strip()][place], reason)

    def _keep_raw(self, raw: bytes, reason: str) -> None:
        text = raw[:RAW_LIMIT].decode(errors="replace")
        self.events.append(Unparsed(raw=text, reason=reason, size=len(raw)))
