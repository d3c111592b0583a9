"""The engine: found on this machine, or not found with the way to get it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from footplate.engines.base import Engine, Installed, Options
from footplate.engines.claude.credentials import find_login
from footplate.engines.claude.engine import ClaudeEngine, create
from footplate.engines.claude.settings import ClaudeSettings
from footplate.errors import ConfigError, EngineNotExecutable, EngineNotFound

LOGIN = {"accessToken": "a", "refreshToken": "r", "expiresAt": 1, "scopes": ["user"]}


def program(folder: Path, body: str, name: str = "claude") -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


async def test_the_program_on_the_path_is_found_with_its_version(tmp_path: Path) -> None:
    found = program(tmp_path, 'echo "2.1.325 (Claude Code)"')
    environ = {"PATH": f"{tmp_path}:/bin"}
    assert await ClaudeEngine().locate(environ) == Installed(engine="claude", program=str(found), version="2.1.325")


async def test_the_version_is_asked_once_per_file(tmp_path: Path) -> None:
    found = program(tmp_path, f'echo asked >> {tmp_path}/count; echo "1.2.3"')
    engine = create({"program": str(found)})
    for _ in range(3):
        await engine.locate({})
    assert (tmp_path / "count").read_text() == "asked\n"
    program(tmp_path, "echo 1.2.4")
    os.utime(found, ns=(1, 1))
    assert (await engine.locate({})).version == "1.2.4"


async def test_the_version_is_asked_with_nothing_of_the_machine(tmp_path: Path) -> None:
    program(tmp_path, f'echo "$SECRET" > {tmp_path}/seen; echo 1.2.3')
    await ClaudeEngine().locate({"PATH": f"{tmp_path}:/bin", "SECRET": "s"})
    assert (tmp_path / "seen").read_text() == "\n"


async def test_a_missing_program_is_told_with_the_install_command(tmp_path: Path) -> None:
    with pytest.raises(EngineNotFound) as caught:
        await ClaudeEngine().locate({"PATH": str(tmp_path)})
    assert str(caught.value) == (
        "claude: 'claude' was not found; run `footplate agents install claude`, "
        "`curl -fsSL https://claude.ai/install.sh | bash`, `brew install --cask claude-code` or "
        "`npm install -g @anthropic-ai/claude-code`, then run `claude` once to log in"
    )


async def test_a_program_that_cannot_run_says_why(tmp_path: Path) -> None:
    path = program(tmp_path, "echo no version here >&2; exit 1")
    with pytest.raises(EngineNotExecutable, match="no version here"):
        await ClaudeEngine(ClaudeSettings(program=str(path))).locate({})
    path.chmod(0o644)
    with pytest.raises(EngineNotExecutable, match="permission denied"):
        await ClaudeEngine(ClaudeSettings(program=str(path))).locate({})


def test_it_is_an_engine_and_tells_what_it_can_do() -> None:
    engine: Engine = ClaudeEngine()
    can = engine.capabilities()
    assert (engine.name, engine.title) == ("claude", "Claude Code")
    assert (can.live, can.one_shot, can.permissions, can.chooses_session_id) == (True, True, True, True)


def test_its_section_of_the_settings_is_checked() -> None:
    with pytest.raises(ConfigError, match=r"\[engines\.claude\].*did you mean 'model'"):
        create({"modle": "opus"})
    assert create({"model": "opus", "use_api_billing": True, "env": {"A": "1"}}).name == "claude"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ({"claudeAiOauth": LOGIN}, True),
        ({"claudeAiOauth": {"accessToken": "a", "expiresAt": 1}}, False),
        ({}, False),
        ("text", False),
    ],
)
def test_a_login_counts_only_when_the_cli_would_accept_it(tmp_path: Path, content: object, found: bool) -> None:
    (tmp_path / ".credentials.json").write_text(json.dumps(content))
    assert find_login({"CLAUDE_CONFIG_DIR": str(tmp_path)}) is found
    assert find_login({}, profile=str(tmp_path)) is found
    assert find_login({"HOME": str(tmp_path / "nobody")}) is False


def test_the_login_in_the_home_decides_who_pays(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / ".credentials.json").write_text(json.dumps({"claudeAiOauth": LOGIN}))
    installed = Installed(engine="claude", program="/bin/claude", version="2.1.325")
    environ = {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": "k"}
    spawn = ClaudeEngine().launch(Options(cwd="/w"), installed, environ)
    assert spawn.notes == {"billing": "subscription"}
    assert "ANTHROPIC_API_KEY" not in spawn.env
