"""A session's events: as a stream from a cursor on, as pages of JSON, or folded to started / action / completed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from footplate.errors import CursorLost
from footplate.events.codec import ReadEnvelope
from footplate.events.model import Envelope, Unknown
from footplate.events.runs import RunFold
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import JSON, Routes
from footplate.interfaces.http.sse import MEDIA, WRITE_BYTES, EventStream, frame, read_cursor
from footplate.runtime.log import Delivery, Subscription
from footplate.runtime.session import Session

routes = Routes("events")
PAGE = 500
END = b"\n\n"


class EventsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Where to begin, and how: `follow=0` gives one page of JSON, `view=runs` the shorter story.

    `after` and `epoch` are the number and the epoch of the last event that the reader has.
    """

    after: Annotated[int, Meta(ge=0)] | None = None
    epoch: Annotated[int, Meta(ge=0)] | None = None
    follow: bool = True
    view: Literal["events", "runs"] = "events"
    limit: Annotated[int, Meta(ge=1, le=5000)] = PAGE


class EventsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Envelopes in order. `after` and `epoch` are the cursor of the next page; `more` says whether there is one now."""

    events: tuple[msgspec.Raw, ...]
    after: int
    epoch: int
    more: bool


class Reset(msgspec.Struct, frozen=True, kw_only=True):
    """Sent to a reader whose cursor the log does not have, before the log is sent from its beginning."""

    session: str
    epoch: int
    last_seq: int
    asked: int

    @classmethod
    def of(cls, lost: CursorLost) -> Reset:
        return cls(session=lost.session, epoch=lost.epoch, last_seq=lost.last_seq, asked=lost.after)


class _Named(msgspec.Struct):
    type: str


class _Peek(msgspec.Struct):
    event: _Named
    epoch: int = 1


_peek = msgspec.json.Decoder(_Peek)


def event_chunks(delivery: Delivery) -> Sequence[bytes]:
    """The delivery on the wire. A small one is put together once for all streams, a large one is not copied."""
    if delivery.wired:
        return (delivery.wired,)
    head = _head(delivery)
    if len(delivery.body) >= WRITE_BYTES:
        return (head, delivery.body, END)
    msgspec.structs.force_setattr(delivery, "wired", head + delivery.body + END)
    return (delivery.wired,)


def _head(delivery: Delivery) -> bytes:
    """The fields before the data. An ephemeral event has no id, so a reader's last id is always a lasting event's."""
    known = delivery.known
    if known is not None:
        name, epoch = type(known.event).__name__, known.epoch
    else:
        found = _peek.decode(delivery.body)
        name, epoch = found.event.type, found.epoch
    number = f"id: {delivery.seq}.{epoch}\n" if delivery.lasting else ""
    return f"event: {name}\n{number}data: ".encode()


def reset_chunk(lost: CursorLost) -> bytes:
    """The reset on the wire."""
    return frame(msgspec.json.encode(Reset.of(lost)), event="reset", cursor=0)


class SessionFeed:
    """A session's log as a stream, from a cursor on. A cursor that the log does not have is answered with a reset."""

    def __init__(self, live: Session, after: int, epoch: int | None) -> None:
        self._live = live
        self._subscription = live.subscribe(after, epoch)
        self._written: Sequence[Delivery] = ()
        """What is being written: as long as one stream holds a large event, others share it (`SessionLog.share`)."""

    async def next(self) -> Sequence[bytes]:
        """The chunks that are ready."""
        try:
            delivery = await anext(self._subscription, None)
        except CursorLost as lost:
            self._subscription.close()
            self._subscription = self._live.subscribe(0)
            return (reset_chunk(lost),)
        if delivery is None:
            return ()
        self._written = (delivery, *self._subscription.ready())
        return [chunk for each in self._written for chunk in event_chunks(each)]

    def close(self) -> None:
        """No more is wanted."""
        self._subscription.close()


