from __future__ import annotations

import json
from pathlib import Path

import pytest

from footplate.testing.closed import closed_environment, prepare_home


def test_nothing_of_the_machine_gets_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from-the-machine")
    monkeypatch.setenv("SOME_SECRET", "from-the-machine")
    environment = closed_environment(tmp_path, base_url="http://127.0.0.1:1/k/a")
    assert "from-the-machine" not in environment.values()
    assert environment["HOME"] == str(tmp_path)
    assert environment["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1/k/a"
    assert environment["ANTHROPIC_API_KEY"].startswith("sk-ant-test-")


def test_the_list_of_variables_is_closed(tmp_path: Path) -> None:
    assert set(closed_environment(tmp_path, base_url="http://127.0.0.1:1")) == {
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "CLAUDE_CODE_MAX_RETRIES",
        "DISABLE_AUTOUPDATER",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_TELEMETRY",
        "HOME",
        "LANG",
        "PATH",
        "TZ",
    }


def test_a_home_starts_empty(tmp_path: Path) -> None:
    home = prepare_home(tmp_path / "a" / "home")
    assert list(home.iterdir()) == []


def test_a_home_can_trust_folders(tmp_path: Path) -> None:
    home = prepare_home(tmp_path / "home", trusted=[tmp_path / "work"])
    settings = json.loads((home / ".claude.json").read_bytes())
    assert settings == {"projects": {str(tmp_path / "work"): {"hasTrustDialogAccepted": True}}}
