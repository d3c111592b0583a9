"""Events and envelopes to JSON and back; a reader keeps a type it does not know."""

from __future__ import annotations

import msgspec

from footplate.events.base import Source
from footplate.events.ids import SessionId, TurnId
from footplate.events.model import Envelope, Event, Unknown


class ReadEnvelope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An envelope as a reader gets it: the event may be of a later version of Footplate."""

    seq: int
    time: float
    session: SessionId
    event: Event | Unknown
    epoch: int = 1
    turn: TurnId | None = None
    source: Source = "engine"


class _Outer(msgspec.Struct, frozen=True, kw_only=True):
    seq: int
    time: float
    session: SessionId
    event: msgspec.Raw
    epoch: int = 1
    turn: TurnId | None = None
    source: Source = "engine"


class _Tag(msgspec.Struct):
    type: str


_encoder = msgspec.json.Encoder()
_event_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_outer_decoder = msgspec.json.Decoder(_Outer)
_tag_decoder = msgspec.json.Decoder(_Tag)


def encode(value: Envelope | Event) -> bytes:
    """The one JSON form of an envelope or a bare event, without a newline."""
    return _encoder.encode(value)


def decode_event(raw: bytes | msgspec.Raw) -> Event | Unknown:
    """The event, or `Unknown` with the raw text when this version has no such type (or not in this shape)."""
    try:
        return _event_decoder.decode(raw)
    except msgspec.ValidationError:
        return Unknown(type=_tag_decoder.decode(raw).type, raw=msgspec.Raw(bytes(raw)))


def decode_envelope(raw: bytes) -> ReadEnvelope:
    """An envelope whose event may be `Unknown`; a line that is no envelope at all raises `msgspec.DecodeError`."""
    outer = _outer_decoder.decode(raw)
    return ReadEnvelope(
        seq=outer.seq,
        time=outer.time,
        session=outer.session,
        event=decode_event(outer.event),
        epoch=outer.epoch,
        turn=outer.turn,
        source=outer.source,
    )
