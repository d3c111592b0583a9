"""Lines of an agent that speaks JSON-RPC: sorted, and kept as they came where they have no meaning. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from footplate.acp import jsonrpc
from footplate.acp.jsonrpc import Envelope, RpcError, RpcId
from footplate.engines.base import Reaction, oversize_notice
from footplate.events.model import Event, Unparsed
from footplate.host.lines import BLANK, BadLine, Block, decode_block, read_head

RAW_LIMIT: Final = 64 * 1024
"""How much of a line that we cannot read is kept; its whole size is told beside it."""


class RpcLines:
    """The agent's side of the wire: what is read becomes events, and frames to write back."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.frames: list[bytes] = []
        self._block = Block()
        self._place = 0
        self._lines: list[bytes] | None = None
        """The lines of the block, from the first one on that is kept: to cut a block for each line is quadratic."""

    def react(self) -> Reaction:
        """What has gathered since the last time."""
        reaction = Reaction(events=self.events, frames=tuple(self.frames))
        self.events, self.frames = [], []
        return reaction

    def read(self, block: Block) -> Iterator[Envelope]:
        """Every message of the block, in order; what is none is kept.

        Neither side may wait for ever on a message that cannot be read: a request gets an error as its response, and
        a response becomes an error.
        """
        frames = decode_block(jsonrpc.envelope_decoder, block.lines)
        self._begin(block)
        for self._place, frame in enumerate(frames):
            if isinstance(frame, BadLine):
                self._keep_raw(frame.raw, frame.reason)
                yield from self._broken(frame.raw, frame.reason)
            elif frame.kind == "invalid":
                self.keep("not a JSON-RPC message")
            else:
                yield frame
        for oversize in block.oversize:
            self._begin(Block(oversize.head))
            self.events.append(oversize_notice(oversize))
            yield from self._broken(oversize.head, oversize.text)

    def _begin(self, block: Block) -> None:
        self._block, self._place, self._lines = block, 0, None

    def _broken(self, line: bytes, reason: str) -> Iterator[Envelope]:
        broken = read_broken(line, reason)
        if broken is None:
            return
        if broken.asks:
            self.frames.append(broken.frame)
        else:
            yield Envelope(id=broken.id, error=broken.error)

    def keep(self, reason: str) -> None:
        """Keep the line that is being read as it came: it has no meaning for us."""
        if self._lines is None:
            self._lines = [line for line in self._block.lines.split(b"\n") if line.strip(BLANK)]
        self._keep_raw(self._lines[self._place], reason)

    def _keep_raw(self, raw: bytes, reason: str) -> None:
        text = raw[:RAW_LIMIT].decode(errors="replace")
        self.events.append(Unparsed(raw=text, reason=reason, size=len(raw)))


class Broken(msgspec.Struct, frozen=True):
    """A request or a response that cannot be decoded, and the error that takes the place of the response."""

    asks: bool
    id: RpcId
    error: RpcError

    @property
    def frame(self) -> bytes:
        """The response."""
        return jsonrpc.encode_error(self.id, self.error.code, self.error.message)


def read_broken(line: bytes, reason: str) -> Broken | None:
    """What can be known of a line that cannot be decoded; None when its head names no request and no response."""
    head = read_head(line)
    try:
        rpc_id = msgspec.json.decode(head.get("id", b""), type=RpcId)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    asks = "method" in head or "params" in head
    if not asks and "result" not in head and "error" not in head:
        return None
    return Broken(asks, rpc_id, RpcError(code=jsonrpc.PARSE_ERROR, message=f"Parse error: {reason}"))
