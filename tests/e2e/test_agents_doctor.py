"""`footplate agents doctor`: the real CLI, and the mock, are drilled as they are installed; what is new is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.world import World, wait_until_gone

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]
STEPS = ["permission", "question", "interrupt", "resume"]


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
