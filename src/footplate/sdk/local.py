"""A service of the program's own: started on a free port, ended with the program."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import sys
from collections.abc import Mapping
from typing import Final

from footplate.errors import ServiceUnreachable
from footplate.tasks import spawn

START_S: Final = 60.0
STOP_S: Final = 15.0
_LISTENS: Final = re.compile(r"listens on (\S+)")


class LocalService:
    """A running `footplate server` and how to reach it."""

    def __init__(self, process: asyncio.subprocess.Process, url: str, token: str, drain: asyncio.Task[bytes]) -> None:
        self.url = url
        self.token = token
        self.pid = process.pid
        self._process = process
        self._drain = drain

    @classmethod
    async def start(cls, *, data: str = "", env: Mapping[str, str] | None = None) -> LocalService:
        """Start it and wait until it listens. `data` is its data folder; default: the user's own."""
        token = secrets.token_urlsafe(24)
        environ = {**(os.environ if env is None else env), "FOOTPLATE_TOKEN": token}
        if data:
            environ["FOOTPLATE_DATA_DIR"] = data
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "footplate", "server", "--port", "0",
            env=environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        stdout = process.stdout
        if stdout is None:
            raise ServiceUnreachable("the local service", "it has no output")
        said: list[str] = []
        try:
            async with asyncio.timeout(START_S):
                async for raw in stdout:
                    said.append(raw.decode(errors="replace").rstrip())
                    if found := _LISTENS.search(said[-1]):
                        return cls(process, found[1], token, spawn(stdout.read(), name="output of the local service"))
        except TimeoutError:
            said.append(f"it did not listen within {START_S:g} s")
        except BaseException:
            await _end(process)
            raise
        await _end(process)
        raise ServiceUnreachable("the local service", "; ".join(said[-3:]) or "it ended at once")

    async def stop(self) -> None:
        """End it, and with it its agents."""
        await _end(self._process)
        await asyncio.wait((self._drain,))


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(STOP_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
