"""Lists and searches over many sessions: what they find, what they cost, and that they end with their caller."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest

from footplate.events import model as m
from footplate.events.ids import PromptId, RequestId, SessionId
from footplate.events.requests import Request
from footplate.store.conformance.scene import envelope, within
from footplate.store.projection import SessionRow, search_text
from footplate.store.sqlite import SqliteStore, logs
from footplate.store.sqlite.file import StoreFile
from footplate.store.sqlite.index import _unfinished
from footplate.store.sqlite.lists import CANDIDATES, list_sessions
from footplate.store.sqlite.retention import CLOSED
from footplate.store.sqlite.upkeep import settle_step
from footplate.store.values import ARCHIVED, Encoded, SessionFilter

FEW, MANY = 200, 2_000
PAGE = 20
STEPS = 50

FILTERS = {
    "all": SessionFilter(),
    "not archived": SessionFilter(archived=False),
    "archived": SessionFilter(archived=True),
    "states": SessionFilter(states=("closed", "idle")),
    "no state": SessionFilter(states=("failed",)),
    "engine": SessionFilter(engine="codex"),
    "no engine": SessionFilter(engine="none"),
    "folder": SessionFilter(cwd="/work/3"),
    "no folder": SessionFilter(cwd="/nowhere"),
    "asking": SessionFilter(asking=True),
    "rare text": SessionFilter(text="number 155 "),
    "no text": SessionFilter(text="no such thing"),
}


async def fill(store: SqliteStore, count: int) -> None:
    """So many sessions; the last events of the first ten come after those of all others, and are unsettled."""

    async def add(number: int) -> None:
        session = SessionId(f"01J0{number:06d}")
        events: list[m.Event] = [
            m.SessionOpened(
                engine="claude" if number % 3 else "codex",
                cwd=f"/work/{number % 10}",
                title=f"Session number {number} of many",
            ),
            m.StateChanged(state="idle") if number % 4 else m.SessionClosed(),
        ]
        if number % (count // 10) == 1:
            asked = Request(id=RequestId("r"), kind="permission", title="may I?")
            events.append(m.RequestOpened(request=asked))
        await store.claim(session)
        story = [
            m.Envelope(seq=seq, time=1_000.0 + number, session=session, epoch=1, event=event)
            for seq, event in enumerate(events, 1)
        ]
        await store.append(session, 1, 0, story)
        if number % (count // 10) == 2:
            await store.documents(ARCHIVED).put(session, b"", durable=False)

    await asyncio.gather(*map(add, range(count)))
    await store.catch_up()
    for number in range(10):
        session = SessionId(f"01J0{number:06d}")
        seq = await store.last_seq(session) + 1
        notice = m.Notice(level="info", text="late")
        await store.append(
            session,
            1,
            seq - 1,
            [m.Envelope(seq=seq, time=time.time() + number, session=session, epoch=1, event=notice)],
        )


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    few, many = tmp_path_factory.mktemp("few"), tmp_path_factory.mktemp("many")

    async def main() -> None:
        for folder, count in ((few, FEW), (many, MANY)):
            async with await SqliteStore.open(folder) as store:
                await fill(store, count)

    asyncio.run(main())
    return few, many


def count_steps(folder: Path, work: Callable[[sqlite3.Connection], object]) -> int:
    """How many steps of SQLite the work takes, in fifties."""
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += 1
        return 0

    with closing(sqlite3.connect(folder / "store.db", isolation_level=None)) as connection:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        connection.set_progress_handler(count, STEPS)
        work(connection)
    return taken


@pytest.mark.parametrize("name", FILTERS)
def test_a_page_costs_the_same_whatever_the_store_holds(name: str, folders: tuple[Path, Path]) -> None:
    few, many = (
        count_steps(folder, lambda connection: list_sessions(connection, FILTERS[name], None, PAGE, has_index=True))
        for folder in folders
    )
    assert many <= 1.3 * few + 10


def test_finding_unfinished_sessions_costs_nothing_where_there_are_none(folders: tuple[Path, Path]) -> None:
    assert [count_steps(folder, lambda connection: _unfinished(connection, "", PAGE)) for folder in folders] == [0, 0]


def test_a_request_and_a_session_to_remove_are_found_by_an_index(folders: tuple[Path, Path]) -> None:
    for query, value in (("SELECT row FROM request_rows WHERE request = ?", "none"), (CLOSED, 0.0)):
        found = [count_steps(folder, lambda each: each.execute(query, (value,)).fetchone()) for folder in folders]  # noqa: B023
        assert found == [0, 0], query


@pytest.mark.parametrize("has_index", [True, False])
async def test_lists_and_searches_find_what_looking_at_every_row_finds(
    folders: tuple[Path, Path], has_index: bool
) -> None:
    file = StoreFile(folders[1])
    file.has_search = has_index
    async with SqliteStore(file, time.time, 3_600.0) as store:
        rows = await read_all(store, SessionFilter())
        assert len(rows) == MANY
        assert [row.session for row in rows[:10]] == [f"01J0{number:06d}" for number in reversed(range(10))]
        texts = ("", "01j0", "NUMBER 7", "number 77", "1", "zz", "no such thing", "/work/5", "n_m", "%many")
        for text, archived, states in product(texts, (None, True, False), ((), ("closed",), ("closed", "idle"))):
            only = SessionFilter(text=text, archived=archived, states=states)  # type: ignore[arg-type]
            wanted = [
                row.session
                for row in rows
                if text.casefold() in search_text(row)
                and archived in (None, row.archived)
                and (not states or row.state in states)
            ]
            assert [row.session for row in await read_all(store, only)] == wanted, only
    assert MANY > CANDIDATES


async def read_all(store: SqliteStore, only: SessionFilter) -> list[SessionRow]:
    rows: list[SessionRow] = []
    after: str | None = None
    while True:
        page = await store.projections.sessions(only, after=after, limit=450)
        rows += page.items
        after = page.after
        if after is None:
            return rows


async def test_a_search_is_right_before_and_after_the_index_has_caught_up(tmp_path: Path) -> None:
    session, other = SessionId("s1"), SessionId("s2")

    async def found(store: SqliteStore, text: str) -> list[SessionId]:
        return [row.session for row in (await store.projections.sessions(SessionFilter(text=text))).items]

    async with await SqliteStore.open(tmp_path) as store:
        for name in (session, other):
            await store.claim(name)
            opened = m.SessionOpened(engine="mock", cwd="/w", title=f"the title of {name}")
            await store.append(name, 1, 0, [envelope(1, opened, session=name)])
        assert await found(store, "title of s1") == [session]
    async with await SqliteStore.open(tmp_path) as store:
        await store.catch_up()
        assert await found(store, "title of s1") == [session]
        await store.append(session, 1, 1, [envelope(2, m.TitleChanged(title="another name"), session=session)])
        await store.delete_session(other)
        for _ in range(2):
            assert await found(store, "another name") == [session]
            assert await found(store, "title of") == []
            await store.catch_up()
        assert await store.check() == ()


async def test_the_index_catches_up_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("footplate.store.sqlite.upkeep.DELAY_S", 0.0)
    async with await SqliteStore.open(tmp_path) as store:
        await store.claim(SessionId("s1"))
        await store.append(SessionId("s1"), 1, 0, [envelope(1, m.SessionClosed(), session=SessionId("s1"))])

        async def caught_up() -> None:
            behind = "SELECT (SELECT count(*) FROM search_due) + (SELECT count(*) FROM unsettled)"
            while (await store._readers.read(lambda connection: connection.execute(behind).fetchone())) != (0,):
                continue

        await within(caught_up())


async def test_a_read_ends_when_its_caller_is_cancelled(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n WHERE x < 0"
    async with await SqliteStore.open(tmp_path) as store:
        begun = asyncio.Event()
        loop = asyncio.get_running_loop()

        def search(connection: sqlite3.Connection) -> None:
            loop.call_soon_threadsafe(begun.set)
            connection.execute(endless).fetchone()

        running = asyncio.create_task(store._searchers.read(search))
        waiting = asyncio.create_task(store._searchers.read(search))
        await within(begun.wait())
        running.cancel()
        waiting.cancel()
        # One thread searches: it is free again only when both have ended.
        assert (await within(store.projections.sessions(SessionFilter(text="anything")))).items == ()


async def test_an_append_beside_the_settling_of_its_log_makes_its_session_the_latest(tmp_path: Path) -> None:
    sessions = [SessionId(f"s{number}") for number in range(4)]
    async with await SqliteStore.open(tmp_path) as store:
        for session in sessions:
            await store.claim(session)
            await store.append(session, 1, 0, [envelope(1, m.SessionClosed(), session=session)])
        late = envelope(2, m.Notice(level="info", text="late"), session=sessions[0])
        # Ordered in one round of the loop, they are one group.
        appended = store._writer.write(logs.append, sessions[0], 1, 1, [Encoded.of(late)], durable=True)
        await asyncio.gather(appended, store._writer.write(settle_step))
        page = await store.projections.sessions(limit=1)
        assert [row.session for row in page.items] == sessions[:1]


async def test_a_prompt_that_waits_is_counted_once(tmp_path: Path) -> None:
    session, queued = SessionId("s1"), m.PromptQueued(prompt=PromptId("p1"), content=())
    async with await SqliteStore.open(tmp_path) as store:
        await store.claim(session)
        await store.append(session, 1, 0, [envelope(seq, queued, session=session) for seq in (1, 2)])
        row = await store.projections.session(session)
        assert row is not None
        assert row.waiting_prompts == ("p1",)
