"""A session's events: as a stream from a cursor on, as pages of JSON, or folded to started / action / completed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from footplate.errors import CursorLost, InvalidValue
from footplate.events.codec import ReadEnvelope
from footplate.events.model import Envelope, Unknown
from footplate.events.runs import RunFold
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import JSON, Routes
from footplate.interfaces.http.sse import MEDIA, EventStream, frame
from footplate.runtime.log import Delivery, Subscription
from footplate.runtime.session import Session

routes = Routes("events")
PAGE = 500


class EventsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Where to begin, and how: `follow=0` gives one page of JSON, `view=runs` the shorter story."""

    after: Annotated[int, Meta(ge=0)] | None = None
    epoch: Annotated[int, Meta(ge=0)] | None = None
    follow: bool = True
    view: Literal["events", "runs"] = "events"
    limit: Annotated[int, Meta(ge=1, le=5000)] = PAGE


class EventsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Envelopes in order. `after` is the cursor of the next page; `more` says whether there is one now."""

    events: tuple[msgspec.Raw, ...]
    after: int
    epoch: int
    more: bool


class Reset(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader is told whose cursor the log does not have: begin anew, under this epoch."""

    session: str
    epoch: int
    last_seq: int
    asked: int


class _Named(msgspec.Struct):
    type: str


class _Peek(msgspec.Struct):
    event: _Named


_peek = msgspec.json.Decoder(_Peek)


def event_chunk(delivery: Delivery) -> bytes:
    """The delivery as it stands on the wire: made once, shared by every stream that carries it."""
    if not delivery.wired:
        known = delivery.known
        name = type(known.event).__name__ if known is not None else _peek.decode(delivery.body).event.type
        msgspec.structs.force_setattr(delivery, "wired", frame(delivery.body, event=name, number=delivery.seq))
    return delivery.wired


class SessionFeed:
    """A session's log as a stream: first what must be said before, then everything after the cursor, then live."""

    def __init__(self, subscription: Subscription, first: Sequence[bytes] = ()) -> None:
        self._subscription = subscription
        self._first = first

    async def next(self) -> Sequence[bytes]:
        """The chunks that are ready."""
        if self._first:
            first, self._first = self._first, ()
            return first
        delivery = await anext(self._subscription, None)
        if delivery is None:
            return ()
        waiting = self._subscription.ready()
        if not waiting:
            return (event_chunk(delivery),)
        return [event_chunk(delivery), *map(event_chunk, waiting)]

    def close(self) -> None:
        """No more is wanted."""
        self._subscription.close()


class RunFeed:
    """The same, folded: started, action, completed for each turn. It begins with the session: a fold needs it all."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self._fold = RunFold()

    async def next(self) -> Sequence[bytes]:
        """The chunks that are ready."""
        while (delivery := await anext(self._subscription, None)) is not None:
            chunks = [chunk for each in (delivery, *self._subscription.ready()) for chunk in self._feed(each)]
            if chunks:
                return chunks
        return ()

    def _feed(self, delivery: Delivery) -> list[bytes]:
        event = delivery.envelope().event
        if isinstance(event, Unknown):
            return []
        if self._fold.completed:
            self._fold = RunFold()
        told = self._fold.feed(event)
        return [
            frame(msgspec.json.encode(each), event=type(each).__name__.lower(), number=delivery.seq) for each in told
        ]

    def close(self) -> None:
        """No more is wanted."""
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
    after = _cursor(call, query)
    if not query.follow:
        page = await read_page(call, live, after, query)
        return Response(msgspec.json.encode(page), media_type=JSON)
    if query.view == "runs":
        return EventStream(call, RunFeed(live.subscribe(0)))
    return EventStream(call, open_feed(live, after, epoch=query.epoch))


def open_feed(live: Session, after: int, *, epoch: int | None = None) -> SessionFeed:
    """The session from a cursor on; a cursor that it does not have is answered with a reset and the whole."""
    view = live.view()
    if after <= view.last_seq and (epoch is None or epoch <= view.epoch):
        return SessionFeed(live.subscribe(after))
    reset = Reset(session=live.id, epoch=view.epoch, last_seq=view.last_seq, asked=after)
    return SessionFeed(live.subscribe(0), [frame(msgspec.json.encode(reset), event="reset", number=0)])


def _cursor(call: Call, query: EventsQuery) -> int:
    given = call.header("last-event-id")
    if not given:
        return query.after or 0
    if not given.isdecimal() or len(given) > 18:
        raise InvalidValue("Last-Event-ID", given, "the number of an event")
    return int(given)


async def read_page(call: Call, live: Session, after: int, query: EventsQuery) -> EventsPage:
    """One page of the log. Raises `CursorLost` for a cursor that it does not have."""
    view = live.view()
    if after > view.last_seq:
        raise CursorLost(live.id, after, view.last_seq, view.epoch)
    rows = await call.api.store.read(live.id, after, query.limit, epoch=query.epoch)
    last = rows[-1].seq if rows else after
    if query.view == "runs":
        bodies = _folded([row.envelope() for row in rows])
    else:
        bodies = tuple(msgspec.Raw(row.body) for row in rows)
    return EventsPage(events=bodies, after=last, epoch=view.epoch, more=last < view.last_seq)


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
