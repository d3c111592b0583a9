"""Pieces of one text that come together are told as one piece."""

from __future__ import annotations

from itertools import groupby

from msgspec.structs import replace

from footplate.events.model import Event, MessageDelta, ThoughtDelta, ToolUpdated, is_ephemeral

_WRITTEN = (MessageDelta, ThoughtDelta)
Text = tuple[type[Event], str, int]


def join_deltas(events: list[Event]) -> list[Event]:
    """The same events in the same order, but pieces of one text that follow each other joined into one.

    Every reader pays for every event; what a reader makes of them is the same. Lasting events are never joined.
    """
    if len(events) < 2:
        return events
    joined: list[Event] = []
    for text, pieces in groupby(events, _text_of):
        group = list(pieces)
        joined += group if text is None or len(group) == 1 else [_join(group)]
    return joined


def _text_of(event: Event) -> Text | None:
    """Which text the event is a piece of; None when it is none, or all of the text so far."""
    if isinstance(event, _WRITTEN):
        return None if event.reset else (type(event), event.message, event.part)
    if isinstance(event, ToolUpdated) and not event.reset and is_ephemeral(event):
        return type(event), event.call, 0
    return None


def _join(pieces: list[Event]) -> Event:
    first = pieces[0]
    if isinstance(first, _WRITTEN):
        return replace(first, text="".join([piece.text for piece in pieces if isinstance(piece, _WRITTEN)]))
    updates = [piece for piece in pieces if isinstance(piece, ToolUpdated)]
    return replace(
        updates[0],
        input_delta="".join([piece.input_delta for piece in updates]),
        output_delta="".join([piece.output_delta for piece in updates]),
    )
