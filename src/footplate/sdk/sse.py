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
    """Put together from chunks as they come; a chunk may end anywhere."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that the chunk completes."""
        text = self._rest + chunk
        if b"\r" in text:
            held = text[-1:] == b"\r"  # perhaps half of a line's end
            text = text[:-1] if held else text
            for newline in NEWLINES:
                text = text.replace(newline, b"\n")
            text += b"\r" if held else b""
        *blocks, self._rest = text.split(b"\n\n")
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
