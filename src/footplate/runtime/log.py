"""A session's log as its one writer has it: numbers events, stores them, shares the bytes with every reader.

An event is encoded once. A reader's cursor counts lasting events only, and moves when the reader is given one: an event
gets its number when it is stored, readers see it after that, and an ephemeral event carries the number of the last
lasting event before it, which every reader was given first. So a cursor never passes an event that its reader has not
seen. A reader that is too slow loses what waits for it and reads on from the store by its cursor.

A power cut can remove events that a reader was given; later ones get the same numbers in a higher epoch. So a cursor is
a number and the epoch of its event, and a reader whose event is gone is told (`CursorLost`). The envelope of an
ephemeral event has the number and the epoch of the last lasting event: of any envelope both are a valid cursor.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from typing import Final
from weakref import WeakValueDictionary

import msgspec

from footplate.errors import CursorLost, StoreError, WrongEpoch
from footplate.events.base import Source
from footplate.events.codec import ReadEnvelope, decode_envelope
from footplate.events.ids import MessageId, PromptId, SessionId, ToolCallId, TurnId
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
from footplate.runtime.patience import patiently
from footplate.runtime.surroundings import Surroundings
from footplate.store.base import Store
from footplate.store.values import Encoded, Lease

SHARED_BYTES: Final = 256 * 1024
"""From this size on an event is looked for among those that other readers hold."""


class Large:
    """The bytes of a large event, found again by other readers for as long as one holds them."""

    def __init__(self, body: bytes) -> None:
        self.body = body


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """One event on its way to a reader: the shared bytes, and the envelope itself where it was at hand.

    `seq` is the reader's cursor once it has been given this: the event's own number, or, of an ephemeral event, the
    number of the last lasting one before it.
    """

    seq: int
    body: bytes
    known: Envelope | None = None
    lasting: bool = True
    wired: bytes = b""
    """The bytes on the wire, made by its first reader for all others."""
    large: Large | None = None

    def envelope(self) -> Envelope | ReadEnvelope:
        """The envelope, decoded when it came from the store."""
        return self.known if self.known is not None else decode_envelope(self.body)


class Subscription:
    """One reader of a session: everything after its cursor, in order, then live. Iterate it; close it when done.

    The first step raises `CursorLost` when the log does not have the cursor's event, or has one of another epoch.
    """

    def __init__(self, log: SessionLog, after: int, epoch: int | None, limit: int) -> None:
        self._log = log
        self.cursor = after
        self._epoch = epoch if after else None
        self._limit = limit
        self._waiting: deque[Delivery] = deque()
        self._size = 0
        self._behind = True
        self._closed = False
        self._wake_up = asyncio.Event()

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Delivery:
        while not self._waiting:
            if self._closed:
                raise StopAsyncIteration
            if self._behind:
                await self._catch_up()
            else:
                self._wake_up.clear()
                await self._wake_up.wait()
        delivery = self._waiting.popleft()
        self._size -= len(delivery.body)
        self.cursor = delivery.seq
        return delivery

    async def check(self) -> None:
        """Raise `CursorLost` now rather than with the first step."""
        if self._epoch is not None or self.cursor > self._log.last_seq:
            await self._catch_up()

    def ready(self) -> list[Delivery]:
        """What waits already, without waiting for more: for a reader that writes several events at once."""
        ready = list(self._waiting)
        self._waiting.clear()
        self._size = 0
        if ready:
            self.cursor = ready[-1].seq
        return ready

    def offer(self, deliveries: Sequence[Delivery]) -> None:
        """Take new events, or fall behind when too much waits already.

        A reader that has taken everything so far gets any batch, however large: its bytes are shared.
        """
        if self._behind:
            return
        size = sum(len(delivery.body) for delivery in deliveries)
        if self._waiting and self._size + size > self._limit:
            self._behind = True
            self._size = 0
            self._waiting.clear()
        else:
            self._waiting.extend(deliveries)
            self._size += size
        self._wake_up.set()

    def close(self) -> None:
        """No more events; what waits is dropped."""
        self._closed = True
        self._waiting.clear()
        self._wake_up.set()
        self._log.forget(self)

    async def _catch_up(self) -> None:
        """Read on from the store, up to what the writer has shown: a reader never knows more than the view."""
        log = self._log
        if self.cursor >= log.last_seq:
            if self.cursor > log.last_seq or self._epoch not in (None, log.last_epoch):
                raise CursorLost(log.session, self.cursor, log.last_seq, log.epoch)
            self._epoch = None
            self._behind = False
            self._waiting.extend(log.live_tail())
            self._size = sum(len(delivery.body) for delivery in self._waiting)
            return
        try:
            rows = await log.store.read(log.session, self.cursor, log.page_rows, epoch=self._epoch)
        except CursorLost as lost:
            if lost.last_seq >= log.last_seq and not self._closed:
                raise
            rows = []
        if self._closed:
            return
        if not rows:
            self.close()  # the log was deleted: there will never be more
            return
        self._epoch = None
        for row in rows:
            if row.seq <= self._log.last_seq:
                self._waiting.append(log.share(row.seq, row.body))
                self._size += len(row.body)


class SessionLog:
    """The log of one session in this service. It can be read at once, and written after `claim`."""

    def __init__(self, store: Store, session: SessionId, reducer: SessionReducer, surroundings: Surroundings) -> None:
        self.store = store
        self.session = session
        view = reducer.outline()
        self.epoch = view.epoch
        self.last_seq = view.last_seq
        self.last_epoch = view.epoch
        """The epoch of the event numbered `last_seq`."""
        self._claimed = False
        self._patient = False
        self.refused: StoreError | None = None
        """Why events wait to be stored right now: nothing else can be stored, either."""
        self._reducer = reducer
        self.turn: TurnId | None = view.turn
        self._surroundings = surroundings
        self.page_rows = surroundings.bounds.page_rows
        self._readers: dict[Subscription, None] = {}
        self._shared: WeakValueDictionary[int, Large] = WeakValueDictionary()
        self.watch: Callable[[Sequence[Envelope]], None] | None = None
        """Called with every lasting event once it is stored: for readers of all sessions."""

    def claim(self, lease: Lease) -> None:
        """Write under this lease from here on. The reducer must have folded everything up to it."""
        if lease.last_seq != self.last_seq:
            raise RuntimeError(
                f"the log of {self.session} was read to {self.last_seq}, the lease is at {lease.last_seq}"
            )
        self.epoch = lease.epoch
        self._claimed = True

    async def load(self) -> None:
        """Read what the store has and this log has not: all of it at first, later what another writer appended.

        Readers are given it, too.
        """
        while rows := await self.store.read(self.session, self.last_seq, self.page_rows):
            for row in rows:
                self._reducer.apply(row.envelope())
            view = self._reducer.outline()
            self.epoch = self.last_epoch = view.epoch
            self.last_seq, self.turn = view.last_seq, view.turn
            deliveries = [Delivery(row.seq, row.body) for row in rows]
            for reader in tuple(self._readers):
                reader.offer(deliveries)

    def view(self) -> SessionView:
        """The state folded from the log."""
        return self._reducer.view()

    def outline(self) -> SessionView:
        """The state without its history, which costs the same however long that is: see `SessionReducer.outline`."""
        return self._reducer.outline()

    @property
    def accepted(self) -> Set[PromptId]:
        """Every prompt that was ever accepted, whatever became of it: the same key again is not another prompt."""
        return self._reducer.accepted

    def subscribe(self, after: int = 0, epoch: int | None = None) -> Subscription:
        """A reader from a cursor on. Without an epoch only the number is checked."""
        reader = Subscription(self, after, epoch, self._surroundings.bounds.reader_bytes)
        self._readers[reader] = None
        return reader

    def share(self, seq: int, body: bytes) -> Delivery:
        """A stored event for one reader; of a large one all readers that are being given it hold one copy."""
        if len(body) < SHARED_BYTES:
            return Delivery(seq, body)
        found = self._shared.get(seq)
        if found is None:
            found = self._shared[seq] = Large(body)
        return Delivery(seq, found.body, large=found)

    @property
    def readers(self) -> int:
        """How many readers are subscribed."""
        return len(self._readers)

    def forget(self, reader: Subscription) -> None:
        """The reader has closed."""
        self._readers.pop(reader, None)

    def close(self) -> None:
        """End every reader."""
        for reader in tuple(self._readers):
            reader.close()

    async def append(
        self,
        events: Sequence[Event],
        *,
        source: Source = "engine",
        then: Sequence[Event] = (),
        durable: bool = False,
        audit: Sequence[bytes] = (),
    ) -> None:
        """Store the lasting events, all or none, then show all of them. If storing fails nothing has changed here.

        `then` is what the service adds to them: it follows from them and is stored with them or not at all. So are the
        records of `audit`. `durable`: a power cut cannot undo it.
        """
        if not events and not then:
            return
        if not self._claimed:
            raise WrongEpoch(self.session, self.epoch, self.epoch)
        batch = _Batch(self)
        for event in events:
            batch.add(event, source)
        for event in then:
            batch.add(event, "bridge")
        if batch.lasting:
            await self._store(batch.lasting, durable=durable, audit=audit)
        self.last_seq, self.last_epoch, self.turn = batch.seq, batch.epoch, batch.turn
        for each in batch.encoded:
            self._reducer.apply(each.envelope)
        deliveries = [_deliver(each) for each in batch.encoded]
        for reader in tuple(self._readers):
            reader.offer(deliveries)
        if self.watch is not None and batch.lasting:
            self.watch([each.envelope for each in batch.lasting])

    @contextmanager
    def patiently(self) -> Iterator[None]:
        """Try appends of this block again while the store refuses them: nobody else would, as nobody waits for them."""
        self._patient = True
        try:
            yield
        finally:
            self._patient = False
            self.refused = None

    async def _store(self, events: list[Encoded], *, durable: bool, audit: Sequence[bytes]) -> None:
        def note(problem: StoreError) -> None:
            self.refused = problem

        limit_s = self._surroundings.bounds.store_retry_s if self._patient else 0.0
        await patiently(
            lambda: self.store.append(self.session, self.epoch, self.last_seq, events, durable=durable, audit=audit),
            limit_s=limit_s,
            refused=note,
        )
        self.refused = None

    def live_tail(self) -> list[Delivery]:
        """The text so far of what is being written, each part as one delta: for a reader that joins in the middle."""
        batch = _Batch(self)
        for part in self._reducer.view().live:
            batch.add(_whole(part), "engine")
        return [_deliver(each) for each in batch.encoded]

    def stamp(self, event: Event, seq: int, epoch: int, turn: TurnId | None, source: Source) -> Encoded:
        """The envelope of an event, encoded."""
        return Encoded.of(
            Envelope(
                seq=seq,
                time=self._surroundings.time(),
                session=self.session,
                epoch=epoch,
                turn=turn,
                source=source,
                event=event,
            )
        )


class _Batch:
    """Events with the numbers that they will have once they are stored."""

    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self.seq = log.last_seq
        self.epoch = log.last_epoch
        self.turn = log.turn
        self.encoded: list[Encoded] = []
        self.lasting: list[Encoded] = []

    def add(self, event: Event, source: Source) -> None:
        lasts = not is_ephemeral(event)
        if lasts:
            self.seq += 1
            self.epoch = self._log.epoch
        if isinstance(event, TurnStarted):
            self.turn = event.turn
        self.encoded.append(self._log.stamp(event, self.seq, self.epoch, self.turn, source))
        if isinstance(event, TurnEnded):
            self.turn = None
        if lasts:
            self.lasting.append(self.encoded[-1])


def _deliver(encoded: Encoded) -> Delivery:
    return Delivery(
        encoded.envelope.seq, encoded.body, encoded.envelope, lasting=not is_ephemeral(encoded.envelope.event)
    )


def _whole(part: LivePart) -> Event:
    """The text so far of a part that is being written."""
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
