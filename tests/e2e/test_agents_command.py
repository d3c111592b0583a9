"""`footplate agents` as a person uses it: list, info, install, update, remove; exit codes and words."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.runtime.shelf import DUMB, TINY, Shelf, open_shelf

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    with open_shelf() as shelf:
        yield shelf


def call(folder: Path, shelf: Shelf, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {
        "HOME": str(folder),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "FOOTPLATE_DATA_DIR": str(folder / "data"),
        "FOOTPLATE__AGENTS__REGISTRIES": json.dumps([f"{shelf.url}/registry.json"]),
        "FOOTPLATE__AGENTS__REGISTRY_AGE_S": "0",
    }
    argv = [sys.executable, "-m", "footplate", "agents", *arguments]
    return subprocess.run(argv, env=env, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def test_an_agent_is_installed_updated_and_removed(tmp_path: Path, shelf: Shelf) -> None:
    shelf.registry(shelf.binary("tiny", "1.0.0", TINY))
    installed = call(tmp_path, shelf, "install", "tiny")
    assert installed.returncode == 0, installed.stderr
    assert installed.stdout.splitlines()[-1].startswith("tiny: Tiny 1.0.0 is installed: ")
    assert "tiny: 1.0.0 is there" in call(tmp_path, shelf, "install", "tiny").stdout
    assert "is the one that is known to work" in call(tmp_path, shelf, "update").stdout

    shelf.registry(shelf.binary("tiny", "2.0.0", DUMB))
    broken = call(tmp_path, shelf, "update", "tiny")
    assert broken.returncode == 1
    assert "does not answer" in broken.stderr
    shelf.registry(shelf.binary("tiny", "2.0.1", TINY))
    assert call(tmp_path, shelf, "update").returncode == 0
    told = json.loads(call(tmp_path, shelf, "info", "tiny", "--json").stdout)
    assert (told["version"], told["origin"], told["source"]) == ("2.0.1", "installed", f"{shelf.url}/registry.json")

    listed = call(tmp_path, shelf, "list").stdout.splitlines()
    assert any(line.split()[:3] == ["tiny", "2.0.1", "(installed)"] for line in listed)
    assert any(line.split()[:3] == ["cursor", "not", "installed"] for line in listed)
    info = call(tmp_path, shelf, "info", "cursor").stdout
    assert "missing     no login that we can see: run `cursor-agent login`, or set CURSOR_API_KEY" in info
    assert call(tmp_path, shelf, "remove", "tiny").stdout == "tiny: removed\n"
    assert "known engines" in (again := call(tmp_path, shelf, "info", "nobody")).stderr
    assert again.returncode == 2
    assert call(tmp_path, shelf, "remove", "tiny").returncode == 2
    assert call(tmp_path, shelf, "install", "tiny", "--version", "1; rm").returncode == 1
