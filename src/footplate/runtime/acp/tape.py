"""Everything that was sent on a connection, numbered from 1: the latest in memory, all of it in a journal.

A reader is a cursor: a slow one costs nobody anything, and one that comes back goes on where it says it was. What
retention has cut from the journal in the meantime is told as a gap. Each message belongs to a stream: that of a
session, or the connection's own (its name is empty).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec

from footplate.store.base import Journal

KEPT_BYTES: Final = 1_000_000
FLUSH_S: Final = 2.0
"""How long an answer waits for the readers of what was sent before it."""


class Sent(msgspec.Struct, frozen=True, gc=False):
    """One message under its number."""

    number: int
    stream: str
    body: bytes


class Gap(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Numbers that a reader asked for and nobody has any more, both included."""

    first: int = msgspec.field(name="from")
    last: int = msgspec.field(name="to")


class Message(msgspec.Struct, frozen=True, gc=False):
    """One message to be sent."""

    body: bytes
    stream: str = ""


class Tape:
    """The messages of one connection."""

    def __init__(self, journal: Journal, last: int) -> None:
        self.last = last
        self.closed = False
        self._journal = journal
        self._kept: deque[Sent] = deque()
        self._size = 0
        self._readers: set[TapeReader] = set()
        self._left: dict[str | None, int] = {}
        self._delivery: set[asyncio.Event] = set()

    @classmethod
    async def open(cls, journal: Journal) -> Tape:
        """The tape of a connection, new or of before."""
        return cls(journal, (await journal.read(0, 1)).last)

    async def write(self, messages: Sequence[Message]) -> int:
        """Keep the messages for good and give them to every reader; the number of the last."""
        if self.closed or not messages:
            return self.last
        first = self.last + 1
        last = await self._journal.append([_packed(each) for each in messages])
        for number, message in enumerate(messages, first):
            self._kept.append(Sent(number, message.stream, message.body))
            self._size += len(message.body)
        while self._size > KEPT_BYTES and len(self._kept) > 1:
            self._size -= len(self._kept.popleft().body)
        self.last = last
        for reader in self._readers:
            reader.ring()
        return last

    def skip(self, number: int, stream: str | None = None) -> None:
        """Whoever reads the stream anew and names no number has had everything up to this one."""
        self._left[stream] = max(number, self._left.get(stream, 0))

    def reader(self, after: int | None = None, *, stream: str | None = None) -> TapeReader:
        """A reader of one stream, or of all of them. Without a number it goes on where the last one of its kind was."""
        start = self._left.get(stream, 0) if after is None else after
        made = TapeReader(self, start, stream)
        self._readers.add(made)
        return made

    def replay(self) -> TapeReader:
        """A reader of everything that is still there."""
        return self.reader(0)

    async def read(self, after: int) -> tuple[Gap | None, Sequence[Sent]]:
        """What follows a number, and what of it is lost."""
        if after > self.last:
            return Gap(first=self.last + 1, last=after), ()
        if self._kept and after >= self._kept[0].number - 1:
            return None, [each for each in self._kept if each.number > after]
        page = await self._journal.read(after)
        lost = Gap(first=page.lost[0], last=page.lost[1]) if page.lost is not None else None
        return lost, [_unpacked(entry.number, entry.body) for entry in page.entries]

    async def delivered(self, number: int, patience: float = FLUSH_S) -> None:
        """Wait until everybody who reads along was given all up to this number; but not for one who lags."""
        try:
            async with asyncio.timeout(patience):
                while any(reader.taken < number for reader in self._readers):
                    bell = asyncio.Event()
                    self._delivery.add(bell)
                    try:
                        await bell.wait()
                    finally:
                        self._delivery.discard(bell)
        except TimeoutError:
            return

    def noted(self, reader: TapeReader) -> None:
        """A reader has handed on what it was given."""
        self.skip(reader.taken, reader.stream)
        for bell in self._delivery:
            bell.set()

    def forget(self, reader: TapeReader) -> None:
        """The reader has closed."""
        self._readers.discard(reader)
        for bell in self._delivery:
            bell.set()

    @property
    def read_along(self) -> bool:
        """Whether anybody reads."""
        return bool(self._readers)

    def close(self) -> None:
        """Nothing more is sent; every reader ends once it has what there is."""
        self.closed = True
        for reader in self._readers:
            reader.ring()

    async def erase(self) -> None:
        """Forget the whole tape."""
        self.close()
        await self._journal.delete()


class TapeReader:
    """One reader. `next` gives what there is, in order; asking again says that it was handed on."""

    def __init__(self, tape: Tape, after: int, stream: str | None) -> None:
        self.stream = stream
        self.cursor = after
        self.taken = after
        self._tape = tape
        self._bell = asyncio.Event()
        self._closed = False

    async def next(self) -> Sequence[Sent | Gap]:
        """What has come since, at least one; empty at the end."""
        self.taken = self.cursor
        self._tape.noted(self)
        while not self._closed:
            self._bell.clear()
            gap, found = await self._tape.read(self.cursor)
            if gap is not None or found:
                self.cursor = found[-1].number if found else gap.last if gap is not None else self.cursor
                self.cursor = min(self.cursor, self._tape.last)
                wanted = [each for each in found if self.stream in (None, each.stream)]
                if gap is not None:
                    return [gap, *wanted]
                if wanted:
                    return wanted
                self.taken = self.cursor
                self._tape.noted(self)
                continue
            if self._tape.closed:
                return ()
            await self._bell.wait()
        return ()

    def ring(self) -> None:
        """There is something new."""
        self._bell.set()

    def close(self) -> None:
        """No more is wanted."""
        self._closed = True
        self._bell.set()
        self._tape.forget(self)


def _packed(message: Message) -> bytes:
    return message.stream.encode() + b"\n" + message.body


def _unpacked(number: int, raw: bytes) -> Sent:
    stream, _, body = raw.partition(b"\n")
    return Sent(number, stream.decode(), body)
