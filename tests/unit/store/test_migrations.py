"""Schema steps: forward, each whole, with a copy of what was there; never a file of a newer or another program."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from footplate.errors import StoreCorrupt, StoreTooNew
from footplate.events import model as m
from footplate.events.ids import EngineSessionId, PromptId, SessionId, TurnId
from footplate.store.chain import ChainCheck
from footplate.store.conformance.scene import OTHER, SESSION, envelope, notices, story
from footplate.store.migrations.runner import MIGRATIONS, migrate
from footplate.store.sqlite import SqliteStore
from footplate.store.values import ARCHIVED, FrameQuery, RawLines, SessionFilter

ONE = ("CREATE TABLE first (n INTEGER)",)
TWO = ("CREATE TABLE second (n INTEGER)", "INSERT INTO second SELECT n + 1 FROM first")
BROKEN = ("CREATE TABLE third (n INTEGER)", "INSERT INTO nowhere VALUES (1)")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def tables(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]


def version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_a_new_file_gets_every_step_and_no_backup(connection: sqlite3.Connection, path: Path) -> None:
    assert migrate(connection, path, [ONE, TWO]) == 2
    assert (tables(connection), version(connection)) == (["first", "second"], 2)
    assert [entry.name for entry in path.parent.iterdir()] == ["store.db"]


def test_an_older_file_gets_what_it_lacks_and_is_copied_before(connection: sqlite3.Connection, path: Path) -> None:
    migrate(connection, path, [ONE])
    connection.execute("INSERT INTO first VALUES (41)")
    assert migrate(connection, path, [ONE, TWO]) == 2
    assert connection.execute("SELECT n FROM second").fetchall() == [(42,)]
    with closing(sqlite3.connect(path.with_name("store.db.schema-1.backup"))) as copy:
        assert (tables(copy), version(copy)) == (["first"], 1)
        assert copy.execute("SELECT n FROM first").fetchall() == [(41,)]


def test_a_step_that_fails_leaves_the_file_as_it_was(connection: sqlite3.Connection, path: Path) -> None:
    migrate(connection, path, [ONE])
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, path, [ONE, BROKEN])
    assert (tables(connection), version(connection)) == (["first"], 1)
    assert migrate(connection, path, [ONE, TWO]) == 2


def test_migrating_twice_is_migrating_once(connection: sqlite3.Connection, path: Path) -> None:
    assert migrate(connection, path, [ONE]) == migrate(connection, path, [ONE]) == 1


def test_a_newer_schema_is_refused(connection: sqlite3.Connection, path: Path) -> None:
    migrate(connection, path, [ONE, TWO])
    with pytest.raises(StoreTooNew, match=r"has schema 2 and this version knows up to 1; start the newer Footplate"):
        migrate(connection, path, [ONE])


def test_a_file_of_another_program_is_refused(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("CREATE TABLE theirs (n INTEGER)")
    with pytest.raises(StoreCorrupt, match="of another program"):
        migrate(connection, path, [ONE])
    assert tables(connection) == ["theirs"]


async def test_a_store_of_schema_3_knows_which_sessions_have_work_left(tmp_path: Path) -> None:
    logs: dict[str, tuple[m.Event, ...]] = {
        "idle": (queued("p1"), m.TurnStarted(turn=TurnId("t1"), prompts=(PromptId("p1"),)), ended()),
        "parked": (m.Parked(reason="limit", until=5_000.0), m.StateChanged(state="parked")),
        "waiting": (queued("p1"), queued("p2"), m.PromptWithdrawn(prompt=PromptId("p1"))),
        "attached": (m.EngineAttached(engine="claude", engine_session_id=EngineSessionId("e1")),),
        "closed": (queued("p1"), m.SessionClosed()),
    }
    async with await SqliteStore.open(tmp_path) as store:
        for name, events in logs.items():
            session = SessionId(name)
            await store.claim(session)
            story = [envelope(seq, event, session=session) for seq, event in enumerate(events, 1)]
            await store.append(session, 1, 0, story)
        before = await store.projections.unfinished()
        assert {row.session for row in before.items} == {"parked", "waiting", "attached"}
    downgrade(tmp_path, 3, without=("unfinished", "waiting_prompts", "until"))
    async with await SqliteStore.open(tmp_path) as store:
        assert await store.projections.unfinished() == before


async def test_a_store_of_schema_4_is_listed_and_searched_as_before(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path) as store:
        for session in (SESSION, OTHER):
            await store.claim(session)
            await store.append(
                session, 1, 0, [envelope(1, m.SessionOpened(engine="mock", cwd="/w", title="ÜBER"), session=session)]
            )
        await store.append(OTHER, 1, 1, notices(2, 3, session=OTHER))
        await store.documents(ARCHIVED).put(SESSION, b"")
        before = await store.projections.sessions()
        assert [(row.session, row.archived) for row in before.items] == [(OTHER, False), (SESSION, True)]
    downgrade(tmp_path, 4)
    async with await SqliteStore.open(tmp_path) as store:
        assert await store.projections.sessions() == before
        assert await store.projections.sessions(SessionFilter(text="über")) == before
        await store.catch_up()
        assert await store.projections.sessions(SessionFilter(text="über")) == before
        assert await store.check() == ()


async def test_answers_that_a_store_of_schema_5_had_written_down_begin_the_audit_log(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path) as store:
        for key in ("01B", "01A"):
            await store.documents("audit").put(key, b'{"time":5.0,"request":"%s","by":"ann"}' % key.encode())
    downgrade(tmp_path, 5)
    async with await SqliteStore.open(tmp_path) as store:
        rows = await store.audit.read()
        records = [msgspec.json.decode(row.body) for row in rows]
        assert [(each["number"], each["act"], each["request"], each["by"]) for each in records] == [
            (1, "answer", "01A", "ann"),
            (2, "answer", "01B", "ann"),
        ]
        check = ChainCheck()
        check.feed(rows)
        assert check.finish() == []
        assert (await store.documents("audit").list()).items == ()


async def test_raw_lines_of_schema_6_are_numbered_and_read_as_before(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path) as store:
        for session in (SESSION, OTHER):
            await store.claim(session)
            await store.append(session, 1, 0, notices(1, 3, session=session))
    downgrade(tmp_path, 6)
    lines = [(SESSION, seq, float(seq), "in", b"line %d" % seq) for seq in range(1, 1_201)]
    lines += [(SESSION, 7, 7.5, "out", b"two\nlines"), (OTHER, 1, 1.0, "out", b"other")]
    insert = "INSERT INTO frames (log, seq, time, direction, total, raw) SELECT num, ?, ?, ?, 0, ? FROM logs"
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as connection:
        connection.executemany(f"{insert} WHERE session = ?", [(*line[1:], line[0]) for line in lines])
    async with await SqliteStore.open(tmp_path) as store:
        page = await store.read_frames(SESSION, FrameQuery(limit=5_000))
        assert (page.first, page.last, len(page.frames)) == (1, 1_201, 1_201)
        assert [(frame.number, frame.seq, frame.direction, frame.raw) for frame in page.frames[5:9]] == [
            (6, 6, "in", b"line 6"),
            (7, 7, "in", b"line 7"),
            (8, 7, "out", b"two lines"),
            (9, 8, "in", b"line 8"),
        ]
        assert [frame.raw for frame in (await store.read_frames(OTHER, FrameQuery())).frames] == [b"other"]
        assert await store.append_frames(SESSION, [RawLines("err", 9.0, 3, b"new\n")]) == 1_202
        assert await store.check() == ()


def downgrade(folder: Path, schema: int, *, without: Sequence[str] = ()) -> None:
    """Make the file one of an older schema with the same contents; `without` are fields that rows did not have."""
    path, old = folder / "store.db", folder / "old.db"
    with closing(sqlite3.connect(old, isolation_level=None)) as connection:
        migrate(connection, old, MIGRATIONS[:schema])
        connection.execute("ATTACH ? AS new", (str(path),))
        new = {name for (name,) in connection.execute("SELECT name FROM new.sqlite_master WHERE type = 'table'")}
        for table in tables(connection):
            if table in new and not table.startswith("sqlite_"):
                columns = ", ".join(row[1] for row in connection.execute(f"PRAGMA main.table_info({table})"))
                connection.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM new.{table}")
        for field in without:
            removed = f"CAST(json_remove(CAST(row AS TEXT), '$.{field}') AS BLOB)"
            connection.execute(f"UPDATE main.session_rows SET row = {removed}")
    old.replace(path)
    for name in ("store.db-wal", "store.db-shm"):
        (folder / name).unlink(missing_ok=True)


def queued(prompt: str) -> m.PromptQueued:
    return m.PromptQueued(prompt=PromptId(prompt), content=())


def ended() -> m.TurnEnded:
    return m.TurnEnded(turn=TurnId("t1"), ok=True)


async def test_a_store_of_schema_1_is_listed_as_it_was(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path) as store:
        for session in (SESSION, OTHER):
            await store.claim(session)
            await store.append(session, 1, 0, story(session))
        await store.claim(OTHER)
        before = await store.projections.sessions(), await store.projections.requests()
    downgrade(tmp_path, 1)
    async with await SqliteStore.open(tmp_path) as store:
        assert (await store.projections.sessions(), await store.projections.requests()) == before
        assert await store.check() == ()
        await store.append(SESSION, 1, 9, notices(10, 1))
        assert [row.last_seq for row in (await store.projections.sessions()).items] == [10, 9]


async def test_the_store_refuses_a_newer_file_and_lets_go_of_it(tmp_path: Path) -> None:
    await (await SqliteStore.open(tmp_path)).close()
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    with pytest.raises(StoreTooNew):
        await SqliteStore.open(tmp_path)
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    await (await SqliteStore.open(tmp_path)).close()
