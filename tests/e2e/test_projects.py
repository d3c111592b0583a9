"""Projects on the command line: name a repository, run an agent on a branch of it, collect what it left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from footplate.main import command_line
from tests.unit.repositories import closed, make_repository

pytestmark = pytest.mark.long


def _here(home: Path, *args: str, code: int = 0) -> str:
    """A command that starts no agent, in this process."""
    result = CliRunner(env=closed(home)).invoke(command_line(), args)
    assert result.exit_code == code, result.output
    return result.output


def _footplate(home: Path, *args: str, cwd: Path, code: int = 0) -> str:
    env = {**closed(home), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "FOOTPLATE_MOCK_PACE_MS": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "footplate", *args],
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_server_collects_stale_worktrees_at_its_start_if_it_is_told_to(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    git = make_repository(shop, closed(tmp_path))
    _here(tmp_path, "projects", "add", "shop", str(shop))
    git.run("worktree", "add", "-q", "-b", "topic", f"{shop}/.worktrees/topic")
    argv = [sys.executable, "-m", "footplate", "serve", "--port", "0", "--no-token"]
    env = {**closed(tmp_path), "FOOTPLATE__RUNTIME__WORKTREE_DAYS": "0"}
    with subprocess.Popen(argv, env=env, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        told = next(line for line in server.stdout if line.startswith("  worktrees"))
        server.send_signal(signal.SIGINT)
        server.stdout.read()
    assert told.startswith("  worktrees  1 stale removed")
    assert not (shop / ".worktrees" / "topic").exists()


def test_a_repository_gets_a_name_and_an_agent_works_on_a_branch_of_it(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    make_repository(shop, closed(tmp_path))
    (shop / "src").mkdir()
    assert _footplate(tmp_path, "init", "shop", "--engine", "mock", "--default", cwd=shop / "src") == f"shop: {shop}\n"
    refused = _here(tmp_path, "init", "My-Shop", code=2)
    assert "a name is 1 to 32 of a-z, 0-9 and _" in refused
    (listed,) = _here(tmp_path, "projects", "list", "--json").splitlines()
    assert (json.loads(listed)["alias"], json.loads(listed)["default"]) == ("shop", True)
    tree = shop / ".worktrees" / "fix" / "login"
    said = _footplate(tmp_path, "run", "--project", "shop", "--branch", "fix/login", "env PWD", cwd=tmp_path)
    assert f"worktree {tree}" in said
    assert (tree / "README").exists()
    chat = ("chat", "--project", "shop", "--branch", "fix/login", "--json")
    told = _footplate(tmp_path, *chat, cwd=tmp_path)
    assert str(tree) in told
    assert "kept" in _here(tmp_path, "worktrees", "gc")
    assert "would remove" in _here(tmp_path, "worktrees", "gc", "--days", "0", "--dry-run")
    collected = json.loads(_here(tmp_path, "worktrees", "gc", "--days", "0", "--json"))
    assert ([each["branch"] for each in collected["removed"]], tree.exists()) == (["fix/login"], False)
    assert collected["freed"] > 0
    assert _here(tmp_path, "projects", "remove", "shop") == "removed shop\n"
    unknown = _here(tmp_path, "run", "--project", "shop", "hello", code=2)
    assert "unknown project 'shop'; there are none yet" in unknown
