"""The closed environment in which real agents are tried: a home of their own and nothing of the machine."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

MINIMAL_PATH = "/usr/local/bin:/usr/bin:/bin"
TEST_KEY = "sk-ant-test-0000-not-a-real-key"


def closed_environment(home: Path, *, base_url: str, path: str = MINIMAL_PATH, key: str = TEST_KEY) -> dict[str, str]:
    """Every variable an agent under test gets. Nothing is taken over from the environment of the caller."""
    return {
        "HOME": os.fspath(home),
        "PATH": path,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "ANTHROPIC_BASE_URL": base_url,
        "ANTHROPIC_API_KEY": key,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",  # by default a wrong key is tried 11 times and looks like a hang
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    }


def prepare_home(home: Path, *, trusted: Iterable[Path] = ()) -> Path:
    """Make an empty home and mark the `trusted` folders as trusted; gives back the home.

    `claude -p` needs no file to start: no onboarding, no dialog. Trust matters only for permission rules
    in the settings of a project, which the CLI ignores in a folder that was never trusted.
    """
    home.mkdir(parents=True, exist_ok=True)
    projects = {os.fspath(folder.resolve()): {"hasTrustDialogAccepted": True} for folder in trusted}
    if projects:
        (home / ".claude.json").write_bytes(msgspec.json.encode({"projects": projects}))
    return home
