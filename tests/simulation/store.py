"""`SimStore`: a store on a simulated disk that takes its time, is busy or full at times and gives short pages.

Writes are carried out one at a time, in the order in which they were asked for, also when the caller is gone. Each
takes a while before it is visible and another while until it is acknowledged; a durable one syncs all before it.
Without faults it passes the public conformance suite.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from footplate.errors import InvalidValue, StoreBusy, StoreClosed, StoreFailed, StoreFull
from footplate.events.ids import RequestId, SessionId
from footplate.events.model import Envelope, SessionState
from footplate.store.base import BUDGET, LIST_LIMIT, READ_LIMIT, Lines
from footplate.store.bells import AUDIT_BELL, journal_bell, queue_bell, session_bell
from footplate.store.chain import AuditHead, AuditRow
from footplate.store.follow import follow, follow_pages, wait_for_messages
from footplate.store.frames import check_lines
from footplate.store.memory import MemoryStore
from footplate.store.projection import RequestRow, SessionRow
from footplate.store.transfer import each
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
from tests.simulation.disk import Disk, Operation, finish

T = TypeVar("T")
WHERE = "on the simulated disk"


class Weather(Protocol):
    """How the store behaves: asked at every operation, by the name of its kind."""

    def queue_s(self, kind: str) -> float:
        """How long a write waits before it is carried out."""
        ...

    def acknowledge_s(self, kind: str) -> float:
        """How long it takes until its caller hears of it."""
        ...

    def read_s(self, kind: str) -> float:
        """How long a read takes, half before and half after it looks."""
        ...

    def refuses(self, kind: str) -> StoreFailed | StoreBusy | None:
        """Why this write is not carried out; None when it is."""
        ...

    def page(self, limit: int) -> int:
        """How many rows a page has at most."""
        ...


class Calm:
    """No delays, no faults."""

    def queue_s(self, kind: str) -> float:
        return 0.0

    def acknowledge_s(self, kind: str) -> float:
        return 0.0

    def read_s(self, kind: str) -> float:
        return 0.0

    def refuses(self, kind: str) -> StoreFailed | StoreBusy | None:
        return None

    def page(self, limit: int) -> int:
        return limit


def busy() -> StoreBusy:
    return StoreBusy(WHERE, "simulated")


def full() -> StoreFull:
    return StoreFull(WHERE, "simulated")


class _Order:
    __slots__ = ("done", "durable", "kind", "operation")

    def __init__(self, kind: str, operation: Operation, durable: bool, done: asyncio.Future[Any]) -> None:
        self.kind = kind
        self.operation = operation
        self.durable = durable
        self.done = done


class SimStore:
    """A `Store` of one life of the service on a disk that outlives it."""

    def __init__(self, disk: Disk, weather: Weather | None = None) -> None:
        self.disk = disk
        self.weather: Weather = weather or Calm()
        self._orders: deque[_Order] = deque()
        self._bell: asyncio.Future[None] | None = None
        self._closed = False
        self._writer: asyncio.Task[None] | None = None
        self.projections = _Projections(self)
        self.audit = SimAudit(self)
        self.waiting_reads = 0

    failed: StoreFailed | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # ------------------------------------------------------------------------------------------ orders

    async def write(self, kind: str, operation: Operation, *, durable: bool = False) -> Any:
        """Have it carried out in turn, whatever becomes of the caller."""
        if self._closed:
            raise StoreClosed(WHERE)
        order = _Order(kind, operation, durable, asyncio.get_running_loop().create_future())
        self._orders.append(order)
        if self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._work(), name="store writer")
        elif self._bell is not None and not self._bell.done():
            self._bell.set_result(None)
        return await order.done

    async def _work(self) -> None:
        while True:
            while self._orders:
                await self._carry_out(self._orders.popleft())
            if self._closed:
                return
            self._bell = asyncio.get_running_loop().create_future()
            await self._bell
            self._bell = None

    async def _carry_out(self, order: _Order) -> None:
        wait = self.weather.queue_s(order.kind)
        if wait:
            await asyncio.sleep(wait)
        problem: Exception | None = self.weather.refuses(order.kind)
        result: object = None
        if problem is None:
            try:
                result = self.disk.carry_out(order.operation)
            except Exception as refusal:  # noqa: BLE001 - it belongs to whoever asked
                problem = refusal
        wait = self.weather.acknowledge_s(order.kind)
        if wait:
            await asyncio.sleep(wait)
        if order.durable and problem is None:
            self.disk.sync()
        if order.done.done():
            return
        if problem is not None:
            order.done.set_exception(problem)
            order.done.exception()  # the caller may be gone: then nobody has to hear of it
        else:
            order.done.set_result(result)

    async def look(self, kind: str, read: Callable[[MemoryStore], Coroutine[Any, Any, T]]) -> T:
        """Read: what is found is the state somewhere between the call and the answer."""
        if self._closed:
            raise StoreClosed(WHERE)
        wait = self.weather.read_s(kind) / 2
        if wait:
            await asyncio.sleep(wait)
        found = finish(read(self.disk.memory))
        await asyncio.sleep(wait)
        return found

    # -------------------------------------------------------------------------------------------- logs

    async def claim(self, session: SessionId) -> Lease:
        return await self.write("claim", lambda memory: memory.claim(session), durable=True)  # type: ignore[no-any-return]

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
        given = tuple(events)
        if not given:
            raise InvalidValue("events", events, "at least one event")
        return await self.write(  # type: ignore[no-any-return]
            "append", lambda memory: memory.append(session, epoch, expected_seq, given, audit=audit), durable=durable
        )

    async def sync(self) -> None:
        await self.write("sync", lambda memory: memory.sync(), durable=True)

    async def probe(self) -> None:
        await self.write("probe", lambda memory: memory.probe(), durable=True)

    async def read(
        self, session: SessionId, after: int = 0, limit: int = READ_LIMIT, *, epoch: int | None = None
    ) -> list[Stored]:
        few = self.weather.page(limit) if limit > 0 else limit
        return await self.look("read", lambda memory: memory.read(session, after, few, epoch=epoch))

    async def tail(
        self, session: SessionId, after: int = 0, *, epoch: int | None = None
    ) -> AsyncGenerator[Stored, None]:
        await self.read(session, after, 1, epoch=epoch)

        async def rows(at: int) -> list[Stored]:
            return await self.read(session, at)

        # A page may be short: only an empty one says that this was the end.
        async for stored in follow(self.disk.memory._bells, session_bell(session), after, rows, bool):
            yield stored

    async def last_seq(self, session: SessionId) -> int:
        return await self.look("last_seq", lambda memory: memory.last_seq(session))

    async def append_frames(self, session: SessionId, chunks: Sequence[RawLines]) -> int:
        check_lines(chunks)
        given = tuple(chunks)
        return await self.write("frames", lambda memory: memory.append_frames(session, given))  # type: ignore[no-any-return]

    async def read_frames(self, session: SessionId, query: FrameQuery) -> FramePage:
        return await self.look("frames", lambda memory: memory.read_frames(session, query))

    # ------------------------------------------------------------------------------------------ beside

    def journal(self, name: str) -> SimJournal:
        return SimJournal(self, name)

    async def journals(
        self, prefix: str = "", *, after: str | None = None, limit: int = LIST_LIMIT
    ) -> Page[JournalRow]:
        return await self.look("journals", lambda memory: memory.journals(prefix, after=after, limit=limit))

    def documents(self, namespace: str) -> SimDocuments:
        return SimDocuments(self, namespace)

    def queue(self, namespace: str) -> SimQueue:
        return SimQueue(self, namespace)

    async def rebuild_projections(self) -> int:
        return await self.write("rebuild", lambda memory: memory.rebuild_projections())  # type: ignore[no-any-return]

    async def retain(
        self, policy: RetentionPolicy, budget: int = BUDGET, *, record: Callable[[SessionRow], bytes] | None = None
    ) -> Retained:
        return await self.write("retain", lambda memory: memory.retain(policy, budget, record=record))  # type: ignore[no-any-return]

    async def delete_session(self, session: SessionId, *, audit: Sequence[bytes] = ()) -> bool:
        return await self.write("delete", lambda memory: memory.delete_session(session, audit=audit), durable=True)  # type: ignore[no-any-return]

    async def export(self, session: SessionId) -> AsyncGenerator[bytes, None]:
        async for line in self.disk.memory.export(session):
            yield line

    async def import_(self, lines: Lines) -> SessionId:
        given = [line async for line in each(lines)]
        return await self.write("import", lambda memory: memory.import_(given), durable=True)  # type: ignore[no-any-return]

    async def backup(self, path: Path) -> int:
        return await self.look("backup", lambda memory: memory.backup(path))

    async def check(self) -> tuple[str, ...]:
        return await self.look("check", lambda memory: memory.check())

    async def close(self) -> None:
        self._closed = True
        if self._writer is not None:
            if self._bell is not None and not self._bell.done():
                self._bell.set_result(None)
            await asyncio.wait((self._writer,))
        self.disk.sync()
        self.disk.memory._bells.ring_all()


class _Projections:
    def __init__(self, store: SimStore) -> None:
        self._store = store

    async def session(self, session: SessionId) -> SessionRow | None:
        return await self._store.look("row", lambda memory: memory.projections.session(session))

    async def sessions(
        self, only: SessionFilter | None = None, *, after: str | None = None, limit: int = LIST_LIMIT
    ) -> Page[SessionRow]:
        return await self._store.look(
            "rows", lambda memory: memory.projections.sessions(only, after=after, limit=limit)
        )

    async def request(self, session: SessionId, request: RequestId) -> RequestRow | None:
        return await self._store.look("row", lambda memory: memory.projections.request(session, request))

    async def requests(
        self, only: RequestFilter | None = None, *, after: str | None = None, limit: int = LIST_LIMIT
    ) -> Page[RequestRow]:
        return await self._store.look(
            "rows", lambda memory: memory.projections.requests(only, after=after, limit=limit)
        )

    async def count_states(self) -> dict[SessionState, int]:
        return await self._store.look("rows", lambda memory: memory.projections.count_states())

    async def unfinished(self, *, after: str | None = None, limit: int = LIST_LIMIT) -> Page[SessionRow]:
        return await self._store.look("rows", lambda memory: memory.projections.unfinished(after=after, limit=limit))


class SimAudit:
    """The audit log on the simulated disk."""

    def __init__(self, store: SimStore) -> None:
        self._store = store

    async def append(self, records: Sequence[bytes]) -> AuditHead:
        return await self._store.write("audit", lambda memory: memory.audit.append(records), durable=True)  # type: ignore[no-any-return]

    async def head(self) -> AuditHead:
        return await self._store.look("audit", lambda memory: memory.audit.head())

    async def wait(self, after: int) -> AuditHead:
        while True:
            with self._store.disk.memory._bells.listen(AUDIT_BELL) as bell:
                head = await self.head()
                if head.number > after:
                    await self._store.sync()
                    return head
                await bell

    async def read(self, after: int = 0, limit: int = READ_LIMIT) -> list[AuditRow]:
        few = self._store.weather.page(limit) if limit > 0 else limit
        return await self._store.look("audit", lambda memory: memory.audit.read(after, few))

    async def find_last(self, before: float) -> AuditRow | None:
        return await self._store.look("audit", lambda memory: memory.audit.find_last(before))

    async def cut(self, through: int, budget: int = BUDGET) -> int:
        return await self._store.write("audit", lambda memory: memory.audit.cut(through, budget))  # type: ignore[no-any-return]


class SimJournal:
    """A journal on the simulated disk."""

    def __init__(self, store: SimStore, name: str) -> None:
        self._store = store
        self._name = name

    async def append(self, bodies: Sequence[bytes], *, durable: bool = False) -> int:
        given = tuple(bodies)
        return await self._store.write(  # type: ignore[no-any-return]
            "journal", lambda memory: memory.journal(self._name).append(given), durable=durable
        )

    async def read(self, after: int = 0, limit: int = READ_LIMIT) -> JournalPage:
        few = self._store.weather.page(limit) if limit > 0 else limit
        return await self._store.look("journal", lambda memory: memory.journal(self._name).read(after, few))

    async def tail(self, after: int = 0, limit: int = READ_LIMIT) -> AsyncGenerator[JournalPage, None]:
        bells = self._store.disk.memory._bells
        async for page in follow_pages(bells, journal_bell(self._name), after, lambda at: self.read(at, limit)):
            yield page

    async def delete(self) -> None:
        await self._store.write("journal", lambda memory: memory.journal(self._name).delete())


class SimDocuments:
    """Documents on the simulated disk."""

    def __init__(self, store: SimStore, namespace: str) -> None:
        self._store = store
        self._namespace = namespace

    async def get(self, key: str) -> Document | None:
        return await self._store.look("document", lambda memory: memory.documents(self._namespace).get(key))

    async def put(self, key: str, body: bytes, *, expect: int | None = None, durable: bool = True) -> int:
        return await self._store.write(  # type: ignore[no-any-return]
            "document", lambda memory: memory.documents(self._namespace).put(key, body, expect=expect), durable=durable
        )

    async def delete(self, key: str, *, expect: int | None = None, durable: bool = True) -> bool:
        return await self._store.write(  # type: ignore[no-any-return]
            "document", lambda memory: memory.documents(self._namespace).delete(key, expect=expect), durable=durable
        )

    async def list(self, prefix: str = "", *, after: str | None = None, limit: int = LIST_LIMIT) -> Page[Document]:
        return await self._store.look(
            "document", lambda memory: memory.documents(self._namespace).list(prefix, after=after, limit=limit)
        )


class SimQueue:
    """A queue on the simulated disk."""

    def __init__(self, store: SimStore, namespace: str) -> None:
        self._store = store
        self._namespace = namespace

    async def put(
        self, body: bytes, *, key: str | None = None, lane: str = "", delay_s: float = 0.0, durable: bool = True
    ) -> Put:
        return await self._store.write(  # type: ignore[no-any-return]
            "queue",
            lambda memory: memory.queue(self._namespace).put(body, key=key, lane=lane, delay_s=delay_s),
            durable=durable,
        )

    async def claim(self, limit: int = 1, *, visibility_s: float = 30.0) -> list[Message]:
        return await self._store.write(  # type: ignore[no-any-return]
            "queue", lambda memory: memory.queue(self._namespace).claim(limit, visibility_s=visibility_s)
        )

    async def take(self, limit: int = 1, *, visibility_s: float = 30.0) -> list[Message]:
        async def due_s() -> float | None:
            return await self._store.disk.memory.queue(self._namespace)._next_due_s()

        return await wait_for_messages(
            self._store.disk.memory._bells,
            queue_bell(self._namespace),
            lambda: self.claim(limit, visibility_s=visibility_s),
            due_s,
        )

    async def ack(self, message: Message, *, durable: bool = True) -> bool:
        return await self._store.write(  # type: ignore[no-any-return]
            "queue", lambda memory: memory.queue(self._namespace).ack(message), durable=durable
        )

    async def nack(self, message: Message, *, delay_s: float = 0.0) -> bool:
        return await self._store.write(  # type: ignore[no-any-return]
            "queue", lambda memory: memory.queue(self._namespace).nack(message, delay_s=delay_s)
        )

    async def size(self) -> int:
        return await self._store.look("queue", lambda memory: memory.queue(self._namespace).size())
