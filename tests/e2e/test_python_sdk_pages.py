"""The examples of the pages about Python programs, run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.world import ROOT

TUTORIAL = (ROOT / "docs" / "tutorials" / "build-a-product.md").read_text()
PAGE = (ROOT / "docs" / "how-to" / "python-sdk.md").read_text()
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
BUDGETS = (ROOT / "docs" / "how-to" / "budgets.md").read_text()
EXAMPLES = [*BLOCK.findall(PAGE), *BLOCK.findall(BUDGETS)]
SHOWN = ["answer: permission: allow", "interrupted", "RequestApplied", "'stopReason': 'end_turn'", "mock: hello"]


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("example", "shown"), [*zip(EXAMPLES, SHOWN, strict=True)], ids=range(len(EXAMPLES)))
def test_an_example_runs(tmp_path: Path, example: str, shown: str) -> None:
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "FOOTPLATE_MOCK_PACE_MS": "0"}
    command = [sys.executable, "-c", example]
    ran = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert ran.returncode == 0, ran.stderr
    assert shown in ran.stdout
    assert not ran.stderr


@pytest.mark.timeout(120)
def test_the_programs_of_the_tutorial_run_beside_a_server(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "FOOTPLATE_MOCK_PACE_MS": "0"}

    def run(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        ran = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    run("-m", "footplate", "serve", "--detach", "--port", "0")
    try:
        first, second = BLOCK.findall(TUTORIAL)
        assert "mock: hello" in run("-c", first)
        shown = run("-c", second).splitlines()
        assert shown[0].startswith("▸")
        assert shown[-1] == "done"
        assert any(line.startswith("?") for line in shown)
    finally:
        run("-m", "footplate", "serve", "stop", "--end-agents")
