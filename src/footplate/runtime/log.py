"""A session's log as its one writer holds it: numbers events, stores them, shares the bytes with every reader.

An event is encoded once. Readers get it when the store has it; ephemeral ones are only fanned out. A reader that is too
slow is cut loose at its buffer's limit and reads on from the store by its cursor: nobody else notices.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from footplate.errors import StoreError
from footplate.events.base import Source
from footplate.events.codec import ReadEnvelope, decode_envelope
from footplate.events.ids import MessageId, SessionId, ToolCallId, TurnId
from footplate.events.model import (
    Envelope,
    Event,
    MessageDelta,
    ThoughtDelta,
    ToolUpdated,
    TurnEnded,
    TurnStarted,
    is_ephemeral,
)
from footplate.events.reduce import SessionReducer, SessionView
from footplate.events.view import LivePart
from footplate.store.base import Store
from footplate.store.values import Encoded, Lease

BUFFER_BYTES = 1_000_000
"""How much may wait for one live reader before it is sent back to its cursor."""


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """One event on its way to a reader: the shared bytes, and the event itself where it was at hand."""

    seq: int
    body: bytes
    known: Envelope | None = None
    wired: bytes = b""
    """What a wire makes of the body, made by its first reader for all others."""

    def envelope(self) -> Envelope | ReadEnvelope:
        """The envelope, decoded when it came from the store."""
        return self.known if self.known is not None else decode_envelope(self.body)


class Subscription:
    """One reader of a session: everything after its cursor, in order, then live. Iterate it; close it when done."""

    def __init__(self, log: SessionLog, after: int) -> None:
        self._log = log
        self.cursor = after
        self._waiting: deque[Delivery] = deque()
        self._size = 0
        self._behind = True
        self._closed = False
        self._bell = asyncio.Event()

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Delivery:
        while not self._waiting:
            if self._closed:
                raise StopAsyncIteration
            if self._behind:
                await self._catch_up()
            else:
                self._bell.clear()
                await self._bell.wait()
        delivery = self._waiting.popleft()
        self._size -= len(delivery.body)
        self.cursor = max(self.cursor, delivery.seq)
        return delivery

    def ready(self) -> list[Delivery]:
        """What waits already, without waiting for more: for a reader that writes several events at once."""
        ready = list(self._waiting)
        self._waiting.clear()
        self._size = 0
        if ready:
            self.cursor = max(self.cursor, ready[-1].seq)
        return ready

    def offer(self, deliveries: Sequence[Delivery]) -> None:
        """Take new events, or fall behind when too much waits already."""
        if self._behind:
            return
        size = sum(len(delivery.body) for delivery in deliveries)
        if self._size + size > BUFFER_BYTES:
            self._behind = True
            self._size = 0
            self._waiting.clear()
        else:
            self._waiting.extend(deliveries)
            self._size += size
        self._bell.set()

    def close(self) -> None:
        """No more events; what waits is dropped."""
        self._closed = True
        self._waiting.clear()
        self._bell.set()
        self._log.forget(self)

    async def _catch_up(self) -> None:
        """Read on from the store, up to what the writer has shown: a reader never knows more than the view."""
        if self.cursor >= self._log.shown:
            self._behind = False
            self._waiting.extend(self._log.live_tail())
            return
        for row in await self._log.store.read(self._log.session, self.cursor):
            if row.seq <= self._log.shown:
                self._waiting.append(Delivery(row.seq, row.body))
                self._size += len(row.body)


class SessionLog:
    """The writer's side: one per open session, under the epoch it claimed."""

    def __init__(self, store: Store, lease: Lease, reducer: SessionReducer) -> None:
        self.store = store
        self.session: SessionId = lease.session
        self.epoch = lease.epoch
        self.last_seq = lease.last_seq
        self.shown = lease.last_seq
        self._reducer = reducer
        self._turn: TurnId | None = reducer.view().turn
        self._readers: set[Subscription] = set()
        self.watch: Callable[[Sequence[Envelope]], None] | None = None
        """Told of every lasting event once it is stored: for those who look at all sessions."""

    def view(self) -> SessionView:
        """The session as it stands."""
        return self._reducer.view()

    def outline(self) -> SessionView:
        """The session without its history, which costs the same however long that is: see `SessionReducer.outline`."""
        return self._reducer.outline()

    def subscribe(self, after: int = 0) -> Subscription:
        """A reader from a cursor on."""
        reader = Subscription(self, after)
        self._readers.add(reader)
        return reader

    @property
    def readers(self) -> int:
        """How many read along."""
        return len(self._readers)

    def forget(self, reader: Subscription) -> None:
        """The reader has closed."""
        self._readers.discard(reader)

    def close(self) -> None:
        """Let every reader go."""
        for reader in tuple(self._readers):
            reader.close()

    async def publish(
        self, events: Sequence[Event], *, source: Source = "engine", then: Sequence[Event] = (), durable: bool = False
    ) -> None:
        """Number the events, store the lasting ones, then show all of them.

        `then` is what we add to them: it follows from them and stands in the log with them or not at all.
        `durable`: a power cut cannot undo it.
        """
        if not events and not then:
            return
        before = self.last_seq
        encoded: list[Encoded] = []
        lasting: list[Encoded] = []
        for event in events:
            self._stamp(event, source, encoded, lasting)
        for event in then:
            self._stamp(event, "bridge", encoded, lasting)
        if lasting:
            try:
                await self.store.append(self.session, self.epoch, before, lasting, durable=durable)
            except StoreError:
                self.last_seq = before  # nothing was written: the numbers stay dense
                raise
        deliveries = [Delivery(each.envelope.seq, each.body, each.envelope) for each in encoded]
        for each in encoded:
            self._reducer.apply(each.envelope)
        self.shown = self.last_seq
        for reader in self._readers:
            reader.offer(deliveries)
        if self.watch is not None and lasting:
            self.watch([each.envelope for each in lasting])

    def _stamp(self, event: Event, source: Source, encoded: list[Encoded], lasting: list[Encoded]) -> None:
        """Number and encode an event, as one of all and, if it is one, of the lasting ones."""
        lasts = not is_ephemeral(event)
        if lasts:
            self.last_seq += 1
        if isinstance(event, TurnStarted):
            self._turn = event.turn
        envelope = Envelope(
            seq=self.last_seq,
            time=time.time(),
            session=self.session,
            epoch=self.epoch,
            turn=self._turn,
            source=source,
            event=event,
        )
        if isinstance(event, TurnEnded):
            self._turn = None
        encoded.append(Encoded.of(envelope))
        if lasts:
            lasting.append(encoded[-1])

    def live_tail(self) -> list[Delivery]:
        """What is being written right now, each text so far as one delta: for a reader that joins in the middle."""
        found: list[Encoded] = []
        for part in self._reducer.view().live:
            self._stamp(_whole(part), "engine", found, [])
        return [Delivery(each.envelope.seq, each.body, each.envelope) for each in found]


def _whole(part: LivePart) -> Event:
    """The text so far of something that is being written."""
    match part.kind:
        case "message":
            return MessageDelta(
                message=MessageId(part.id), part=part.part, text=part.text, reset=True, parent=part.parent
            )
        case "thought":
            return ThoughtDelta(
                message=MessageId(part.id), part=part.part, text=part.text, reset=True, parent=part.parent
            )
        case "tool_input":
            return ToolUpdated(call=ToolCallId(part.id), input_delta=part.text, reset=True)
        case "tool_output":
            return ToolUpdated(call=ToolCallId(part.id), output_delta=part.text, reset=True)
