"""Everything that was sent on a connection, numbered from 1: the latest in memory, all of it in a journal.

A reader is a cursor: a slow one costs nobody anything, and one that comes back goes on where it says it was. What
retention has cut from the journal in the meantime is told as a gap. So is what a power cut has removed: a message knows
the run it belongs to (each opening of the tape is one), and a reader that has a number of another run is sent back to
where the two runs part. Each message belongs to a stream: that of a session, or the connection's own (its name is
empty). Readers that stand at the same place share what comes next, so that it is put into the form of their wire once.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Sequence
from typing import Final
from weakref import WeakValueDictionary

import msgspec

from footplate.runtime.patience import patiently
from footplate.store.base import Journal

KEPT_BYTES: Final = 1_000_000
SHARED: Final = 4
"""From how many places at most what follows is kept for those who stand there."""

RUN_BYTES: Final = 4
FLUSH_S: Final = 2.0
"""How long an answer waits for the readers of what was sent before it."""


class Sent(msgspec.Struct, frozen=True, gc=False):
    """One message under its number."""

    number: int
    stream: str
    body: bytes
    run: int = 0
    """The opening of the tape that it was sent after."""

    before: int = 0
    """The last number that was there at that opening."""


class Gap(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Numbers whose messages are gone, both included: cut by retention, or given out anew after a power cut."""

    first: int = msgspec.field(name="from")
    last: int = msgspec.field(name="to")


class Batch(msgspec.Struct, weakref=True):
    """What a reader is given at once, in order. `wire` belongs to whoever sends it: what it has made of it."""

    messages: Sequence[Sent]
    gap: Gap | None = None
    """What is missing before the first of them."""

    wire: Sequence[bytes | memoryview] = ()


class Message(msgspec.Struct, frozen=True, gc=False):
    """One message to be sent."""

    body: bytes
    stream: str = ""


