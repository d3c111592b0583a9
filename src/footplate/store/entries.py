"""What may be appended, checked before anything is written; the same rules for every store."""

from __future__ import annotations

from collections.abc import Sequence

from footplate.errors import CursorLost, InvalidValue, WrongEpoch, WrongSequence
from footplate.events.codec import encode
from footplate.events.ids import SessionId
from footplate.events.model import Envelope, is_ephemeral
from footplate.store.values import Encoded


def prepare_entries(
    session: SessionId, epoch: int, expected_seq: int, events: Sequence[Envelope | Encoded]
) -> list[Encoded]:
    """The events encoded, if they are numbered densely, durable, and all of this session and epoch."""
    if not events:
        raise InvalidValue("events", events, "at least one event")
    entries = [given if type(given) is Encoded else Encoded(given, encode(given)) for given in events]
    seq = expected_seq
    for entry in entries:
        envelope = entry.envelope
        seq += 1
        if envelope.seq != seq:
            raise InvalidValue("seq", envelope.seq, f"{seq}, the number after the one before it")
        if envelope.session != session:
            raise InvalidValue("session", envelope.session, f"{session!r}, the session whose log it is")
        if envelope.epoch != epoch:
            raise InvalidValue("epoch", envelope.epoch, f"{epoch}, the epoch of the append")
        if is_ephemeral(envelope.event):
            raise InvalidValue("event", type(envelope.event).__name__, "a durable event; this one is only for readers")
    return entries


def check_place(session: SessionId, *, epoch: int, expected: int, head_epoch: int, head_seq: int) -> None:
    """Refuse a writer that is not the owner, or that does not know where the log ends."""
    if epoch != head_epoch:
        raise WrongEpoch(session, epoch, head_epoch)
    if expected != head_seq:
        raise WrongSequence(session, expected, head_seq)


def check_cursor(
    session: SessionId, after: int, *, seen: int | None, found: int | None, last_seq: int, epoch: int
) -> None:
    """Refuse a cursor past the end, or at an event that is not the one the reader saw.

    `seen` is the epoch the reader saw there (None: it does not say), `found` the one the log has.
    """
    if after == 0:
        return
    if after > last_seq or (seen is not None and seen != found):
        raise CursorLost(session, after, last_seq, epoch)


def check_range(after: int, limit: int) -> None:
    """Refuse a cursor or a limit that cannot be."""
    if after < 0:
        raise InvalidValue("after", after, "the number of an event, or 0 for all")
    check_limit(limit)


def check_limit(limit: int) -> None:
    """Refuse a limit that asks for nothing."""
    if limit < 1:
        raise InvalidValue("limit", limit, "at least 1")