class RunFeed:
    """The log folded to started, action and completed for each turn.

    The fold needs the whole log. What a reader that comes back has had already, up to its cursor, is not sent again.
    """

    def __init__(self, live: Session, after: int, epoch: int | None) -> None:
        self._live = live
        self._after = after
        self._cursor: Subscription | None = live.subscribe(after, epoch)
        self._subscription = live.subscribe(0)
        self._fold = RunFold()

    async def next(self) -> Sequence[bytes]:
        """The chunks that are ready."""
        if self._cursor is not None:
            try:
                await self._cursor.check()
            except CursorLost as lost:
                self._after = 0
                return (reset_chunk(lost),)
            finally:
                self._cursor.close()
                self._cursor = None
        while (delivery := await anext(self._subscription, None)) is not None:
            chunks = [chunk for each in (delivery, *self._subscription.ready()) for chunk in self._feed(each)]
            if chunks:
                return chunks
        return ()

    def _feed(self, delivery: Delivery) -> list[bytes]:
        envelope = delivery.envelope()
        if isinstance(envelope.event, Unknown):
            return []
        if self._fold.completed:
            self._fold = RunFold()
        runs = self._fold.feed(envelope.event)
        if delivery.seq < self._after or (delivery.lasting and delivery.seq == self._after):
            return []
        # Only the last of them has an id: a reader that is cut off between two gets both again.
        ids = [""] * len(runs)
        if runs and delivery.lasting:
            ids[-1] = f"{delivery.seq}.{envelope.epoch}"
        return [
            frame(msgspec.json.encode(each), event=type(each).__name__.lower(), cursor=name)
            for each, name in zip(runs, ids, strict=True)
        ]

    def close(self) -> None:
        """No more is wanted."""
        if self._cursor is not None:
            self._cursor.close()
        self._subscription.close()


@routes.get(
    "/api/sessions/{session}/events",
    scope="read",
    summary="The session's events: a stream from a cursor on (`Last-Event-ID` or `after`), or a page (`follow=0`)",
    media=MEDIA,
    problems=(404, 410),
)
async def events(call: Call, query: EventsQuery) -> EventStream | Response:
    live = await call.session()
    after, epoch = _cursor(call, query)
    if not query.follow:
        page = await read_page(call, live, after, epoch, query)
        return Response(msgspec.json.encode(page), media_type=JSON)
    if query.view == "runs":
        return EventStream(call, RunFeed(live, after, epoch))
    return EventStream(call, SessionFeed(live, after, epoch))


def _cursor(call: Call, query: EventsQuery) -> tuple[int, int | None]:
    """The number and the epoch of the last event that the caller has; a plain number says nothing of the epoch."""
    return read_cursor(call) or (query.after or 0, query.epoch)


async def read_page(call: Call, live: Session, after: int, epoch: int | None, query: EventsQuery) -> EventsPage:
    """One page of the log. Raises `CursorLost` for a cursor that it does not have."""
    view = live.view()
    if after > view.last_seq:
        raise CursorLost(live.id, after, view.last_seq, view.epoch)
    rows = await call.api.store.read(live.id, after, query.limit, epoch=epoch if after else None)
    last = rows[-1].seq if rows else after
    reached = _peek.decode(rows[-1].body).epoch if rows else view.epoch
    if query.view == "runs":
        bodies = _folded([row.envelope() for row in rows])
    else:
        bodies = tuple(msgspec.Raw(row.body) for row in rows)
    return EventsPage(events=bodies, after=last, epoch=reached, more=last < view.last_seq)


def _folded(envelopes: Sequence[Envelope | ReadEnvelope]) -> tuple[msgspec.Raw, ...]:
    fold = RunFold()
    found: list[msgspec.Raw] = []
    for envelope in envelopes:
        if isinstance(envelope.event, Unknown):
            continue
        if fold.completed:
            fold = RunFold()
        found += [msgspec.Raw(msgspec.json.encode(each)) for each in fold.feed(envelope.event)]
    return tuple(found)
