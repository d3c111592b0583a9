"""A server that runs for a month: raw lines, replays of connections, queues and chat messages stay bounded.

Everything is real but time, the chat service and the agent, which is the mock in its own process-less form: SQLite on a
disk, the recorder, housekeeping, the hub, the ACP connections, the chat bridge.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from footplate.acp.jsonrpc import Envelope
from footplate.chat.bridge import Line, open_bridge
from footplate.chat.model import Chat, Content, Id, Message, Place, Update, User
from footplate.chat.outbox.buckets import Pace
from footplate.chat.transport import Capabilities, Lost, Transport
from footplate.config.chat import TransportSettings
from footplate.config.retention import RetentionSettings
from footplate.config.settings import RuntimeSettings, Settings
from footplate.events.ids import SessionId
from footplate.interfaces.http.acp_doors import AcpDoors
from footplate.runtime.service import Service, open_runtime
from footplate.runtime.services import Services
from footplate.runtime.spec import SessionSpec
from footplate.runtime.surroundings import Bounds, Surroundings
from footplate.store.chain import Break, ChainCheck
from footplate.store.sqlite import SqliteStore, file
from tests.simulation.threaded import ThreadedLoop

DAYS: Final = 30
SHIFTS: Final = 2
DAY_S: Final = 86_400.0
EPOCH_S: Final = 1_800_000_000.0
ME: Final = User(id=7, first_name="Ann")
FRAMES_MB: Final = 1
RETENTION: Final = RetentionSettings(
    frames_days=3,
    frames_mb=FRAMES_MB,
    journal_days=1,
    journal_mb=1,
    connection_days=3,
    queue_days=1,
    closed_sessions_days=4,
    audit_days=4,
)


class Machine(Surroundings):
    """The machine with the clock of the loop."""

    def __init__(self, loop: ThreadedLoop) -> None:
        super().__init__(Bounds(sweep_s=1800.0, unused_s=1800.0, housekeeping_every_s=1800.0))
        self._loop = loop

    def time(self) -> float:
        return EPOCH_S + self._loop.now

    def monotonic(self) -> float:
        return self._loop.now

    def memory_is_short(self) -> bool:
        return False


class Chats(Transport):
    """A chat service in memory: what a person writes is received, what the bot writes is counted."""

    name = "chats"
    me = User(id=1, is_bot=True, username="bot")
    capabilities = Capabilities(edits=True, deletes=True, buttons=True, replies=True)
    pace = Pace()

    def __init__(self) -> None:
        self._updates: list[Update] = []
        self._wake_up = asyncio.Event()
        self._number = 0
        self.texts: list[str] = []

    def write(self, text: str) -> None:
        """The person writes."""
        self._number += 1
        message = Message(message_id=self._number, chat=Chat(id=ME.id), sender=ME, text=text)
        self._updates.append(Update(update_id=self._number, message=message))
        self._wake_up.set()

    async def receive(self, after: int) -> list[Update]:
        while not (fresh := [update for update in self._updates if update.update_id > after]):
            self._updates.clear()
            self._wake_up.clear()
            await self._wake_up.wait()
        return fresh

    def is_private(self, chat: Id) -> bool:
        return True

    async def send(self, place: Place, content: Content, *, key: str) -> Id:
        self._number += 1
        self.texts.append(content.text)
        return self._number

    async def find(self, lost: Lost) -> Id | None:
        return None

    async def edit(self, chat: Id, message: Id, content: Content, *, is_file: bool = False) -> None:
        self.texts.append(content.text)

    async def delete(self, chat: Id, message: Id) -> None:
        pass

    async def answer_press(self, press: str, text: str) -> None:
        pass


class Sizes(msgspec.Struct, frozen=True):
    """What the store holds, and how large its file is."""

    frames_bytes: int
    frame_blocks: int
    entries: int
    journals: int
    messages: int
    events: int
    sessions: int
    connections: int
    chat_documents: int
    audit_records: int
    free_pages: int
    file_mb: float


def measure(connection: sqlite3.Connection) -> Sizes:
    """Count everything that retention or housekeeping has to bound."""

    def one(query: str) -> int:
        return int(connection.execute(query).fetchone()[0] or 0)

    return Sizes(
        frames_bytes=one("SELECT sum(size) FROM frame_blocks"),
        frame_blocks=one("SELECT count(*) FROM frame_blocks"),
        entries=one("SELECT count(*) FROM entries"),
        journals=one("SELECT count(*) FROM journals"),
        messages=one("SELECT count(*) FROM messages"),
        events=one("SELECT count(*) FROM events"),
        sessions=one("SELECT count(*) FROM documents WHERE namespace = 'sessions'"),
        connections=one("SELECT count(*) FROM documents WHERE namespace LIKE 'acp-connections%'"),
        chat_documents=one("SELECT count(*) FROM documents WHERE namespace LIKE 'chats/%/slots'"),
        audit_records=one("SELECT count(*) FROM audit"),
        free_pages=one("PRAGMA freelist_count"),
        file_mb=one("PRAGMA page_count") * 4096 / 1e6,
    )


class Month:
    """The service, and the people who use it every day."""

    def __init__(self, service: Service, store: SqliteStore, doors: AcpDoors, chats: Chats) -> None:
        self._service = service
        self._store = store
        self._doors = doors
        self._chats = chats
        self._dice = random.Random(15)
        self.raw_bytes = 0

    def _noise(self, size: int) -> str:
        """Text that hardly compresses."""
        self.raw_bytes += 2 * size
        return self._dice.randbytes(size // 2).hex()

    async def day(self, number: int) -> Sizes:
        """One day of traffic, and what is stored at its end."""
        began = asyncio.get_running_loop().time()
        for shift in range(SHIFTS):
            await self._work(shift)
            await self._use_acp(f"c{number}-{shift}")
            self._chats.write(self._noise(1_000))
            await self._queue(number, shift)
            await asyncio.sleep(8 * 3600.0)
        for row in (await self._service.hub.sessions()).items:
            if row.state != "closed":
                await (await self._service.hub.get(row.session)).close()
        await asyncio.sleep(began + DAY_S - asyncio.get_running_loop().time())
        return await self._store._readers.read(measure)

    async def verify_audit(self) -> list[Break]:
        """What is wrong with the audit log, whose beginning retention has removed."""
        check = ChainCheck()
        while rows := await self._store.audit.read(check.head.number):
            check.feed(rows)
        assert check.head.number > check.count, "nothing was removed"
        return check.finish()

    async def _work(self, shift: int) -> None:
        """A session with a few turns."""
        session = await self._service.hub.create(SessionSpec(engine="mock", cwd="/"), title=f"shift {shift}")
        await session.prompt(self._noise(250_000))
        await session.prompt("stream 20")
        await self._idle(session.id)

    async def _idle(self, session: SessionId) -> None:
        live = await self._service.hub.get(session)
        async with asyncio.timeout(60):
            while live.view().usage.turns < 2 or live.busy:  # noqa: ASYNC110 - virtual time
                await asyncio.sleep(1.0)

    async def _use_acp(self, name: str) -> None:
        """A client that connects, has one turn, and is never seen again."""
        connection = await self._doors.servers.open(name, "mock")
        never: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def call(number: int, method: str, **params: object) -> Any:
            raw = msgspec.Raw(msgspec.json.encode(params))
            waiting = await connection.call(Envelope(id=number, method=method, params=raw))
            answer = await connection.answer(waiting, idle_s=600.0, unless=never)
            assert answer is not None
            assert not answer.failed, answer.body
            return msgspec.json.decode(answer.body)["result"]

        await call(1, "initialize", protocolVersion=1, clientCapabilities={})
        session = (await call(2, "session/new", cwd="/", mcpServers=[]))["sessionId"]
        await call(3, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "stream 10"}])

    async def _queue(self, day: int, shift: int) -> None:
        """Messages of a queue that are delivered."""
        queue = self._store.queue("push")
        for number in range(10):
            await queue.put(b"x" * 200, key=f"{day}-{shift}-{number}", durable=False)
        for message in await queue.claim(10):
            await queue.ack(message, durable=False)


@asynccontextmanager
async def open_month(loop: ThreadedLoop, folder: Path) -> AsyncIterator[Month]:
    """A service with everything that stores something."""
    machine, chats = Machine(loop), Chats()
    bridge = TransportSettings(allowed_user_ids=(ME.id,), banner=False, cwd="/", drafts=False)
    settings = Settings(
        default_engine="mock",
        runtime=RuntimeSettings(idle_s=1800.0),
        retention=RETENTION,
        transports={"chats": bridge},
    )
    environ = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "FOOTPLATE_MOCK_PACE_MS": "0"}
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(await SqliteStore.open(folder / "store", clock=machine.time))
        loop.watch(store)
        keeper: Any = None  # the mock agent is a task: nothing is ever spawned
        services = Services(
            store, keeper, settings=settings, environ=environ, data=folder / "data", surroundings=machine
        )
        service = await stack.enter_async_context(open_runtime(services))
        doors = AcpDoors(service)
        stack.push_async_callback(doors.close)
        line = Line(transport=chats, select=lambda _: bridge, section="transports.chats", secret="s")
        await stack.enter_async_context(open_bridge(service, settings, line))
        yield Month(service, store, doors, chats)


async def run_month(loop: ThreadedLoop, folder: Path) -> tuple[list[Sizes], int]:
    async with open_month(loop, folder) as month:
        days = [await month.day(number) for number in range(DAYS)]
        assert await month.verify_audit() == []
        return days, month.raw_bytes


def test_a_month_of_traffic_leaves_bounded_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "sync_descriptor", lambda _: None)  # no power is cut, and a month has many syncs
    loop = ThreadedLoop()
    try:
        days, raw_bytes = loop.run_until_complete(run_month(loop, tmp_path))
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()
    assert loop.now >= DAYS * DAY_S
    assert raw_bytes > 15 * FRAMES_MB * 1024 * 1024, "the limit of raw lines must be reached many times"
    slack = 400_000  # what comes in between two looks
    assert max(sizes.frames_bytes for sizes in days) <= FRAMES_MB * 1024 * 1024 + slack
    late = days[5:]
    assert min(sizes.frames_bytes for sizes in late) > FRAMES_MB * 1024 * 1024 / 2
    assert max(sizes.frame_blocks for sizes in late) < 200
    assert max(sizes.connections for sizes in late) <= 5 * SHIFTS
    assert max(sizes.journals for sizes in late) <= 5 * SHIFTS
    assert max(sizes.entries for sizes in late) <= 2 * SHIFTS * 60
    assert max(sizes.messages for sizes in late) <= 2 * SHIFTS * 10
    assert max(sizes.sessions for sizes in late) <= 6 * (2 * SHIFTS + 1)
    assert max(sizes.chat_documents for sizes in late) <= 5 * SHIFTS
    assert min(sizes.audit_records for sizes in late) > 0, "sessions that expire leave a record"
    for name in (
        "entries",
        "journals",
        "messages",
        "events",
        "sessions",
        "connections",
        "chat_documents",
        "audit_records",
        "file_mb",
    ):
        first, last = (max(getattr(sizes, name) for sizes in some) for some in (days[5:15], days[20:]))
        assert last <= first * 1.15, f"{name} grows: {[getattr(sizes, name) for sizes in days]}"
    assert (tmp_path / "store" / "store.db").stat().st_size < 20_000_000
