"""One line per frame between us and an agent, at level debug: direction, type, size, session. Never its content.

Lines of stderr are logged whole, without what looks like a secret: they are written for people. Of a flood of them the
first are logged, and how many follow.
"""

from __future__ import annotations

import logging
from typing import Final

import msgspec

from footplate.events.base import OptionalRaw
from footplate.runtime.frame_secrets import redact_text
from footplate.store.chain import UNREADABLE

log = logging.getLogger("footplate.frames")
UNKNOWN_TYPE: Final = "?"
STDERR_CHARS: Final = 2_000
"""How much of a line of stderr is logged."""
STDERR_LINES: Final = 100
"""How many lines of what is read at a time: an agent that floods its stderr must not hold up the loop."""


class _Part(msgspec.Struct):
    """Anything with a type: a stream event and its delta, a content block, an item of a JSON-RPC notification."""

    type: str = ""
    subtype: str = ""
    sessionUpdate: str = ""  # noqa: N815 - as ACP writes it
    delta: OptionalRaw = None
    content_block: OptionalRaw = None
    content: OptionalRaw = None
    update: OptionalRaw = None
    item: OptionalRaw = None


class _Head(msgspec.Struct):
    type: str = ""
    subtype: str = ""
    method: str = ""
    id: object = None
    event: OptionalRaw = None
    request: OptionalRaw = None
    response: OptionalRaw = None
    message: OptionalRaw = None
    params: OptionalRaw = None
    error: OptionalRaw = None


_heads = msgspec.json.Decoder(_Head)
_parts = msgspec.json.Decoder(_Part)
_lists = msgspec.json.Decoder(list[_Part])


def log_frames(session: str, direction: str, lines: bytes) -> None:
    """Log each line, if the level is enabled."""
    if not log.isEnabledFor(logging.DEBUG):
        return
    for line in lines.splitlines():
        fields = {"direction": direction, "type": frame_type(line), "bytes": len(line), "session": session}
        log.debug("frame", extra={"fields": fields})


def log_errors(session: str, lines: bytes, *, size: int = 0) -> None:
    """Log each line of stderr, if the level is enabled; `size` is the length of one line that was cut."""
    if not lines or not log.isEnabledFor(logging.DEBUG):
        return
    all_lines = lines.splitlines()
    for line in all_lines[:STDERR_LINES]:
        text = redact_text(line.decode("utf-8", "replace")[:STDERR_CHARS])
        log.debug("stderr", extra={"fields": {"session": session, "bytes": size or len(line), "line": text}})
    if len(all_lines) > STDERR_LINES:
        fields = {"session": session, "lines": len(all_lines) - STDERR_LINES}
        log.debug("stderr: more lines than are logged", extra={"fields": fields})


def frame_type(line: bytes) -> str:
    """The names that a frame gives itself, from the outside in: `stream_event content_block_delta text_delta`."""
    try:
        head = _heads.decode(line)
    except UNREADABLE:
        return UNKNOWN_TYPE
    if head.method:
        return " ".join((head.method, *_inner_types(head.params)))
    if head.type:
        inner = next((raw for raw in (head.event, head.request, head.response, head.message) if raw is not None), None)
        return " ".join(filter(None, (head.type, head.subtype, *_inner_types(inner))))
    if head.id is None:
        return UNKNOWN_TYPE
    return "response" if head.error is None else "response error"


def _inner_types(raw: msgspec.Raw | None) -> tuple[str, ...]:
    """The types inside a frame; none where it has another shape."""
    part = _read_part(raw)
    if part is None:
        return ()
    name = part.type if part.type != "message" else ""  # each message of the API says so, which is no news
    names = (name, part.subtype, part.sessionUpdate)
    inner = next((raw for raw in (part.update, part.item, part.delta, part.content_block) if raw is not None), None)
    return (*filter(None, names), *(_inner_types(inner) if inner is not None else _content_types(part.content)))


def _content_types(raw: msgspec.Raw | None) -> tuple[str, ...]:
    """The types of the content blocks of a message, each once."""
    try:
        blocks = [] if raw is None else _lists.decode(raw)
    except UNREADABLE:  # a text, or an object
        return ()
    return tuple(dict.fromkeys(block.type for block in blocks if block.type))


def _read_part(raw: msgspec.Raw | None) -> _Part | None:
    try:
        return None if raw is None else _parts.decode(raw)
    except UNREADABLE:
        return None
