"""The examples, run as their page says: on the mock agent, and the tool on the real CLI."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from footplate.testing.messages import script, tool
from tests.e2e.world import ROOT, World, wait_until_gone

pytestmark = pytest.mark.timeout(120)
EXAMPLES = ROOT / "examples"


def _run(env: Mapping[str, str], folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env=dict(env),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.fixture
def env(tmp_path: Path) -> Iterator[dict[str, str]]:
    made = {
        "HOME": str(tmp_path),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "FOOTPLATE_DATA_DIR": str(tmp_path / "data"),
        "FOOTPLATE_MOCK_PACE_MS": "0",
    }
    yield made
    wait_until_gone(str(tmp_path), within=30)


def test_the_bot_lets_an_agent_try_and_tells_what_came_of_it(env: dict[str, str], tmp_path: Path) -> None:
    bot = (str(EXAMPLES / "ci_bot.py"), "--engine", "mock", "--attempts", "2", "--approve", "--")
    failing = _run(env, tmp_path, *bot, sys.executable, "-c", "import sys; sys.exit(7)")
    assert failing.returncode == 7, failing.stderr
    assert failing.stdout.count("permission: allow") == 2
    assert "it still fails: exit code 7" in failing.stdout
    fine = _run(env, tmp_path, *bot, sys.executable, "-c", "pass")
    assert fine.stdout == "it succeeds\n"


def test_a_batch_goes_through_every_folder(env: dict[str, str], tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two", "three")]
    for folder in folders:
        folder.mkdir()
    batch = (str(EXAMPLES / "batch.py"), "--engine", "mock", "--at-once", "2", "--prompt", "hello")
    ran = _run(env, tmp_path, *batch, *map(str, folders))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("mock: hello") == 3
    assert "3 of 3 folders went well" in ran.stdout


def test_what_is_asked_at_night_is_answered_in_the_morning(env: dict[str, str], tmp_path: Path) -> None:
    footplate = ("-m", "footplate")
    assert _run(env, tmp_path, *footplate, "serve", "--detach", "--port", "0").returncode == 0
    try:
        nightly = str(EXAMPLES / "nightly.py")
        night = _run(env, tmp_path, nightly, "start", "--engine", "mock", "--prompt", "permission")
        assert "waits for you" in night.stdout, night.stderr
        morning = _run(env, tmp_path, nightly, "morning", "--answer", "y")
        assert "is done: permission: allow" in morning.stdout, morning.stderr
    finally:
        _run(env, tmp_path, *footplate, "serve", "stop", "--end-agents")


def test_a_function_of_the_program_is_called_by_the_agent(world: World) -> None:
    asks = script(tool("mcp__example__weather", {"city": "Oslo"}), "It says: $LAST")
    ran = _run(world.env, world.work, str(EXAMPLES / "custom_tool.py"), "--engine", "claude", asks)
    assert "tool called: In Oslo it rains, 9 degrees." in ran.stdout, ran.stderr
    assert "It says: In Oslo it rains, 9 degrees." in ran.stdout
