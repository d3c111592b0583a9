"""A session as JSONL: a first line that says what it is, then one line per event with its schema version."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from typing import Literal

import msgspec

from footplate.errors import InvalidValue
from footplate.events.codec import decode_envelope
from footplate.events.ids import SessionId
from footplate.store.base import Lines
from footplate.store.values import Stored

FORMAT = 1


class Title(msgspec.Struct, frozen=True, kw_only=True):
    """The first line."""

    footplate: Literal["session"] = "session"
    format: int = FORMAT
    session: SessionId
    events: int


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """Each further line: an envelope in that schema version."""

    schema: int
    envelope: msgspec.Raw


_title_decoder = msgspec.json.Decoder(Title)
_line_decoder = msgspec.json.Decoder(Line)


def write_title(session: SessionId, events: int) -> bytes:
    """The first line of a session with so many events."""
    return msgspec.json.encode(Title(session=session, events=events)) + b"\n"


def write_line(stored: Stored) -> bytes:
    """The line of one event."""
    return msgspec.json.encode(Line(schema=stored.version, envelope=msgspec.Raw(stored.body))) + b"\n"


class Reader:
    """Reads lines back one by one, and refuses what is not the whole log of one session."""

    def __init__(self, first: bytes) -> None:
        try:
            self._title = _title_decoder.decode(first)
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            raise InvalidValue("line 1", first[:80], f"the first line of an export ({problem})") from None
        if self._title.format != FORMAT:
            raise InvalidValue("format", self._title.format, f"{FORMAT}; a newer Footplate wrote this")
        self._seq = 0

    @property
    def session(self) -> SessionId:
        """Whose log it is."""
        return self._title.session

    def feed(self, raw: bytes) -> Stored:
        """The event of the next line."""
        try:
            raw.decode()  # the parts of an event that stay raw are not looked into
            line = _line_decoder.decode(raw)
            body = bytes(line.envelope)
            envelope = decode_envelope(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            raise InvalidValue(f"line {self._seq + 2}", raw[:80], f"an event in its envelope ({problem})") from None
        self._seq += 1
        if (envelope.session, envelope.seq) != (self.session, self._seq):
            found = f"event {envelope.seq} of {envelope.session}"
            raise InvalidValue(f"line {self._seq + 1}", found, f"event {self._seq} of {self.session}")
        return Stored(self.session, self._seq, line.schema, body)

    def finish(self) -> None:
        """All lines were read."""
        if self._seq != self._title.events:
            raise InvalidValue(
                "events", self._seq, f"{self._title.events}, as the first line says; the file is cut off"
            )


async def each(lines: Lines) -> AsyncIterator[bytes]:
    """The lines that have something on them, however they come."""
    if isinstance(lines, AsyncIterable):
        async for line in lines:
            if line.strip():
                yield line
    else:
        for line in lines:
            if line.strip():
                yield line
