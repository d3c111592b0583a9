"""`MemoryStore`: a store that is gone with its process, for one-off runs and for tests."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from footplate.errors import InvalidValue, StoreClosed, UnknownSession, UnsupportedOption, WrongEpoch
from footplate.events.codec import decode_envelope
from footplate.events.ids import SessionId
from footplate.events.model import SCHEMA_VERSION, Envelope
from footplate.store.base import BUDGET, LIST_LIMIT, READ_LIMIT, Lines
from footplate.store.bells import Bells, session_bell
from footplate.store.entries import check_cursor, check_limit, check_place, check_range, prepare_entries
from footplate.store.follow import follow
from footplate.store.frames import PageMaker, check_lines, check_query, count_lines, split_block
from footplate.store.memory_audit import MemoryAudit
from footplate.store.memory_documents import MemoryDocuments
from footplate.store.memory_index import MemoryProjections
from footplate.store.memory_journal import MemoryJournal, Sheets
from footplate.store.memory_queue import Line, MemoryQueue
from footplate.store.paging import make_page
from footplate.store.projection import Folding, SessionRow
from footplate.store.transfer import Reader, each, write_line, write_title
from footplate.store.upcast import upcast
from footplate.store.values import (
    ARCHIVED,
    SESSION_DOCUMENTS,
    Document,
    Encoded,
    Frame,
    FramePage,
    FrameQuery,
    JournalRow,
    Lease,
    Page,
    RawLines,
    Retained,
    RetentionPolicy,
    Stored,
)


class _Log:
    def __init__(self, session: SessionId, epoch: int) -> None:
        self.epoch = epoch
        self.events: list[Stored] = []
        self.epochs: list[int] = []
        self.frames: list[Frame] = []
        self.last_frame = 0
        self.folding = Folding(session)


def _is_full(rows: list[Stored]) -> bool:
    return len(rows) >= READ_LIMIT


class MemoryStore:
    """A `Store` in memory. Durable means nothing here; everything else is as promised."""

    failed = None

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._logs: dict[SessionId, _Log] = {}
        self._journals: dict[str, Sheets] = {}
        self._documents: dict[str, dict[str, Document]] = {}
        self._queues: dict[str, Line] = {}
        self._numbers = itertools.count(1)
        self._bells = Bells()
        self._closed = False
        self.audit = MemoryAudit(self._now, self._bells)
        self.projections = MemoryProjections(self._foldings, self._is_archived)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of everything."""
        self._closed = True
        self._bells.ring_all()

    def _held(self) -> dict[SessionId, _Log]:
        if self._closed:
            raise StoreClosed("in memory")
        return self._logs

    def _now(self) -> float:
        """The time, for what only an open store does."""
        self._held()
        return self._clock()

    def _foldings(self) -> Iterable[Folding]:
        return (log.folding for log in self._held().values())

    def _is_archived(self, session: SessionId) -> bool:
        return session in self._documents.get(ARCHIVED, ())

    # ---------------------------------------------------------------------------------------------- logs

    async def claim(self, session: SessionId) -> Lease:
        """Become the one writer of a session."""
        log = self._held().setdefault(session, _Log(session, 0))
        log.epoch += 1
        return Lease(session, log.epoch, len(log.events))

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
        """Add events, all or none, after the one numbered `expected_seq`; the number of the last."""
        entries = prepare_entries(session, epoch, expected_seq, events)
        log = self._held().get(session)
        if log is None:
            raise WrongEpoch(session, epoch, 0)
        check_place(session, epoch=epoch, expected=expected_seq, head_epoch=log.epoch, head_seq=len(log.events))
        log.folding.add(entry.envelope for entry in entries)
        log.events += (Stored(session, entry.envelope.seq, SCHEMA_VERSION, entry.body) for entry in entries)
        log.epochs += [epoch] * len(entries)
        self._bells.ring((session_bell(session),))
        self.audit.add(audit)
        await asyncio.sleep(0)
        return expected_seq + len(entries)

    async def sync(self) -> None:
        """Nothing here is safe from a power cut."""
        self._held()

    async def read(
        self, session: SessionId, after: int = 0, limit: int = READ_LIMIT, *, epoch: int | None = None
    ) -> list[Stored]:
        """The events after a number."""
        check_range(after, limit)
        log = self._held().get(session) or _Log(session, 0)
        last = len(log.events)
        found = log.epochs[after - 1] if 0 < after <= last else None
        check_cursor(session, after, seen=epoch, found=found, last_seq=last, epoch=log.epoch)
        return log.events[after : after + limit]

    async def tail(
        self, session: SessionId, after: int = 0, *, epoch: int | None = None
    ) -> AsyncGenerator[Stored, None]:
        """The events after a number, and then each new one as it comes."""
        await self.read(session, after, 1, epoch=epoch)
        key = session_bell(session)
        async for stored in follow(self._bells, key, after, lambda at: self.read(session, at), _is_full):
            yield stored

    async def last_seq(self, session: SessionId) -> int:
        """The number of the last event; 0 when there is none."""
        log = self._held().get(session)
        return len(log.events) if log else 0

    async def append_frames(self, session: SessionId, chunks: Sequence[RawLines]) -> int:
        """Store raw lines; the number of the last."""
        check_lines(chunks)
        log = self._held().get(session)
        if log is None:
            raise WrongEpoch(session, 0, 0)
        log.frames += split_block(log.last_frame + 1, chunks)
        log.last_frame += count_lines(chunks)
        return log.last_frame

    async def read_frames(self, session: SessionId, query: FrameQuery) -> FramePage:
        """A page of raw lines."""
        check_query(query)
        log = self._held().get(session) or _Log(session, 0)
        first = log.frames[0].number if log.frames else log.last_frame + 1
        page = PageMaker(query, first=first, last=log.last_frame)
        page.add_all(reversed(log.frames) if query.newest else log.frames)
        return page.finish()

    # -------------------------------------------------------------------------------------------- beside

    def journal(self, name: str) -> MemoryJournal:
        """The journal of that name."""
        return MemoryJournal(name, self._held_journals, self._bells, self._clock)

    def _held_journals(self) -> dict[str, Sheets]:
        self._held()
        return self._journals

    async def journals(
        self, prefix: str = "", *, after: str | None = None, limit: int = LIST_LIMIT
    ) -> Page[JournalRow]:
        """The journals whose names begin so, in order of names."""
        check_limit(limit)
        names = sorted(name for name in self._held_journals() if name.startswith(prefix) and name > (after or ""))
        return make_page([self._journals[name].row(name) for name in names], limit, lambda row: row.name)

    def documents(self, namespace: str) -> MemoryDocuments:
        """The documents of a namespace."""
        held = self._documents.setdefault(namespace, {})
        return MemoryDocuments(namespace, held, self._numbers, self._now)

    def queue(self, namespace: str) -> MemoryQueue:
        """The queue of a namespace."""
        line = self._queues.setdefault(namespace, Line())
        return MemoryQueue(namespace, line, self._numbers, self._now, self._bells)

    # -------------------------------------------------------------------------------------------- upkeep

    async def rebuild_projections(self) -> int:
        """Fold the index anew from the logs; how many sessions."""
        for session, log in self._held().items():
            log.folding = Folding(session)
            log.folding.add(stored.envelope() for stored in log.events)
        return len(self._logs)

    async def retain(
        self, policy: RetentionPolicy, budget: int = BUDGET, *, record: Callable[[SessionRow], bytes] | None = None
    ) -> Retained:
        """One step of retention."""
        check_limit(budget)
        now, left = self._clock(), budget
        sessions, events = self._close_sessions(policy, now, left, record)
        left -= sessions + events
        frames = self._cut_frames(policy, now, left)
        left -= frames
        journal = 0
        for sheets in self._journals.values():
            journal += sheets.cut_old(policy, now, left - journal)
        left -= journal
        messages = 0
        for line in self._queues.values() if policy.queue_done_age_s is not None else ():
            messages += line.forget(now - (policy.queue_done_age_s or 0.0), left - messages)
        left -= messages
        return Retained(
            sessions=sessions, events=events, frames=frames, journal=journal, messages=messages, more=left <= 0
        )

    def _close_sessions(
        self, policy: RetentionPolicy, now: float, budget: int, record: Callable[[SessionRow], bytes] | None
    ) -> tuple[int, int]:
        """Sessions go whole here, so that the last of them may cost more than the budget."""
        sessions, events = 0, 0
        for session, log in tuple(self._held().items()):
            row, age = log.folding.index.session, policy.closed_sessions_age_s
            old = age is not None and row.state == "closed" and row.updated_at < now - age
            if old and sessions + events < budget:
                if record is not None:
                    self.audit.add([record(row)])
                self._remove(session)
                sessions, events = sessions + 1, events + len(log.events)
        return sessions, events

    def _cut_frames(self, policy: RetentionPolicy, now: float, budget: int) -> int:
        """The oldest of all sessions first."""
        kept = sorted(
            (
                (frame.time, session, place)
                for session, log in self._logs.items()
                for place, frame in enumerate(log.frames)
            )
        )
        size = sum(len(frame.raw) for log in self._logs.values() for frame in log.frames)
        gone: dict[SessionId, set[int]] = {}
        for count, (at, session, place) in enumerate(kept):
            length = len(self._logs[session].frames[place].raw)
            old = policy.frames_age_s is not None and at < now - policy.frames_age_s
            far = policy.frames_bytes is not None and size > policy.frames_bytes
            if count >= budget or not (old or far):
                break
            gone.setdefault(session, set()).add(place)
            size -= length
        for session, places in gone.items():
            log = self._logs[session]
            log.frames = [frame for place, frame in enumerate(log.frames) if place not in places]
        return sum(map(len, gone.values()))

    async def delete_session(self, session: SessionId, *, audit: Sequence[bytes] = ()) -> bool:
        """Remove a session with its log, frames and rows."""
        if session not in self._held():
            return False
        self.audit.add(audit)
        self._remove(session)
        return True

    def _remove(self, session: SessionId) -> None:
        del self._logs[session]
        for namespace in SESSION_DOCUMENTS:
            self._documents.get(namespace, {}).pop(session, None)
        self._bells.ring((session_bell(session),))

    async def export(self, session: SessionId) -> AsyncGenerator[bytes, None]:
        """The session as JSONL, line by line."""
        log = self._held().get(session)
        events = tuple(log.events) if log else ()
        if not events:
            raise UnknownSession(session)
        yield write_title(session, len(events))
        for stored in events:
            yield write_line(stored)

    async def import_(self, lines: Lines) -> SessionId:
        """Take in what `export` gave, whole or not at all."""
        source = each(lines)
        reader = Reader(await anext(source, b""))
        log = _Log(reader.session, 0)
        async for line in source:
            stored = reader.feed(line)
            body, version = upcast(stored.body, stored.version)
            envelope = decode_envelope(body)
            log.folding.add((envelope,))
            log.events.append(Stored(reader.session, stored.seq, version, body))
            log.epochs.append(envelope.epoch)
        reader.finish()
        if reader.session in self._held():
            raise InvalidValue(
                "session", reader.session, "a session that is not in the store; delete the one that is there first"
            )
        log.epoch = max(log.epochs, default=0)
        self._logs[reader.session] = log
        self._bells.ring((session_bell(reader.session),))
        return reader.session

    async def backup(self, path: Path) -> int:
        """Not here: there is no file to copy."""
        raise UnsupportedOption("the store in memory", "backup", "export its sessions instead")

    async def probe(self) -> None:
        """There is nothing that could be wrong."""
        self._held()

    async def check(self) -> tuple[str, ...]:
        """There is nothing that could be wrong."""
        self._held()
        return ()
