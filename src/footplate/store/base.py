"""The `Store` protocol: what every place that keeps sessions promises. `footplate.store.conformance` tests it.

A store is used from one event loop. A call that was made is carried out even when its caller is cancelled while it
waits; whoever must know reads `last_seq`. Refusals (`WrongEpoch`, `WrongSequence`, `WrongVersion`, `InvalidValue`) have
changed nothing. After a `StoreFailed` of a write `failed` says why nothing can be stored, and the store can be read.
One that is `retryable` (no space) has changed nothing, and writes succeed again as soon as there is space. After any
other the store takes no more writes until it is opened again. When a sync has failed, a durable write is not
acknowledged though its events may be there: `last_seq` says whether they are.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from footplate.errors import StoreFailed
from footplate.events.ids import RequestId, SessionId
from footplate.events.model import Envelope, SessionState
from footplate.store.chain import AuditHead, AuditRow
from footplate.store.projection import RequestRow, SessionRow
from footplate.store.values import (
    Document,
    Encoded,
    FramePage,
    FrameQuery,
    JournalPage,
    JournalRow,
    Lease,
    Message,
    Page,
    Put,
    RawLines,
    RequestFilter,
    Retained,
    RetentionPolicy,
    SessionFilter,
    Stored,
)

READ_LIMIT = 500
LIST_LIMIT = 100
BUDGET = 500

Lines = Iterable[bytes] | AsyncIterable[bytes]


class Journal(Protocol):
    """What was sent on one connection, numbered densely from 1. Old entries are cut by retention, and that is told."""

    async def append(self, bodies: Sequence[bytes], *, durable: bool = False) -> int:
        """Write them down in order; the number of the last."""

    async def read(self, after: int = 0, limit: int = READ_LIMIT) -> JournalPage:
        """The entries after a number, and which of those asked for are lost; past the end raises `CursorLost`."""

    def tail(self, after: int = 0, limit: int = READ_LIMIT) -> AsyncGenerator[JournalPage, None]:
        """The entries after a number by the page, and then new ones as they come, without looking again and again.

        A page has entries, or tells which are lost, or both. Ends only by error; close it when done.
        """

    async def delete(self) -> None:
        """Forget the journal; its numbers begin at 1 again. Who follows it gets `CursorLost`."""


class Documents(Protocol):
    """Small values under keys."""

    async def get(self, key: str) -> Document | None:
        """The document, if there is one."""

    async def put(self, key: str, body: bytes, *, expect: int | None = None, durable: bool = True) -> int:
        """Write it; its new version. `expect` is the version it must have now (0: there is none), or `WrongVersion`."""

    async def delete(self, key: str, *, expect: int | None = None, durable: bool = True) -> bool:
        """Remove it; False when it was not there. `expect` as in `put`."""

    async def list(self, prefix: str = "", *, after: str | None = None, limit: int = LIST_LIMIT) -> Page[Document]:
        """The documents whose keys begin so, in order of keys, a page at a time."""


class Queue(Protocol):
    """Work to be done at least once, oldest first."""

    async def put(
        self, body: bytes, *, key: str | None = None, lane: str = "", delay_s: float = 0.0, durable: bool = True
    ) -> Put:
        """Add a message, unless its key is known: waiting, handed out, or done not long ago.

        Messages of one `lane` are handed out strictly one after the other: the next when the one before is done.
        """

    async def claim(self, limit: int = 1, *, visibility_s: float = 30.0) -> list[Message]:
        """Hand out what is due, oldest first; each is hidden for so long, then handed out again unless it is done."""

    async def take(self, limit: int = 1, *, visibility_s: float = 30.0) -> list[Message]:
        """As `claim`, and wait until there is at least one."""

    async def ack(self, message: Message, *, durable: bool = True) -> bool:
        """It is done. False: too late, it was handed out again (or is done, or gone)."""

    async def nack(self, message: Message, *, delay_s: float = 0.0) -> bool:
        """It is not done: hand it out again after the delay. False as in `ack`."""

    async def size(self) -> int:
        """How many are not done."""


class AuditTrail(Protocol):
    """Records of who did what, each chained to the one before (`store.chain`). They can be added, read, and cut.

    A record is the JSON of an object without the fields `number` and `previous`, which the store puts before its own.
    """

    async def append(self, records: Sequence[bytes]) -> AuditHead:
        """Add records in order; the newest. A power cut cannot undo it."""

    async def head(self) -> AuditHead:
        """The newest record."""

    async def wait(self, after: int) -> AuditHead:
        """Wait until there is a record after that number; the newest then. It is safe from a power cut."""

    async def read(self, after: int = 0, limit: int = READ_LIMIT) -> list[AuditRow]:
        """The records after a number: up to `limit`, perhaps fewer when they are large, none only at the end."""

    async def find_last(self, before: float) -> AuditRow | None:
        """The last record that was written before that time."""

    async def cut(self, through: int, budget: int = BUDGET) -> int:
        """Remove the oldest records, up to that number and at most `budget`; how many, 0 when none is left.

        A large record may count as several. The newest always stays.
        """


class Projections(Protocol):
    """The index over all sessions, folded from events as they are appended."""

    async def session(self, session: SessionId) -> SessionRow | None:
        """The row of a session, if it has any event."""

    async def sessions(
        self, only: SessionFilter | None = None, *, after: str | None = None, limit: int = LIST_LIMIT
    ) -> Page[SessionRow]:
        """The sessions, the latest active first."""

    async def count_states(self) -> dict[SessionState, int]:
        """How many sessions there are in each state."""

    async def unfinished(self, *, after: str | None = None, limit: int = LIST_LIMIT) -> Page[SessionRow]:
        """Sessions that a service which starts must open, in no particular order.

        One that is not closed and has an attached engine, a turn without an open request, an answer that was not
        applied, a waiting prompt, or a time until which it is parked. What it costs depends on their number alone.
        """

    async def request(self, session: SessionId, request: RequestId) -> RequestRow | None:
        """The row of a request, whatever became of it."""

    async def requests(
        self, only: RequestFilter | None = None, *, after: str | None = None, limit: int = LIST_LIMIT
    ) -> Page[RequestRow]:
        """The requests, the oldest first."""


class Store(Protocol):
    """Session logs and what lies beside them."""

    @property
    def failed(self) -> StoreFailed | None:
        """Why nothing can be stored now; None while it can."""

    @property
    def audit(self) -> AuditTrail:
        """The audit log."""

    @property
    def projections(self) -> Projections:
        """The index over sessions and requests."""

    async def claim(self, session: SessionId) -> Lease:
        """Become the one writer of a session (it need not exist yet): older epochs are fenced from here on. Durable."""

    async def append(
        self,
        session: SessionId,
        epoch: int,
        expected_seq: int,
        events: Sequence[Envelope | Encoded],
        *,
        durable: bool = False,
        audit: Sequence[bytes] = (),
    ) -> int:
        """Add events, all or none, after the one numbered `expected_seq`; the number of the last.

        The records of `audit` are added to the audit log with them or not at all. Returns when readers can see them and
        the death of this process cannot undo it; with `durable` when a power cut cannot either. An older epoch than
        the claimed one is refused with `WrongEpoch`, another place in the log with `WrongSequence`; a gap in the
        numbers, a foreign session or epoch, or an ephemeral event with `InvalidValue`.
        """

    async def sync(self) -> None:
        """Return when everything that was written before is safe from a power cut."""

    async def read(
        self, session: SessionId, after: int = 0, limit: int = READ_LIMIT, *, epoch: int | None = None
    ) -> list[Stored]:
        """The events after a number: up to `limit`, perhaps fewer when they are large, none only at the end.

        A cursor that is past the end, or whose event now has another epoch than the reader saw, raises `CursorLost`.
        """

    def tail(self, session: SessionId, after: int = 0, *, epoch: int | None = None) -> AsyncGenerator[Stored, None]:
        """The events after a number, and then each new one as it comes. Ends only by error; close it when done."""

    async def last_seq(self, session: SessionId) -> int:
        """The number of the last event; 0 when there is none."""

    async def append_frames(self, session: SessionId, chunks: Sequence[RawLines]) -> int:
        """Store raw lines of a session that was claimed; the number of the last. They are numbered densely from 1.

        Never durable. `WrongEpoch` when there is no such session, `InvalidValue` when a chunk is not whole lines.
        """

    async def read_frames(self, session: SessionId, query: FrameQuery) -> FramePage:
        """A page of raw lines, as far as retention has left them; an empty one for a session without any.

        A page may be short, or empty while there is `more`, when lines are large or few of them match.
        """

    def journal(self, name: str) -> Journal:
        """The journal of that name; it begins with its first entry."""

    async def journals(
        self, prefix: str = "", *, after: str | None = None, limit: int = LIST_LIMIT
    ) -> Page[JournalRow]:
        """The journals whose names begin so, in order of names, a page at a time.

        Retention cuts entries and forgets no journal, as its numbers must go on: whoever made it deletes it.
        """

    def documents(self, namespace: str) -> Documents:
        """The documents of a namespace."""

    def queue(self, namespace: str) -> Queue:
        """The queue of a namespace."""

    async def rebuild_projections(self) -> int:
        """Fold the index anew from the logs, beside the running work; how many sessions."""

    async def retain(
        self, policy: RetentionPolicy, budget: int = BUDGET, *, record: Callable[[SessionRow], bytes] | None = None
    ) -> Retained:
        """One step of retention: removes at most `budget` rows, of which a large one may count as several.

        Call again while `more`. `record` gives the audit record of a session that is removed, which is stored in the
        same transaction. It must be pure: a store may call it in another thread.
        """

    async def delete_session(self, session: SessionId, *, audit: Sequence[bytes] = ()) -> bool:
        """Remove a session with its log, raw lines, rows and documents; False when there is none. Its id is free.

        The records of `audit` are added to the audit log with that or not at all.
        """

    def export(self, session: SessionId) -> AsyncGenerator[bytes, None]:
        """The session as JSONL, line by line, each with its newline. `UnknownSession` when there is none."""

    async def import_(self, lines: Lines) -> SessionId:
        """Take in what `export` gave, whole or not at all; a session that is there already is `InvalidValue`."""

    async def backup(self, path: Path) -> int:
        """Write a consistent copy beside the running work; its size in bytes. A file in the way is `InvalidValue`."""

    async def probe(self) -> None:
        """Write something durably and look for damage for a short time. Raises `StoreError` when something is wrong."""

    async def check(self) -> tuple[str, ...]:
        """Look at everything; what is wrong, one line each. Empty: sound."""

    async def close(self) -> None:
        """Finish what was asked, make it durable, let go of everything. Again: nothing happens."""
