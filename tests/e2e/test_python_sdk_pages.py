"""The examples of the page on the Python SDK, run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.world import ROOT

PAGE = (ROOT / "docs" / "how-to" / "python-sdk.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SHOWN = ["answer: permission: allow", "interrupted", "RequestApplied", "'stopReason': 'end_turn'"]


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("example", "shown"), [*zip(EXAMPLES, SHOWN, strict=True)], ids=range(len(EXAMPLES)))
def test_an_example_runs(tmp_path: Path, example: str, shown: str) -> None:
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "FOOTPLATE_MOCK_PACE_MS": "0"}
    command = [sys.executable, "-c", example]
    ran = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert ran.returncode == 0, ran.stderr
    assert shown in ran.stdout
    assert not ran.stderr
