"""`SqliteStore`: the store of one machine, in one file under the data folder."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from footplate.errors import InvalidValue, StoreError, StoreFailed, UnknownSession
from footplate.events.codec import decode_envelope
from footplate.events.ids import SessionId
from footplate.events.model import Envelope
from footplate.store.base import BUDGET, LIST_LIMIT, READ_LIMIT, Lines
from footplate.store.bells import Bells, session_bell
from footplate.store.entries import check_limit, check_range, prepare_entries
from footplate.store.follow import follow
from footplate.store.frames import check_lines, check_query
from footplate.store.migrations.runner import copy_database
from footplate.store.paging import make_page
from footplate.store.projection import Folding, SessionRow
from footplate.store.sqlite import frames, imports, index, logs, retention
from footplate.store.sqlite.audit import SqliteAudit
from footplate.store.sqlite.check import find_damage, find_damage_quickly
from footplate.store.sqlite.documents import SqliteDocuments
from footplate.store.sqlite.faults import repeat_fault, translate_fault
from footplate.store.sqlite.file import StoreFile
from footplate.store.sqlite.journal import SqliteJournal, Tails, list_journals
from footplate.store.sqlite.queue import SqliteQueue
from footplate.store.sqlite.readers import Readers
from footplate.store.sqlite.syncer import PERIOD_S
from footplate.store.sqlite.upkeep import Upkeep
from footplate.store.sqlite.writer import Writer
from footplate.store.transfer import Reader, each, write_line, write_title
from footplate.store.upcast import upcast
from footplate.store.values import (
    Encoded,
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
from footplate.tasks import spawn

READERS = 2
IMPORT_CHUNK = 500
PACK_HERE = 128 * 1024
"""Raw lines up to this size are compressed on the loop: half a millisecond, little more than the way to a thread."""


class SqliteStore:
    """A `Store` in SQLite. One process per folder; open it with `open`, on the loop that will use it.

    Commits are visible at once and survive the death of the process; a thread of its own makes them safe from a power
    cut, at most `sync_period_s` later, at once when a durable write waits.
    """

    def __init__(self, file: StoreFile, clock: Callable[[], float], sync_period_s: float) -> None:
        self._file = file
        self._bells = Bells()
        self._writer = Writer(file, self._bells, clock, sync_period_s)
        self._readers = Readers(file, READERS)
        self._slow = Readers(file, 1)
        self._searchers = Readers(file, 1)
        self._probes = Readers(file, 1)
        self._tails = Tails(self._readers, self._bells)
        self._closing: asyncio.Task[None] | None = None
        self.audit = SqliteAudit(self._writer, self._readers, self._bells)
        self.projections = index.SqliteProjections(self._readers, self._searchers, has_index=file.has_search)
        self._upkeep = Upkeep(self._writer, has_index=file.has_search)
        self._writer.on_fault = self._upkeep.wake

    @classmethod
    async def open(
        cls,
        folder: str | Path,
        *,
        clock: Callable[[], float] = time.time,
        max_bytes: int | None = None,
        sync_period_s: float = PERIOD_S,
    ) -> Self:
        """Open the store of a data folder, made or migrated if need be; `max_bytes` bounds the size of its file."""
        store = cls(StoreFile(Path(folder), max_bytes=max_bytes), clock, sync_period_s)
        try:
            await store._writer.write(imports.abandon)
        except BaseException:
            await store.close()
            raise
        return store

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def failed(self) -> StoreFailed | None:
        """Why nothing can be stored now; None while it can."""
        return self._writer.failed

    async def close(self) -> None:
        """Finish what was asked, make it durable, let go of everything."""
        if self._closing is None:
            self._closing = spawn(self._close(), name="footplate-store-close", awaited=True)
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        await self._upkeep.stop()
        await self._readers.stop()
        await self._slow.stop()
        await self._searchers.stop()
        await self._probes.stop()
        await self._writer.stop()
        self._bells.ring_all()
        self._file.close()

    # ---------------------------------------------------------------------------------------------- logs

    async def claim(self, session: SessionId) -> Lease:
        """Become the one writer of a session."""
        return await self._writer.write(logs.claim, session, durable=True)

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
        size = sum([len(entry.body) for entry in entries]) + sum(map(len, audit))
        self._upkeep.wake()
        return await self._writer.write(
            logs.append, session, epoch, expected_seq, entries, audit, durable=durable, size=size
        )

    async def sync(self) -> None:
        """Return when everything that was written before is safe from a power cut."""
        await self._writer.write(lambda _: None, durable=True)

    async def read(
        self, session: SessionId, after: int = 0, limit: int = READ_LIMIT, *, epoch: int | None = None
    ) -> list[Stored]:
        """The events after a number."""
        check_range(after, limit)
        return await self._readers.read(logs.read, session, after, limit, epoch)

    async def tail(
        self, session: SessionId, after: int = 0, *, epoch: int | None = None
    ) -> AsyncGenerator[Stored, None]:
        """The events after a number, and then each new one as it comes."""
        if epoch is not None:
            await self.read(session, after, 1, epoch=epoch)
        key = session_bell(session)
        async for stored in follow(self._bells, key, after, lambda at: self.read(session, at), logs.is_full):
            yield stored

    async def last_seq(self, session: SessionId) -> int:
        """The number of the last event; 0 when there is none."""
        return await self._readers.read(logs.last_seq, session)

    async def append_frames(self, session: SessionId, chunks: Sequence[RawLines]) -> int:
        """Store raw lines; the number of the last."""
        check_lines(chunks)
        small = sum(len(chunk.lines) for chunk in chunks) <= PACK_HERE
        blocks = frames.pack_all(chunks) if small else await asyncio.to_thread(frames.pack_all, chunks)
        size = sum(len(block.body) for block in blocks)
        return await self._writer.write(frames.append, session, blocks, size=size)

    async def read_frames(self, session: SessionId, query: FrameQuery) -> FramePage:
        """A page of raw lines."""
        check_query(query)
        return await self._readers.read(frames.read, session, query)

    # -------------------------------------------------------------------------------------------- beside

    def journal(self, name: str) -> SqliteJournal:
        """The journal of that name."""
        return SqliteJournal(name, self._writer, self._readers, self._tails)

    async def journals(
        self, prefix: str = "", *, after: str | None = None, limit: int = LIST_LIMIT
    ) -> Page[JournalRow]:
        """The journals whose names begin so, in order of names."""
        check_limit(limit)
        rows = await self._readers.read(list_journals, prefix, after or "", limit + 1)
        return make_page(rows, limit, lambda row: row.name)

    def documents(self, namespace: str) -> SqliteDocuments:
        """The documents of a namespace."""
        return SqliteDocuments(namespace, self._writer, self._readers)

    def queue(self, namespace: str) -> SqliteQueue:
        """The queue of a namespace."""
        return SqliteQueue(namespace, self._writer, self._readers, self._bells)

    # -------------------------------------------------------------------------------------------- upkeep

    async def rebuild_projections(self) -> int:
        """Fold the index anew from the logs, a session at a time; how many."""
        count = 0
        for num, session in await self._slow.read(index.list_logs):
            count += await self._rebuild(num, session)
        self._upkeep.wake()
        return count

    async def _rebuild(self, num: int, session: SessionId) -> bool:
        """Most of it is folded beside the writer, which then only folds what came since."""
        folding = await self._slow.read(lambda connection: index.fold_log(connection, num, Folding(session)))
        return await self._writer.write(index.replace_rows, num, folding)

    async def retain(
        self, policy: RetentionPolicy, budget: int = BUDGET, *, record: Callable[[SessionRow], bytes] | None = None
    ) -> Retained:
        """One step of retention."""
        check_limit(budget)
        self._upkeep.wake()
        return await self._writer.write(retention.retain, policy, budget, record)

    async def delete_session(self, session: SessionId, *, audit: Sequence[bytes] = ()) -> bool:
        """Remove a session with its log, frames and rows."""
        if await self._writer.write(logs.hide, session, audit, durable=True) is None:
            return False
        self._upkeep.wake()
        while not await self._writer.write(retention.purge, BUDGET):
            continue
        return True

    async def export(self, session: SessionId) -> AsyncGenerator[bytes, None]:
        """The session as JSONL, line by line."""
        last = await self.last_seq(session)
        if not last:
            raise UnknownSession(session)
        yield write_title(session, last)
        after = 0
        while after < last:
            for stored in await self.read(session, after, min(READ_LIMIT, last - after)):
                yield write_line(stored)
                after = stored.seq

    async def import_(self, lines: Lines) -> SessionId:
        """Take in what `export` gave, whole or not at all."""
        source = each(lines)
        reader = Reader(await anext(source, b""))
        num = await self._writer.write(imports.begin)
        try:
            folding, epoch = Folding(reader.session), 0
            rows: list[tuple[Stored, int]] = []
            async for line in source:
                stored = reader.feed(line)
                envelope = decode_envelope(upcast(stored.body, stored.version)[0])
                folding.add((envelope,))
                epoch = max(epoch, envelope.epoch)
                rows.append((stored, envelope.epoch))
                if len(rows) >= IMPORT_CHUNK:
                    await self._add_imported(num, rows)
                    rows = []
            reader.finish()
            await self._add_imported(num, rows)
            await self._writer.write(imports.finish, num, folding, epoch, durable=True)
            self._upkeep.wake()
        except BaseException:
            with suppress(StoreError):  # a store that fails or closes meanwhile does it when it is opened next
                await asyncio.shield(self._writer.write(imports.abandon_one, num))
            raise
        return reader.session

    async def _add_imported(self, num: int, rows: Sequence[tuple[Stored, int]]) -> None:
        await self._writer.write(imports.add, num, rows)

    async def catch_up(self) -> None:
        """Bring the indexes of lists and searches up to date now; else they follow by themselves."""
        await self._upkeep.catch_up()

    async def backup(self, path: Path) -> int:
        """Write a consistent copy beside the running work; its size in bytes."""
        return await self._slow.read(_back_up, path)

    async def probe(self) -> None:
        """Write something durably and look for damage for a short time."""
        await self._probes.read(lambda _: self._file.check_place())
        known = self.failed if self.failed is not None and not self.failed.retryable else self._file.damage
        if known is not None:
            raise repeat_fault(known)
        await self.documents("health").put("last", b"")
        await self._probes.read(find_damage_quickly)

    async def check(self) -> tuple[str, ...]:
        """Look at everything; what is wrong, one line each."""
        return await self._slow.read(find_damage)


def _back_up(connection: sqlite3.Connection, path: Path) -> int:
    if path.exists():
        raise InvalidValue("path", str(path), "a name that is free; a backup replaces nothing")
    try:
        return copy_database(connection, path)
    except (sqlite3.Error, OSError) as error:  # of the copy; the store itself is as it was
        raise translate_fault(error, path) from error
