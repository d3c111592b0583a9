"""Server-sent events, taken apart: bytes in, events out. No I/O."""

from __future__ import annotations

from typing import Final

import msgspec

NEWLINES: Final = (b"\r\n", b"\r")


class SseEvent(msgspec.Struct, frozen=True, gc=False):
    """One event of a stream; `id` is None where it names none."""

    event: str
    data: bytes
    id: str | None = None


class SseDecoder:
    """Put together from chunks as they come; a chunk may end anywhere.

    Each byte is looked at once, because an event may be as large as an agent's longest line and come in many chunks.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._held = b""
        """The last byte of what came, where the next one decides what it means: a line's end, or half of one."""

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that the chunk completes."""
        text = self._held + chunk
        self._held = b""
        if b"\r" in text:
            if text.endswith(b"\r"):
                text, self._held = text[:-1], b"\r"
            for newline in NEWLINES:
                text = text.replace(newline, b"\n")
        *blocks, rest = text.split(b"\n\n")
        if rest.endswith(b"\n"):
            rest, self._held = rest[:-1], b"\n" + self._held
        if blocks:
            blocks[0] = b"".join((*self._pieces, blocks[0]))
            self._pieces.clear()
        self._pieces.append(rest)
        return [found for block in blocks if (found := _read(block)) is not None]


def _read(block: bytes) -> SseEvent | None:
    """An event, or None for comments alone."""
    name, number = "message", None
    data: list[bytes] = []
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match field:
            case b"data":
                data.append(value)
            case b"event":
                name = value.decode(errors="replace")
            case b"id":
                number = value.decode(errors="replace")
    return SseEvent(name, b"\n".join(data), number) if data else None
