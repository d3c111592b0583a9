"""Docs as tests: the shell examples of the pages about sessions, agents and the server run, top to bottom."""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
from pathlib import Path

import pytest

from footplate.config.settings import HttpSettings, Settings
from tests.unit.interfaces.http.served import TOKEN, serve

HOW_TO = Path(__file__).resolve().parents[3] / "docs" / "how-to"
PAGES = (
    "serve.md",
    "http-sessions.md",
    "http-agents.md",
    "projects.md",
    "git.md",
    "team-server.md",
    "session-persistence.md",
)
TOOLS = ("curl", "jq")
HEARTBEAT_S = 0.2
"""`curl | sed '/.../q'` ends when curl next writes: a sign of life is soon enough here, and none for 15 s elsewhere."""


@pytest.mark.skipif(any(shutil.which(tool) is None for tool in TOOLS), reason="there is no curl or no jq here")
@pytest.mark.parametrize("page", PAGES)
async def test_every_shell_example_of_the_page_runs(page: str, tmp_path: Path) -> None:
    examples = re.findall(r"```sh\n(.*?)```", (HOW_TO / page).read_text(), re.DOTALL)
    assert examples
    async with serve(tmp_path, Settings(http=HttpSettings(heartbeat_s=HEARTBEAT_S))) as served:
        shell = await asyncio.create_subprocess_exec(
            "bash",
            "-eu",
            "-c",
            "\n".join(examples),
            env={
                "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
                "HOME": str(tmp_path),
                "FOOTPLATE_URL": served.url,
                "FOOTPLATE_TOKEN": TOKEN,
            },
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await shell.communicate()
    assert shell.returncode == 0, said.decode()
