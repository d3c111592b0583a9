"""`footplate agents doctor`: real agents, and the mock, are drilled as they are installed; what is new is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from footplate.testing.exercises import NO_MODEL, NO_QUESTIONS
from footplate.testing.messages import ScriptedMessages
from tests.e2e.agents import AgentWorld
from tests.e2e.world import World, wait_until_gone

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]
STEPS = ["permission", "question", "interrupt", "resume"]
START_S = 480
"""Some of these agents take 10 s and more until they speak, and are started twice."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Codex each time; those that take long to start when all versions are asked for."""
    if "agent" in metafunc.fixturenames:
        every = ["codex", "opencode", "gemini", "qwen"]
        metafunc.parametrize("agent", every if metafunc.config.getoption("--all-versions") else every[:1])


@pytest.mark.both_versions
def test_the_installed_cli_is_drilled_and_says_nothing_new(world: World, tmp_path: Path) -> None:
    told = world.footplate("agents", "doctor", "claude", "mock", "--json", "--strict", timeout=150)
    assert told.returncode == 0, told.stdout + told.stderr
    claude, mock = json.loads(told.stdout)["agents"]
    assert [(step["name"], step["ok"]) for step in claude["steps"]] == [(name, True) for name in STEPS]
    assert [(step["name"], step["ok"]) for step in mock["steps"]] == [(name, True) for name in STEPS]
    assert (claude["new"], claude["unparsed"]) == ([], [])
    assert claude["lines"] > 20
    assert not world.requests()  # it has a model of its own
    wait_until_gone(str(tmp_path))


def test_an_agent_that_has_changed_is_told_by_what_is_new(world: World) -> None:
    program = world.home / "bin" / "claude"
    real = program.resolve()
    program.unlink()
    program.write_text(
        "#!/bin/sh\n"
        f'case "$1" in --version) exec {real} "$@";; esac\n'
        f"""{real} "$@" | sed -u 's/"type":"system","subtype":"init"/"brand_new":1,&/'\n"""
    )
    program.chmod(0o755)
    told = world.footplate("agents", "doctor", "claude", timeout=150)
    assert "new: system/init.brand_new" in told.stdout, told.stdout + told.stderr
    missing = world.footplate("agents", "doctor", "cursor")
    assert (missing.returncode, "run `footplate agents install cursor`" in missing.stderr) == (1, True)
    assert world.footplate("agents", "doctor", "nobody").returncode == 2


@pytest.mark.timeout(START_S)
def test_agents_other_than_claude_are_drilled_and_one_of_which_nothing_is_known_as_far_as_it_goes(
    tmp_path: Path, messages: ScriptedMessages, agent: str
) -> None:
    world = AgentWorld(tmp_path, messages, f"doctor-{agent}", agent)
    command = [sys.executable, "-P", "-m", "footplate", "mock-agent"]
    env = {"HOME": str(world.home), "PATH": world.env["PATH"], "FOOTPLATE_DATA_DIR": str(tmp_path / "data")}
    env["FOOTPLATE__ACP_AGENTS__TINY__COMMAND"] = json.dumps(command)
    argv = [sys.executable, "-m", "footplate", "agents", "doctor", agent, "tiny", "--json", "--strict"]
    told = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=START_S, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    known, tiny = json.loads(told.stdout)["agents"]
    asks = "" if agent == "codex" else NO_QUESTIONS
    assert [(step["name"], step["skipped"]) for step in known["steps"]] == [
        ("permission", ""), ("question", asks), ("interrupt", ""), ("resume", "")
    ]  # fmt: skip
    assert known["lines"] > 15
    assert [(step["name"], step["skipped"]) for step in tiny["steps"]] == [
        ("turn", ""), ("permission", NO_MODEL), ("question", NO_MODEL), ("interrupt", NO_MODEL), ("resume", "")
    ]  # fmt: skip
    assert not world.requests()  # it has a model of its own
    wait_until_gone(str(tmp_path))
