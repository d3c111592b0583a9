"""An engine that another package brings: installed, it is there for every command, with no change of ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.example import install_example

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


def call(folder: Path, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    env = {
        "HOME": str(folder),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "FOOTPLATE_DATA_DIR": str(folder / "data"),
        "PYTHONPATH": path,
    }
    argv = [sys.executable, "-m", "footplate", *arguments]
    return subprocess.run(argv, env=env, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def test_a_package_with_an_entry_point_is_an_engine(tmp_path: Path) -> None:
    path = str(install_example())
    without = call(tmp_path, "agents", "info", "tally")
    assert without.returncode == 2
    told = json.loads(call(tmp_path, "agents", "info", "tally", "--json", path=path).stdout)
    assert (told["title"], told["installed"], told["version"], told["source"]) == ("Tally", True, "0.1.0", "package")
    ran = call(tmp_path, "tally", "how many words are these", path=path)
    assert ran.returncode == 0, ran.stderr
    assert "5 words" in ran.stdout
    refused = call(tmp_path, "agents", "install", "tally", "--reinstall", path=path)
    assert refused.returncode == 1
    assert "does not install it" in refused.stderr
