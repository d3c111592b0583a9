"""The published `sandbox-agent` SDK 0.4.2, unchanged, against `footplate serve`: real Node, real server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from footplate.testing.messages import say, script, tool
from tests.e2e.server import running_server
from tests.e2e.world import World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]
SCRIPTS = Path(__file__).resolve().parent.parent / "agents" / "sdk"
URN = "urn:sandbox-agent:error:"


def run_script(name: str, *arguments: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    """Run a script of the SDK; what it printed last, as JSON."""
    node = shutil.which("node")
    assert node is not None
    ran = subprocess.run(
        [node, str(SCRIPTS / name), *arguments],
        env={"PATH": os.environ["PATH"], **(env or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def test_the_sdk_connects_and_asks_everything_that_is_not_about_a_session(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with running_server(tmp_path) as server:
        found = run_script("basics.mjs", server.url, server.token, str(work))
    assert found["health"] == {"status": "ok"}
    assert {"claude", "mock"} <= set(found["agents"])
    assert found["mock"]["installed"] is True
    assert {option["id"] for option in found["mock"]["configOptions"]} == {"model", "mode", "thought_level"}
    assert found["install"]["already_installed"] is True
    assert (found["unknown"]["status"], found["unknown"]["type"]) == (400, f"{URN}unsupported_agent")
    assert (found["noMcp"]["status"], found["noMcp"]["type"]) == (404, f"{URN}session_not_found")
    assert found["mcp"] == {"type": "local", "command": "node", "args": ["server.js"]}
    assert found["mcpGone"]["status"] == 404
    assert found["skills"] == {"sources": [{"type": "local", "source": "/skills"}]}
    assert found["desktop"]["state"] == "install_required"
    assert (found["screenshot"]["status"], found["screenshot"]["type"]) == (503, f"{URN}desktop_dependencies_missing")
    assert found["recordings"] == {"recordings": []}
    stranger = found["stranger"]
    assert (stranger["sdk"], stranger["status"], stranger["type"]) == (True, 401, f"{URN}token_invalid")


def test_the_sdk_starts_our_executable_through_its_local_provider(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    program = tmp_path / "footplate"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m footplate "$@"\n')
    program.chmod(0o755)
    env = {"HOME": str(home), "FOOTPLATE_DATA_DIR": str(tmp_path / "data"), "SANDBOX_AGENT_BIN": str(program)}
    found = run_script("launch.mjs", env=env)
    assert {"claude", "mock"} <= set(found["agents"])
    assert found["inspector"].endswith("/ui/")


MOCK = {"hello": "hello", "permission": "permission", "hang": "hang", "hangs": "hang begin", "again": "and again"}


def test_the_sdk_drives_sessions_of_the_mock_agent(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with running_server(tmp_path) as server:
        found = run_script("sessions.mjs", server.url, server.token, "mock", str(work), json.dumps(MOCK))
    assert found["hello"] == {"stopReason": "end_turn", "text": "mock: hello"}
    assert found["order"] == sorted(set(found["order"])), "every event has a number of its own, in order"
    assert found["asked"] == ["once", "always", "reject"]
    assert found["permission"]["text"].endswith("permission: allow")
    assert {"default", "plan"} <= set(found["modes"])
    assert (found["mode"], found["model"], found["cancelled"]) == ("plan", True, "cancelled")
    assert found["servers"] == ["mock"]
    assert found["resumed"] == "end_turn"
    assert found["total"] > 10


def test_the_sdk_drives_sessions_of_the_real_cli(world: World, tmp_path: Path) -> None:
    prompts = {
        "hello": script("Hello there."),
        "permission": script(tool("Bash", {"command": "touch made; echo ran"}), "It said: $LAST"),
        "hang": script(say("Wait for it", hang=-3)),
        "hangs": "Wait for it",
        "again": script("Here again."),
    }
    with running_server(tmp_path, env=world.env) as server:
        found = run_script("sessions.mjs", server.url, server.token, "claude", str(world.work), json.dumps(prompts))
    assert found["hello"] == {"stopReason": "end_turn", "text": "Hello there."}
    assert "once" in found["asked"]
    assert found["permission"]["text"].endswith("It said: ran")
    assert (world.work / "made").exists()
    assert (found["mode"], found["cancelled"], found["resumed"]) == ("plan", "cancelled", "end_turn")


def test_the_example_of_the_docs_runs(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "sandbox-agent-sdk.md"
    example = re.search(r"```js\n(.*?)```", page.read_text(), re.DOTALL)
    assert example is not None
    (tmp_path / "example.mjs").write_text(example[1])
    (tmp_path / "node_modules").symlink_to(SCRIPTS.parent / "node_modules")
    with running_server(tmp_path) as server:
        ran = subprocess.run(
            ["node", "example.mjs"],
            env={"PATH": os.environ["PATH"], "FOOTPLATE_URL": server.url, "FOOTPLATE_TOKEN": server.token},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert ran.stdout.splitlines()[-1] == "done: end_turn", ran.stdout + ran.stderr
    assert "asked: " in ran.stdout
