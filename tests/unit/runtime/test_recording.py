"""Recording in a session: every line of its agents is stored, and the session does not notice."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from footplate.config.acp import AcpAgentSettings
from footplate.config.settings import RuntimeSettings, Settings
from footplate.errors import StoreFailed
from footplate.events.ids import SessionId
from footplate.host.process import Keeper
from footplate.runtime.frame_log import frame_type
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from footplate.store.base import Store
from footplate.store.memory import MemoryStore
from footplate.store.sqlite import SqliteStore
from footplate.store.values import Frame, FrameQuery, RawLines
from tests.unit.runtime.following import until_ended, until_idle

STDIO: dict[str, dict[str, object]] = {"mock": {"form": "stdio"}}


class NoFrames(MemoryStore):
    """A store that takes everything but raw lines."""

    async def append_frames(self, session: SessionId, chunks: Sequence[RawLines]) -> int:
        raise StoreFailed("here", "no raw lines")


@pytest.fixture
async def keeper() -> AsyncIterator[Keeper]:
    async with Keeper.start() as made:
        yield made


def services_of(store: Store, keeper: Keeper, tmp_path: Path, settings: Settings) -> Services:
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "FOOTPLATE_MOCK_PACE_MS": "0"}
    return Services(store, keeper, settings=settings, environ=environ, data=tmp_path / "data")


async def turn(session: Session, text: str) -> str:
    before = session.view().last_seq
    await session.prompt(text)
    ended = await until_ended(session, after=before)
    await until_idle(session)
    return ended.answer


async def frames_of(store: Store, session: SessionId) -> tuple[Frame, ...]:
    return (await store.read_frames(session, FrameQuery(limit=5_000))).frames


async def test_an_agent_process_leaves_both_directions_and_its_stderr(
    keeper: Keeper, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="footplate.frames")
    async with await SqliteStore.open(tmp_path / "store") as store:
        services = services_of(store, keeper, tmp_path, Settings(engines=STDIO))
        async with Hub.open(services) as hub:
            session = await hub.create(SessionSpec(engine="mock", cwd=str(tmp_path)))
            await turn(session, "hello")
            await turn(session, "stderr")
            last = session.view().last_seq
        frames = await frames_of(store, session.id)
        assert [frame.number for frame in frames] == list(range(1, len(frames) + 1))
        assert frame_type(frames[0].raw) == "initialize"
        sent = [frame_type(frame.raw) for frame in frames if frame.direction == "out"]
        assert sent.count("session/prompt") == 2
        (error,) = [frame for frame in frames if frame.direction == "err"]
        assert error.raw == b"mock: a line on stderr"
        assert all(frame.seq <= last for frame in frames)
        logged = [record.fields for record in caplog.records if record.getMessage() == "stderr"]  # type: ignore[attr-defined]
        assert [(line["session"], line["line"]) for line in logged] == [(session.id, "mock: a line on stderr")]


async def test_an_agent_whose_lines_are_not_utf_8_is_logged_and_recorded_and_goes_on(
    keeper: Keeper, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="footplate.frames")
    noise = [b'{"jsonrpc":"2.0","method":"x/caf\xe9","params":{}}', b'{"jsonrpc":"2.0","id":99,"result":"http://\xff"}']
    (tmp_path / "noise").write_bytes(b"\n".join(noise) + b"\n")
    # The noise comes between the answers, which a program between the mock and us adds.
    between = f'while IFS= read -r line; do echo "$line"; cat {tmp_path}/noise; done'
    program = f"{sys.executable} -m footplate mock-agent | {between}"
    agents = {"noisy": AcpAgentSettings(command=("bash", "-c", program), env_pass=("FOOTPLATE_MOCK_PACE_MS",))}
    async with MemoryStore() as store:
        services = services_of(store, keeper, tmp_path, Settings(acp_agents=agents))
        async with Hub.open(services) as hub:
            session = await hub.create(SessionSpec(engine="noisy", cwd=str(tmp_path)))
            assert await turn(session, "hello") == "mock: hello"
            assert await turn(session, "again") == "mock: again"
        raw = [frame.raw for frame in await frames_of(store, session.id)]
    assert set(noise) <= set(raw)
    assert not [record for record in caplog.records if record.levelno > logging.INFO]


async def test_what_a_living_agent_writes_to_stderr_without_a_newline_is_logged_and_recorded(
    keeper: Keeper, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="footplate.frames")
    mock = f"{sys.executable} -m footplate mock-agent"
    agents = {
        "asks": AcpAgentSettings(command=("bash", "-c", f"printf 'Enter password: ' >&2; exec {mock}")),
        "floods": AcpAgentSettings(command=("bash", "-c", f"head -c 1000000 /dev/zero | tr '\\0' x >&2; exec {mock}")),
    }

    def logged(session: SessionId) -> list[tuple[int, str]]:
        lines = [record.fields for record in caplog.records if record.getMessage() == "stderr"]  # type: ignore[attr-defined]
        return [(line["bytes"], line["line"]) for line in lines if line["session"] == session]

    async with MemoryStore() as store:
        services = services_of(store, keeper, tmp_path, Settings(acp_agents=agents))
        async with Hub.open(services) as hub:
            asks, floods = [await hub.create(SessionSpec(engine=name, cwd=str(tmp_path))) for name in agents]
            for session in (asks, floods):
                await session.wake()
            async with asyncio.timeout(20):
                while not (logged(asks.id) and logged(floods.id)):  # noqa: ASYNC110 - records of the log
                    await asyncio.sleep(0.02)
            assert (asks.attached, logged(asks.id)) == (True, [(16, "Enter password: ")])
            assert (floods.attached, logged(floods.id)) == (True, [(1_000_000, "x" * 256)])
        for session, raw in ((asks, b"Enter password: "), (floods, b"x" * 256)):
            errors = [frame.raw for frame in await frames_of(store, session.id) if frame.direction == "err"]
            assert errors == [raw]


async def test_a_process_that_was_started_ahead_is_recorded_from_its_beginning(keeper: Keeper, tmp_path: Path) -> None:
    settings = Settings(engines=STDIO, runtime=RuntimeSettings(prewarm=1))
    async with MemoryStore() as store:
        services = services_of(store, keeper, tmp_path, settings)
        async with Hub.open(services) as hub:
            first = await hub.create(SessionSpec(engine="mock", cwd=str(tmp_path)))
            await turn(first, "hello")
            async with asyncio.timeout(30):
                while not services.warm.ready:  # noqa: ASYNC110 - the pool has no event
                    await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)
            second = await hub.create(SessionSpec(engine="mock", cwd=str(tmp_path)))
            opened = second.view().opened_at
            await turn(second, "again")
        frames = await frames_of(store, second.id)
        assert frame_type(frames[0].raw) == "initialize"
        assert opened is not None
        assert frames[0].time < opened, "it was said before the session existed"
        times = [frame.time for frame in frames]
        assert times == sorted(times)


async def test_a_session_does_not_notice_that_its_lines_cannot_be_stored(
    keeper: Keeper, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with NoFrames() as store:
        services = services_of(store, keeper, tmp_path, Settings())
        async with Hub.open(services) as hub:
            session = await hub.create(SessionSpec(engine="mock", cwd=str(tmp_path)))
            assert await turn(session, "hello") == "mock: hello"
            await session.evict()
            assert await turn(session, "again") == "mock: again"
        assert caplog.text.count("raw lines cannot be stored") == 1


async def test_a_deleted_session_takes_its_lines_along_while_its_agent_speaks(keeper: Keeper, tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path / "store") as store:
        services = services_of(store, keeper, tmp_path, Settings())
        async with Hub.open(services) as hub:
            session = await hub.create(SessionSpec(engine="mock", cwd=str(tmp_path)))
            await session.prompt("stream 2000")
            await asyncio.sleep(0.05)
            await hub.delete(session.id)
        assert (await store.read_frames(session.id, FrameQuery())).last == 0
        assert await store.check() == ()