class Tape:
    """The messages of one connection."""

    def __init__(self, journal: Journal, last: int, retry_s: float = 0.0) -> None:
        """`retry_s`: how long messages that the store refuses are tried again."""
        self._retry_s = retry_s
        self.last = last
        # Chosen by chance: a power cut that takes all of a run leaves nothing to count on from.
        self._run = int(secrets.token_hex(RUN_BYTES), 16)
        self._before = last
        self.closed = False
        self._journal = journal
        self._kept: deque[Sent] = deque()
        self._size = 0
        self._shared = _Shared(last)
        self._readers: dict[TapeReader, None] = {}
        self._left: dict[str | None, int] = {}
        self._delivery: dict[asyncio.Event, None] = {}
        self._turn = asyncio.Lock()
        self._read_batches: WeakValueDictionary[int, Batch] = WeakValueDictionary()

    @classmethod
    async def open(cls, journal: Journal, *, retry_s: float = 0.0) -> Tape:
        """The tape of a connection, new or of before."""
        return cls(journal, (await journal.read(0, 1)).last, retry_s)

    async def write(self, messages: Sequence[Message]) -> int:
        """Keep the messages for good and give them to every reader; the number of the last."""
        async with self._turn:
            if self.closed or not messages:
                return self.last
            return await self._write(messages)

    async def _write(self, messages: Sequence[Message]) -> int:
        packed = [_packed(each, self._run, self._before) for each in messages]
        last = await patiently(lambda: self._journal.append(packed), limit_s=self._retry_s)
        first = last - len(messages) + 1
        if first != self.last + 1:
            # A write whose caller was cancelled is in the journal all the same: readers get it from there.
            self._kept.clear()
            self._size = 0
        for number, message in enumerate(messages, first):
            self._kept.append(Sent(number, message.stream, message.body, self._run, self._before))
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

    def reader(self, after: int | None = None, *, run: int | None = None, stream: str | None = None) -> TapeReader:
        """A reader of one stream, or of all of them. Without a number it goes on where the last one of its kind was.

        `run` is that of the message with the number, as the reader was given it; without it nothing is checked.
        """
        start = self._left.get(stream, 0) if after is None else after
        made = TapeReader(self, start, stream, run)
        self._readers[made] = None
        return made

    def replay(self) -> TapeReader:
        """A reader of everything that is still there."""
        return self.reader(0)

    async def find_parting(self, number: int, run: int) -> int:
        """The last number up to which a reader that has this one has what the tape has."""
        if number > self.last:
            # The journal shows an append before the append returns: its end may be later than the tape's.
            number = min(number, (await self._journal.read(self.last, 1)).last)
        while number > 0:
            page = await self._journal.read(number - 1, 1)
            if not page.entries or page.entries[0].number != number:
                return number  # cut by retention: the reader is told of that where it reads on
            found = _unpacked(number, page.entries[0].body)
            if found.run == run:
                return number
            number = found.before  # all up to there was on the tape before the run that replaced it
        return number

    async def read(self, after: int) -> Batch:
        """What follows a number, and what of it is lost. Those who ask for the same get the same."""
        if after > self.last:
            # The journal shows an append before the append returns: a reader that has it has missed nothing.
            page = await self._journal.read(self.last)
            if page.last < after:
                return Batch((), Gap(first=page.last + 1, last=after))
            return Batch([_unpacked(entry.number, entry.body) for entry in page.entries if entry.number > after])
        if not self._kept or after < self._kept[0].number - 1:
            return await self._read_on(after)
        shared = self._shared
        if shared.last != self.last:
            shared = self._shared = _Shared(self.last)
        found = shared.batches.get(after)
        if found is None:
            found = Batch([self._kept[place] for place in range(after - self.last, 0)])
            if len(self._readers) > 1 and len(shared.batches) < SHARED:
                shared.batches[after] = found
        return found

    async def _read_on(self, after: int) -> Batch:
        """A page of the journal; readers that are at the same place at the same time share it."""
        found = self._read_batches.get(after)
        if found is None:
            page = await self._journal.read(after)
            lost = Gap(first=page.lost[0], last=page.lost[1]) if page.lost is not None else None
            found = Batch([_unpacked(entry.number, entry.body) for entry in page.entries], lost)
            if found.messages:
                self._read_batches[after] = found
        return found

    async def delivered(self, number: int, patience: float = FLUSH_S) -> None:
        """Wait until everybody who reads along was given all up to this number; but not for one who lags."""
        if all(reader.taken >= number for reader in self._readers):
            return
        try:
            async with asyncio.timeout(patience):
                while any(reader.taken < number for reader in self._readers):
                    bell = asyncio.Event()
                    self._delivery[bell] = None
                    try:
                        await bell.wait()
                    finally:
                        self._delivery.pop(bell, None)
        except TimeoutError:
            return

    def noted(self, reader: TapeReader) -> None:
        """A reader has handed on what it was given."""
        self.skip(reader.taken, reader.stream)
        for bell in self._delivery:
            bell.set()

    def forget(self, reader: TapeReader) -> None:
        """The reader has closed."""
        self._readers.pop(reader, None)
        if not self._readers:
            self._shared = _Shared(self.last)
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

    def __init__(self, tape: Tape, after: int, stream: str | None, run: int | None) -> None:
        self.stream = stream
        self._run = run
        self.cursor = after
        self.taken = after
        self._tape = tape
        self._bell = asyncio.Event()
        self._closed = False

    async def next(self) -> Batch | None:
        """What has come since, at least one message or a gap; None at the end."""
        if self._run is not None:
            run, self._run = self._run, None
            asked, self.cursor = self.cursor, await self._tape.find_parting(self.cursor, run)
            if self.cursor < asked:
                return Batch((), Gap(first=self.cursor + 1, last=asked))
        self.taken = self.cursor
        self._tape.noted(self)
        while not self._closed:
            self._bell.clear()
            found = await self._tape.read(self.cursor)
            if found.messages:
                self.cursor = found.messages[-1].number
            elif found.gap is not None:
                self.cursor = min(found.gap.last, self._tape.last)
            if found.messages or found.gap is not None:
                wanted = self._wanted(found)
                if wanted.gap is not None or wanted.messages:
                    return wanted
                self.taken = self.cursor
                self._tape.noted(self)
                continue
            if self._tape.closed:
                return None
            await self._bell.wait()
        return None

    def _wanted(self, found: Batch) -> Batch:
        """What of it belongs to the stream."""
        if self.stream is None:
            return found
        return Batch([each for each in found.messages if each.stream == self.stream], found.gap)

    def ring(self) -> None:
        """There is something new."""
        self._bell.set()

    def close(self) -> None:
        """No more is wanted."""
        self._closed = True
        self._bell.set()
        self._tape.forget(self)


class _Shared:
    """What those who have had everything up to a number are given next, as long as nothing new comes."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.batches: dict[int, Batch] = {}


_NO_BREAKS: Final = {ord("\n"): " ", ord("\0"): " "}


def _packed(message: Message, run: int, before: int) -> bytes:
    head = f"{message.stream.translate(_NO_BREAKS)}\0{run}\0{before}\n"
    return head.encode() + message.body


def _unpacked(number: int, raw: bytes) -> Sent:
    head, _, body = raw.partition(b"\n")
    stream, _, rest = head.partition(b"\0")
    run, _, before = rest.partition(b"\0")  # older versions wrote no run, or `before` as the run
    return Sent(number, stream.decode(), body, int(run or 0), int(before or run or 0))
