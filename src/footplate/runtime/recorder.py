"""The recorder: stores the raw lines of all agents of a service, off the path of what they say.

The task that reads an agent only puts bytes into a bounded buffer; another task writes them to the store in small
transactions that wait for no disk. Nothing waits for that task, and nothing fails with it: when it falls behind, or the
store refuses, the oldest lines are dropped, and a line of direction `gap` says how many are missing. The task exists
only while there is something to write.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from footplate.errors import StoreClosed, StoreError, WrongEpoch
from footplate.events.ids import SessionId
from footplate.runtime.frame_secrets import hide_secrets
from footplate.runtime.log import SessionLog
from footplate.runtime.surroundings import Surroundings
from footplate.store.base import Store
from footplate.store.values import Direction, RawLines
from footplate.tasks import Tasks

MEMORY_BYTES: Final = 8 * 1024 * 1024
"""How much may wait to be written, for all sessions together."""

CHUNK_BYTES: Final = 200
"""The memory of a chunk in addition to its lines."""

BATCH_BYTES: Final = 256 * 1024
"""How much is written at a time."""

FLUSH_S: Final = 2.0
"""How long a line waits for others at most."""

PIECE_BYTES: Final = 16 * 1024
"""How much is searched for secrets before other work of the loop gets its turn."""

PACE_S: Final = 0.05
"""The pause between two full batches: no agent makes the service spend more than a few percent of a core on this."""

RETRY_S: Final = 5.0
"""The pause after the store has refused."""

CLOSE_S: Final = 2.0
"""How long the end of the service waits until all lines are written."""

HURRY_BYTES: Final = 64 * 1024 * 1024
"""After this many bytes retention should look at what is stored."""

log = logging.getLogger(__name__)


class Missing(msgspec.Struct, frozen=True):
    """The content of a `gap`: lines that were not stored."""

    lines: int
    bytes: int

    def __add__(self, other: Missing) -> Missing:
        return Missing(self.lines + other.lines, self.bytes + other.bytes)


class Recorder:
    """The raw lines of one service. `enabled` is called for each agent process: whether to record it."""

    def __init__(self, store: Store, surroundings: Surroundings, *, enabled: Callable[[], bool] = lambda: True) -> None:
        self.on_volume: Callable[[], None] = lambda: None
        """Called each time that `HURRY_BYTES` more were stored."""
        self._store = store
        self.enabled = enabled
        self._time = surroundings.time
        self._pending: deque[tuple[SessionId, RawLines]] = deque()
        self._size = 0
        self._missing: dict[SessionId, Missing] = {}
        self._volume = 0
        self._hurry = asyncio.Event()
        self._tasks = Tasks()
        self._working = False
        self._refused = False
        self._closing = False
        self._off = False

    def sink(self, session_log: SessionLog) -> SessionSink | None:
        """Takes the lines of an agent process of this session; None when they are not to be recorded."""
        return SessionSink(self, session_log, self._time) if self.enabled() else None

    def add(self, session: SessionId, chunk: RawLines) -> None:
        """Take lines. Returns at once."""
        if self._off:
            return
        self._pending.append((session, chunk))
        self._size += len(chunk.lines) + CHUNK_BYTES
        if self._size > MEMORY_BYTES:
            self._drop_oldest()
        if self._size >= BATCH_BYTES:
            self._hurry.set()
        if not self._working:
            self._working = True
            self._tasks.spawn(self._work(), name="recorder of raw lines", on_failure=self._stopped)

    def lose(self, session: SessionId, missing: Missing) -> None:
        """Note lines that will not be stored."""
        self._missing[session] = self._missing.get(session, Missing(0, 0)) + missing

    def hurry(self) -> None:
        """Store what waits soon."""
        if self._pending:
            self._hurry.set()

    async def close(self) -> None:
        """Store what waits, if the store takes it in time; nothing is taken any more."""
        self._closing = True
        self._hurry.set()
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._tasks.wait()
        except TimeoutError:
            sessions = len({session for session, _ in self._pending})
            log.warning("raw lines of %d sessions are not stored: the store takes too long", sessions)
        self._off = True
        self._pending.clear()
        await self._tasks.cancel()

    def _drop_oldest(self) -> None:
        while self._size > MEMORY_BYTES:
            session, chunk = self._pending.popleft()
            self._size -= len(chunk.lines) + CHUNK_BYTES
            self._lose_chunk(session, chunk)

    def _lose_chunk(self, session: SessionId, chunk: RawLines) -> None:
        self.lose(session, Missing(chunk.lines.count(b"\n"), chunk.size or len(chunk.lines)))

    # ------------------------------------------------------------------------------------------ in the task

    async def _work(self) -> None:
        while self._pending or self._missing:
            await self._gather()
            taken = [await self._write_or_lose(session, chunks) for session, chunks in self._take().items()]
            self._note_volume()
            if not all(taken):
                await asyncio.sleep(RETRY_S)
        self._working = False

    def _stopped(self, _: BaseException) -> None:
        """The task failed, which it should not: the next lines start another."""
        self._working = False

    async def _gather(self) -> None:
        """Wait for more, but not for long."""
        if self._closing:
            return
        if self._size >= BATCH_BYTES:
            await asyncio.sleep(PACE_S)
            return
        try:
            async with asyncio.timeout(FLUSH_S):
                await self._hurry.wait()
        except TimeoutError:
            pass
        self._hurry.clear()

    def _take(self) -> dict[SessionId, list[RawLines]]:
        """The oldest lines, about a batch of them, by session."""
        taken: dict[SessionId, list[RawLines]] = {session: [] for session in self._missing}
        size = 0
        while self._pending and size < BATCH_BYTES:
            session, chunk = self._pending.popleft()
            taken.setdefault(session, []).append(chunk)
            size += len(chunk.lines) + CHUNK_BYTES
        self._size -= size
        return taken

    async def _write_or_lose(self, session: SessionId, chunks: list[RawLines]) -> bool:
        """Store lines of one session; False when the store takes nothing now.

        Whatever goes wrong with these lines, those of other sessions are stored, and a `gap` says what is missing.
        """
        missing = self._missing.pop(session, None)
        try:
            return await self._write(session, chunks, missing)
        except Exception:
            if not self._refused:
                self._refused = True
                log.exception("raw lines cannot be stored")
            if missing is not None and (chunks or not self._closing):
                self.lose(session, missing)
            for chunk in chunks:
                self._lose_chunk(session, chunk)
            return bool(chunks)

    async def _write(self, session: SessionId, chunks: list[RawLines], missing: Missing | None) -> bool:
        batch = await self._hide(chunks)
        if missing is not None:
            seq, time = (chunks[0].seq, chunks[0].time) if chunks else (0, self._time())
            batch.insert(0, RawLines("gap", time, seq, msgspec.json.encode(missing) + b"\n"))
        try:
            await self._store.append_frames(session, batch)
        except (WrongEpoch, StoreClosed):
            return True  # the session was deleted, or the service ends: its lines are dropped
        except StoreError as problem:
            self._note_refusal(problem)
            if self._off or self._closing:
                return True
            if missing is not None:
                self.lose(session, missing)
            self._put_back(session, chunks)
            return False
        self._refused = False
        self._volume += sum(len(chunk.lines) for chunk in batch)
        return True

    async def _hide(self, chunks: list[RawLines]) -> list[RawLines]:
        """The lines as they may be stored. A flood of short lines must not hold up the loop."""
        hidden: list[RawLines] = []
        size = 0
        for chunk in chunks:
            for piece in split_chunk(chunk, PIECE_BYTES):
                hidden.append(hide_secrets(piece))
                size += len(piece.lines)
                if size > PIECE_BYTES // 2:
                    size = 0
                    await asyncio.sleep(0)
        return hidden

    def _note_refusal(self, problem: StoreError) -> None:
        if not self._refused:
            self._refused = True
            log.warning("raw lines cannot be stored: %s", problem)
        if not problem.retryable:  # the store takes nothing until it is opened again
            self._off = True
            self._pending.clear()
            self._missing.clear()

    def _put_back(self, session: SessionId, chunks: list[RawLines]) -> None:
        for chunk in reversed(chunks):
            self._pending.appendleft((session, chunk))
            self._size += len(chunk.lines) + CHUNK_BYTES
        self._drop_oldest()

    def _note_volume(self) -> None:
        if self._volume >= HURRY_BYTES:
            self._volume = 0
            self.on_volume()


def split_chunk(chunk: RawLines, limit: int) -> Iterator[RawLines]:
    """The lines of a chunk in pieces of at most `limit` bytes, or of one line that is longer."""
    lines, start = chunk.lines, 0
    while len(lines) - start > limit:
        end = lines.rfind(b"\n", start, start + limit) + 1 or lines.index(b"\n", start) + 1
        yield msgspec.structs.replace(chunk, lines=lines[start:end])
        start = end
    if start < len(lines):
        yield msgspec.structs.replace(chunk, lines=lines[start:]) if start else chunk


class SessionSink:
    """The way of one session's lines into the recorder."""

    def __init__(self, recorder: Recorder, session_log: SessionLog, time: Callable[[], float]) -> None:
        self._recorder = recorder
        self._log = session_log
        self._time = time

    def record(self, direction: Direction, lines: bytes, *, size: int = 0, age_s: float = 0.0) -> None:
        """Take whole lines."""
        chunk = RawLines(direction, self._time() - age_s, self._log.last_seq, lines, size)
        self._recorder.add(self._log.session, chunk)

    def lose(self, lines: int, size: int) -> None:
        """Note missing lines."""
        self._recorder.lose(self._log.session, Missing(lines, size))

    def finish(self) -> None:
        """The agent has ended."""
        self._recorder.hurry()
