"""Docs as tests: every shell example of the pages about the server runs against a server."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

import pytest

from tests.unit.interfaces.http.served import TOKEN, serve

HOW_TO = Path(__file__).resolve().parents[3] / "docs" / "how-to"
PAGES = ("files.md", "processes.md")


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
@pytest.mark.parametrize("page", PAGES)
async def test_every_shell_example_runs(page: str, tmp_path: Path) -> None:
    examples = re.findall(r"```sh\n(.*?)```", (HOW_TO / page).read_text(), re.DOTALL)
    assert examples
    async with serve(tmp_path) as served:
        env = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "FOOTPLATE_URL": served.url,
            "FOOTPLATE_TOKEN": TOKEN,
        }
        for example in examples:
            shell = await asyncio.create_subprocess_exec(
                "sh",
                "-ec",
                example,
                env=env,
                cwd=tmp_path,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            said, _ = await shell.communicate()
            assert shell.returncode == 0, f"{page}: {example}\n{said.decode()}"
