"""Spans as plain values, and the ids by which they hang together: the same thing has the same id in every process."""

from __future__ import annotations

from hashlib import sha256

import msgspec

Attribute = str | bool | int | float | tuple[str, ...]
Attributes = dict[str, Attribute]


class SpanEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened at one moment of a span."""

    name: str
    time: float
    attributes: Attributes = {}


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """One finished span. `error` says what failed, and is None where nothing did."""

    name: str
    trace: int
    id: int
    parent: int | None
    start: float
    end: float
    attributes: Attributes
    events: tuple[SpanEvent, ...] = ()
    error: str | None = None


class OpenSpan(msgspec.Struct, kw_only=True):
    """A span that has not ended; what becomes known of it is added."""

    name: str
    trace: int
    id: int
    parent: int | None
    start: float
    attributes: Attributes
    events: list[SpanEvent] = []

    def note(self, name: str, time: float, attributes: Attributes) -> None:
        """Something happened now."""
        self.events.append(SpanEvent(name=name, time=time, attributes=attributes))

    def end(self, time: float, *, error: str | None = None) -> Span:
        """It is over. A clock that was set back makes no span end before it began."""
        return Span(
            name=self.name,
            trace=self.trace,
            id=self.id,
            parent=self.parent,
            start=self.start,
            end=max(time, self.start),
            attributes=self.attributes,
            events=tuple(self.events),
            error=error,
        )


def trace_id(session: str, turn: str) -> int:
    """The trace of a turn: 128 bits."""
    return _number(16, session, turn)


def span_id(trace: int, kind: str, name: str) -> int:
    """A span of that trace: 64 bits."""
    return _number(8, f"{trace:x}", kind, name)


def _number(size: int, *parts: str) -> int:
    digest = sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:size], "big") or 1  # zero means "none" to OpenTelemetry
