"""The server in the background: one per data folder, found by others of the same person, replaced under its agents."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from footplate.config.running import LOG, RECORD, read_running
from footplate.errors import ServiceUnreachable
from footplate.events.model import RequestOpened, TurnEnded
from footplate.sdk import Allow, Client
from footplate.testing.messages import script, tool
from tests.e2e.world import World, wait_until_gone

pytestmark = pytest.mark.timeout(120)
ASKS = script(tool("Bash", {"command": "echo ran >> runs"}), "done")


def _run(env: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "footplate", *arguments]
    return subprocess.run(command, env=dict(env), capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def env(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A home of the test's own; nothing may be left running in it."""
    made = {
        "HOME": str(tmp_path),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "FOOTPLATE_DATA_DIR": str(tmp_path / "data"),
        "FOOTPLATE_MOCK_PACE_MS": "0",
    }
    yield made
    _run(made, "serve", "stop", "--end-agents")
    wait_until_gone(str(tmp_path), within=30)


async def test_it_starts_is_seen_is_used_and_stops(env: dict[str, str], tmp_path: Path) -> None:
    assert _run(env, "serve", "status").returncode == 3
    assert _run(env, "serve", "stop").returncode == 1
    started = _run(env, "serve", "--detach", "--port", "0")
    assert started.returncode == 0, started.stderr
    assert "listens on http://127.0.0.1:" in started.stdout
    assert "#token=" in started.stdout
    status = json.loads(_run(env, "serve", "status", "--json").stdout)
    assert status["running"] is True
    assert status["url"] in started.stdout
    again = _run(env, "serve", "--detach", "--port", "0")
    assert again.returncode == 1
    assert "runs already" in again.stderr
    data = tmp_path / "data"
    assert stat.S_IMODE((data / RECORD).stat().st_mode) == stat.S_IMODE((data / LOG).stat().st_mode) == 0o600
    async with Client.local(environ=env) as client:
        session = await client.create_session("mock", cwd=str(tmp_path))
        assert (await session.prompt("hello")).answer == "mock: hello"
    assert "listens on" in _run(env, "serve", "logs").stdout
    stopped = _run(env, "serve", "stop")
    assert stopped.returncode == 0, stopped.stderr
    assert not (data / RECORD).exists()
    assert _run(env, "daemon", "status").returncode == 3
    with pytest.raises(ServiceUnreachable):
        Client.local(environ=env)


def test_a_server_that_cannot_start_says_why(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where a folder should be")
    broken = _run({**env, "FOOTPLATE_DATA_DIR": str(tmp_path / "other")}, "serve", "--detach", "--host", "256.0.0.1")
    assert broken.returncode == 1
    assert "256.0.0.1" in broken.stderr


def test_aliases_of_sandbox_agent(env: dict[str, str]) -> None:
    assert _run(env, "daemon", "start", "--port", "0").returncode == 0
    assert "runs already" in _run(env, "daemon", "start").stdout
    before = json.loads(_run(env, "daemon", "status", "--json").stdout)
    after = json.loads(_run(env, "daemon", "start", "--upgrade", "--port", "0", "--json").stdout)
    assert (after["running"], after["pid"] != before["pid"]) == (True, True)
    assert _run(env, "daemon", "status", "--host", "127.0.0.1", "--port", "2468").returncode == 0
    assert json.loads(_run(env, "daemon", "stop", "-p", "2468", "--json").stdout)["pid"] == after["pid"]


def test_a_unit_for_systemd(env: dict[str, str], tmp_path: Path) -> None:
    shown = _run(env, "serve", "unit", "--", "--host", "0.0.0.0")
    assert "KillMode=process" in shown.stdout
    assert "serve --host 0.0.0.0" in shown.stdout
    assert f'Environment="FOOTPLATE_DATA_DIR={tmp_path}/data"' in shown.stdout
    written = _run(env, "serve", "unit", "--write")
    place = tmp_path / ".config/systemd/user/footplate.service"
    assert str(place) in written.stdout
    assert "ExecStart=" in place.read_text()


async def test_another_server_takes_over_under_an_open_request(world: World, tmp_path: Path) -> None:
    env = {**world.env, "FOOTPLATE__RUNTIME__REATTACH_GRACE_S": "60"}
    data = Path(env["FOOTPLATE_DATA_DIR"])
    try:
        started = _run(env, "serve", "--detach", "--port", "0")
        assert started.returncode == 0, started.stdout + started.stderr
        first = read_running(data)
        assert first is not None
        async with Client.local(environ=env) as client:
            session = await client.create_session("claude", cwd=str(world.work))
            await session.queue(ASKS)
            async for envelope in session.events():
                if isinstance(envelope.event, RequestOpened):
                    request = envelope.event.request
                    break
        replaced = _run(env, "serve", "--replace", "--detach", "--port", "0")
        assert replaced.returncode == 0, replaced.stdout + replaced.stderr
        assert "its agents go on" in replaced.stdout
        second = read_running(data)
        assert second is not None
        assert second.pid != first.pid
        async with Client.local(environ=env) as client:
            assert (await client.request(request.id)).state == "open"
            await client.answer(request.id, Allow())
            session = await client.resume_session(session.id)
            async for envelope in session.events():
                if isinstance(envelope.event, TurnEnded):
                    break
        assert (world.work / "runs").read_text() == "ran\n"
    finally:
        _run(env, "serve", "stop", "--end-agents")
