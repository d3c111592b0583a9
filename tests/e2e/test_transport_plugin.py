"""A transport that another package brings: installed, it runs beside the server, and a kill loses nothing."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from footplate.testing.transports import expect, sees
from tests.contract.example import install_example
from tests.contract.stages import ForgetfulClient, LineVisitor, free_port

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]
SETTINGS = """
default_engine = "mock"
[runtime]
reattach_grace_s = 0
[transports.line]
allowed_user_ids = ["ada"]
chat_id = "ada"
cwd = "{cwd}"
[transports.line.options]
people = {{ ada = {{ env = "ADA_PASSWORD" }} }}
port = {port}
"""


@asynccontextmanager
async def serving(folder: Path, site: str) -> AsyncIterator[asyncio.subprocess.Process]:
    env = {
        "HOME": str(folder),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "FOOTPLATE_DATA_DIR": str(folder / "data"),
        "FOOTPLATE_CONFIG": str(folder / "footplate.toml"),
        "FOOTPLATE_MOCK_PACE_MS": "0",
        "ADA_PASSWORD": "lovelace",
        "PYTHONPATH": site,
    }
    argv = [sys.executable, "-m", "footplate", "serve", "--port", "0", "--no-token"]
    server = await asyncio.create_subprocess_exec(*argv, env=env, stdout=asyncio.subprocess.PIPE)
    try:
        yield server
    finally:
        if server.returncode is None:
            server.kill()
        await server.communicate()


async def test_a_package_with_an_entry_point_is_a_transport_and_kill_9_loses_nothing(tmp_path: Path) -> None:
    site = str(await asyncio.to_thread(install_example, "footplate-line"))
    port = await free_port()
    await asyncio.to_thread((tmp_path / "footplate.toml").write_text, SETTINGS.format(cwd=tmp_path, port=port))
    client = ForgetfulClient("127.0.0.1", port, "ada", "lovelace")
    ada = LineVisitor(client)
    async with client.connected():
        async with serving(tmp_path, site) as server:
            await sees(ada, "footplate is ready")
            await ada.write("hello over a socket")
            await sees(ada, "done · mock", "hello over a socket")
            await ada.write("permission")
            await sees(ada, "permission · mock", "touch example.txt")
            server.send_signal(signal.SIGKILL)
            await server.wait()
        await ada.write("written while it was down")
        async with serving(tmp_path, site) as server:
            await sees(ada, "mock: written while it was down")
            server.send_signal(signal.SIGTERM)
            await asyncio.wait_for(server.communicate(), 30)
            assert server.returncode == 0
    expect(ada, "mock: hello over a socket", times=1)
    expect(ada, "mock: written while it was down", times=1)
