"""A server that runs for a month: raw lines, replays of connections, queues and chat messages stay bounded.

The first days are quiet, so that raw lines are removed for their age; then they are removed for their size. Each limit
is planted as a bug, too: switched off, it is noticed.

Everything is real but time, the chat service and the agent, which is the mock in its own process-less form: SQLite on a
disk, the recorder, housekeeping, the hub, the ACP connections, the chat bridge.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import msgspec
import pytest
from msgspec.structs import replace

from footplate.acp.jsonrpc import Envelope
from footplate.chat.bridge import Line, open_bridge
from footplate.chat.model import Chat, Content, Id, Message, Place, Update, User
from footplate.chat.outbox import shelf
from footplate.chat.outbox.buckets import Pace
from footplate.chat.transport import Capabilities, Lost, Transport
from footplate.config.chat import TransportSettings
from footplate.config.retention import RetentionSettings
from footplate.config.settings import RuntimeSettings, Settings
from footplate.events.ids import SessionId
from footplate.interfaces.http.acp_doors import AcpDoors
from footplate.runtime.audit import SERVICE
from footplate.runtime.service import Service, open_runtime
from footplate.runtime.services import Services
from footplate.runtime.spec import SessionSpec
from footplate.runtime.surroundings import Bounds, Surroundings
from footplate.store.chain import Break, ChainCheck
from footplate.store.sqlite import SqliteStore, file, retention
from tests.simulation.threaded import ThreadedLoop

DAYS: Final = 30
QUIET_DAYS: Final = 10
SHIFTS: Final = 2
HOUR_S: Final = 3_600.0
DAY_S: Final = 86_400.0
NEVER_DAYS: Final = 10_000
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
KEEP_MESSAGES_DAYS: Final = 5
MB: Final = 1024 * 1024
LARGE: Final = 400_000
"""The size of an entry in the journal of the connection that is used most."""


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
    """What the store holds, how old its oldest rows are, and how large its file is."""

    frames_bytes: int
    frames_age_s: float
    entries: int
    entries_age_s: float
    journals: int
    journal_bytes: int
    messages: int
    messages_age_s: float
    events: int
    sessions: int
    sessions_age_s: float
    connections: int
    connections_age_s: float
    slots: int
    slots_age_s: float
    chat_messages: int
    chat_messages_age_s: float
    audit_records: int
    audit_age_s: float
    free_pages: int
    file_mb: float


def measure(connection: sqlite3.Connection, now: float) -> Sizes:
    """Measure everything that retention or housekeeping has to bound."""

    def one(query: str) -> int:
        return int(connection.execute(f"SELECT {query}").fetchone()[0] or 0)

    def age(query: str) -> float:
        (oldest,) = connection.execute(f"SELECT {query}").fetchone()
        return 0.0 if oldest is None else now - float(oldest)

    connections = "FROM documents WHERE namespace LIKE 'acp-connections%'"
    slots = "FROM documents WHERE namespace LIKE 'chats/%/slots'"
    chat_messages = "FROM documents WHERE namespace LIKE 'chats/%/messages'"
    return Sizes(
        frames_bytes=one("sum(size) FROM frame_blocks"),
        frames_age_s=age("min(time) FROM frame_blocks"),
        entries=one("count(*) FROM entries"),
        entries_age_s=age("min(time) FROM entries"),
        journals=one("count(*) FROM journals"),
        journal_bytes=one("max(size) FROM (SELECT sum(length(body)) AS size FROM entries GROUP BY journal)"),
        messages=one("count(*) FROM messages"),
        messages_age_s=age("min(done) FROM messages"),
        events=one("count(*) FROM events"),
        sessions=one("count(*) FROM session_rows"),
        sessions_age_s=age("min(time) FROM session_rows JOIN log_ends USING (log) WHERE state = 'closed'"),
        connections=one(f"count(*) {connections}"),
        connections_age_s=age(f"min(time) {connections}"),
        slots=one(f"count(*) {slots}"),
        slots_age_s=age(f"min(time) {slots}"),
        chat_messages=one(f"count(*) {chat_messages}"),
        chat_messages_age_s=age(f"min(time) {chat_messages}"),
        audit_records=one("count(*) FROM audit"),
        audit_age_s=age("min(time) FROM audit"),
        free_pages=one("freelist_count FROM pragma_freelist_count"),
        file_mb=one("page_count FROM pragma_page_count") * 4096 / 1e6,
    )


class Limit(msgspec.Struct, frozen=True):
    """A limit: what of `Sizes` it holds, how much that may be, and how it is switched off."""

    name: str
    size: str
    most: float
    settings: dict[str, float | None] = {}
    constant: tuple[ModuleType, str] | None = None

    def switch_off(self, patch: pytest.MonkeyPatch) -> RetentionSettings:
        """The settings without this limit."""
        if self.constant is not None:
            patch.setattr(*self.constant, NEVER_DAYS * DAY_S)
        return replace(RETENTION, **self.settings)


LIMITS: Final = (
    Limit("raw lines by age", "frames_age_s", 3 * DAY_S + HOUR_S, {"frames_days": NEVER_DAYS}),
    Limit("raw lines by size", "frames_bytes", FRAMES_MB * MB + 400_000, {"frames_mb": NEVER_DAYS}),
    Limit("journals by age", "entries_age_s", DAY_S + HOUR_S, {"journal_days": NEVER_DAYS}),
    Limit("journals by size", "journal_bytes", MB + LARGE + 1_000, {"journal_mb": NEVER_DAYS}),
    Limit("ACP connections", "connections_age_s", 3 * DAY_S + 2 * HOUR_S, {"connection_days": NEVER_DAYS}),
    Limit("queues", "messages_age_s", DAY_S + HOUR_S, {"queue_days": NEVER_DAYS}),
    Limit("closed sessions", "sessions_age_s", 4 * DAY_S + HOUR_S, {"closed_sessions_days": None}),
    # Records are removed once a day.
    Limit("audit records", "audit_age_s", 5 * DAY_S + HOUR_S, {"audit_days": None}),
    Limit("chat messages", "slots_age_s", 3 * DAY_S + 2 * HOUR_S, constant=(shelf, "KEEP_SLOTS_S")),
    Limit(
        "replies to chat messages",
        "chat_messages_age_s",
        KEEP_MESSAGES_DAYS * DAY_S + 2 * HOUR_S,
        constant=(shelf, "KEEP_MESSAGES_S"),
    ),
    Limit("free pages", "free_pages", retention.FREE_PAGES + 50, constant=(retention, "FREE_PAGES")),
)


def exceeded(sizes: Sizes) -> list[str]:
    """The limits that do not hold."""
    return [limit.name for limit in LIMITS if getattr(sizes, limit.size) > limit.most]


class Month:
    """The service, and the people who use it every day."""

    def __init__(
        self, service: Service, store: SqliteStore, doors: AcpDoors, chats: Chats, clock: Callable[[], float]
    ) -> None:
        self._clock = clock
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
            await self._work(shift, size=20_000 if number < QUIET_DAYS else 250_000)
            await self._use_acp(f"c{number}-{shift}", large=5 if number % 5 == 0 and shift == 0 else 0)
            self._chats.write(self._noise(1_000))
            await self._queue(number, shift)
            await asyncio.sleep(8 * 3600.0)
        for row in (await self._service.hub.sessions()).items:
            if row.state != "closed":
                await (await self._service.hub.get(row.session)).close()
        await asyncio.sleep(began + DAY_S - asyncio.get_running_loop().time())
        return await self._store._readers.read(measure, self._clock())

    async def verify_audit(self) -> list[Break]:
        """What is wrong with the audit log, whose beginning retention has removed."""
        check = ChainCheck()
        while rows := await self._store.audit.read(check.head.number):
            check.feed(rows)
        assert check.head.number > check.count, "nothing was removed"
        return check.finish()

    async def _work(self, shift: int, *, size: int) -> None:
        """A session with a few turns."""
        session = await self._service.hub.create(SessionSpec(engine="mock", cwd="/"), title=f"shift {shift}")
        await session.prompt(self._noise(size))
        await session.prompt("stream 20")
        await self._idle(session.id)

    async def _idle(self, session: SessionId) -> None:
        live = await self._service.hub.get(session)
        async with asyncio.timeout(60):
            while live.view().usage.turns < 2 or live.busy:  # noqa: ASYNC110 - virtual time
                await asyncio.sleep(1.0)

    async def _use_acp(self, name: str, *, large: int) -> None:
        """A client that connects, has one turn and some large ones, and is never seen again."""
        connection = await self._doors.servers.open(name, "mock")
        never: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def call(number: int, method: str, **params: object) -> Any:
            raw = msgspec.Raw(msgspec.json.encode(params))
            waiting = await connection.call(Envelope(id=number, method=method, params=raw), SERVICE)
            answer = await connection.answer(waiting, idle_s=600.0, unless=never)
            assert answer is not None
            assert not answer.failed, answer.body
            return msgspec.json.decode(answer.body)["result"]

        await call(1, "initialize", protocolVersion=1, clientCapabilities={})
        session = (await call(2, "session/new", cwd="/", mcpServers=[]))["sessionId"]
        for turn, text in enumerate(["stream 10", *["x" * LARGE] * large]):
            await call(3 + turn, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    async def _queue(self, day: int, shift: int) -> None:
        """Messages of a queue that are delivered."""
        queue = self._store.queue("push")
        for number in range(10):
            await queue.put(b"x" * 200, key=f"{day}-{shift}-{number}", durable=False)
        for message in await queue.claim(10):
            await queue.ack(message, durable=False)


@asynccontextmanager
async def open_month(loop: ThreadedLoop, folder: Path, limits: RetentionSettings) -> AsyncIterator[Month]:
    """A service with everything that stores something."""
    machine, chats = Machine(loop), Chats()
    bridge = TransportSettings(allowed_user_ids=(ME.id,), banner=False, cwd="/", drafts=False)
    settings = Settings(
        default_engine="mock",
        runtime=RuntimeSettings(idle_s=1800.0),
        retention=limits,
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
        yield Month(service, store, doors, chats, machine.time)


async def run_month(loop: ThreadedLoop, folder: Path) -> tuple[list[Sizes], int]:
    """What was stored at the end of each day, and how much was said in all."""
    async with open_month(loop, folder, RETENTION) as month:
        days = [await month.day(number) for number in range(DAYS)]
        assert await month.verify_audit() == []
        return days, month.raw_bytes


async def first_exceeded(loop: ThreadedLoop, folder: Path, limits: RetentionSettings) -> list[str]:
    """The limits that do not hold on the first day on which one does not."""
    async with open_month(loop, folder, limits) as month:
        for number in range(DAYS):
            if found := exceeded(await month.day(number)):
                return found
    return []


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadedLoop]:
    monkeypatch.setattr(file, "sync_descriptor", lambda _: None)  # no power is cut, and a month has many syncs
    monkeypatch.setattr(shelf, "KEEP_MESSAGES_S", KEEP_MESSAGES_DAYS * DAY_S)
    made = ThreadedLoop()
    try:
        yield made
        made.run_until_complete(made.shutdown_default_executor())
    finally:
        made.close()


def test_a_month_of_traffic_leaves_bounded_data(tmp_path: Path, loop: ThreadedLoop) -> None:
    days, raw_bytes = loop.run_until_complete(run_month(loop, tmp_path))
    assert loop.now >= DAYS * DAY_S
    assert raw_bytes > 15 * FRAMES_MB * MB, "the limit of raw lines must be reached many times"
    assert [(day, names) for day, sizes in enumerate(days) if (names := exceeded(sizes))] == []
    busy = days[QUIET_DAYS + 5 :]
    assert min(sizes.frames_bytes for sizes in busy) > FRAMES_MB * MB / 2
    assert min(sizes.audit_records for sizes in busy) > 0, "sessions that expire leave a record"
    for name in Sizes.__struct_fields__:
        first, last = (max(getattr(sizes, name) for sizes in some) for some in (busy[:7], busy[7:]))
        assert 0 < last <= first * 1.15, f"{name} grows: {[getattr(sizes, name) for sizes in days]}"
    assert (tmp_path / "store" / "store.db").stat().st_size < 20_000_000


@pytest.mark.long
@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_a_limit_that_is_switched_off_is_noticed(
    limit: Limit, tmp_path: Path, loop: ThreadedLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = limit.switch_off(monkeypatch)
    assert loop.run_until_complete(first_exceeded(loop, tmp_path, limits)) == [limit.name]
