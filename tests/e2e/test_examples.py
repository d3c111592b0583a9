"""The examples, run as their page says: on the mock agent, and the tool on the real CLI."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.async_api import Browser, expect

from footplate.testing.messages import script, tool
from tests.e2e.server import running_server
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


def test_the_program_with_a_tool_runs_on_the_mock_agent_which_calls_none(env: dict[str, str], tmp_path: Path) -> None:
    ran = _run(env, tmp_path, str(EXAMPLES / "custom_tool.py"), "--engine", "mock", "hello")
    assert (ran.stdout, ran.stderr, ran.returncode) == ("mock: hello\n", "", 0)


def test_a_function_of_the_program_is_called_by_the_agent(world: World) -> None:
    asks = script(tool("mcp__example__weather", {"city": "Oslo"}), "It says: $LAST")
    ran = _run(world.env, world.work, str(EXAMPLES / "custom_tool.py"), "--engine", "claude", asks)
    assert "tool called: In Oslo it rains, 9 degrees." in ran.stdout, ran.stderr
    assert "It says: In Oslo it rains, 9 degrees." in ran.stdout


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def _folder_served() -> Iterator[str]:
    """What `python -m http.server` does with the examples."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(EXAMPLES))) as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{served.server_address[1]}"
        finally:
            served.shutdown()
            thread.join()


@pytest.mark.asyncio(loop_scope="session")
async def test_the_chat_page_talks_asks_and_goes_on(browser: Browser, tmp_path: Path) -> None:
    with _folder_served() as origin, running_server(tmp_path, "--cors-allow-origin", origin) as server:
        given = urlencode({"url": server.url, "token": server.token, "cwd": str(tmp_path)})
        page = await browser.new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
        await page.goto(f"{origin}/chat.html#{given}")
        field, log = page.get_by_label("Message"), page.locator("#log")
        await page.wait_for_function("document.querySelector('form').onsubmit !== null")

        await field.fill("stream 20 5")
        await field.press("Enter")
        await expect(log.locator(".me")).to_have_text("stream 20 5")
        await expect(log.locator(".agent")).not_to_be_empty()
        await field.fill("permission")
        await field.press("Enter")
        await page.get_by_role("button", name="allow").click()
        await expect(log.locator(".agent").last).to_have_text("permission: allow")
        await expect(page.get_by_role("button", name="allow")).to_have_count(0)
        await expect(log).to_contain_text("answered by")
        assert wrong == []
        await page.close()


def test_the_chat_page_has_eighty_lines() -> None:
    assert len((EXAMPLES / "chat.html").read_text().splitlines()) <= 80
