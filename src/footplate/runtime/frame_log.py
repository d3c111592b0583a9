"""One line per frame between us and an agent, at level debug: direction, type, size, session. Never its content."""

from __future__ import annotations

import logging
from typing import Final

import msgspec

log = logging.getLogger("footplate.frames")
UNREADABLE: Final = "?"


class _Head(msgspec.Struct):
    type: str = ""
    subtype: str = ""
    method: str = ""
    id: object = None


_decoder = msgspec.json.Decoder(_Head)


def log_frames(session: str, direction: str, lines: bytes) -> None:
    """Log each line, if somebody listens."""
    if not log.isEnabledFor(logging.DEBUG):
        return
    for line in lines.splitlines():
        fields = {"direction": direction, "type": frame_type(line), "bytes": len(line), "session": session}
        log.debug("frame", extra={"fields": fields})


def frame_type(line: bytes) -> str:
    """What the frame calls itself: its type and subtype, or its method."""
    try:
        head = _decoder.decode(line)
    except msgspec.DecodeError:
        return UNREADABLE
    if head.method:
        return head.method
    if head.type:
        return f"{head.type}/{head.subtype}" if head.subtype else head.type
    return "response" if head.id is not None else UNREADABLE
