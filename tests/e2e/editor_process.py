"""`footplate acp` as an editor starts it: a process at the other end of pipes, every message judged by the schema."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from footplate.runtime.acp.client import Send
from footplate.runtime.audit import Principal
from tests.acp_schema import V1, Judge
from tests.e2e.world import World
from tests.unit.runtime.acp.client import AcpClient

LIMIT = 64 * 1024 * 1024
PATIENCE_S = 30.0


class AgentProcess:
    """The process, as the backend of a client."""

    def __init__(self, process: asyncio.subprocess.Process, send: Send) -> None:
        self.process = process
        self._reading = asyncio.create_task(self._read(send), name="agent process")

    async def _read(self, send: Send) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            await send([line])

    async def receive(self, message: bytes, who: Principal) -> None:
        """Hand it a message."""
        assert self.process.stdin is not None
        self.process.stdin.write(message.rstrip(b"\n") + b"\n")
        await self.process.stdin.drain()

    async def close(self) -> None:
        """Close its input; it has to leave, in peace."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(PATIENCE_S):
            code = await self.process.wait()
            await self._reading
        assert code == 0


@asynccontextmanager
async def edited(
    world: World,
    *arguments: str,
    engine: str = "claude",
    can: Mapping[str, object] | None = None,
    judge: Judge = V1,
    hello: Mapping[str, object] | None = None,
) -> AsyncIterator[AcpClient]:
    """An editor that has said hello, in words of its own if need be, and closes the agent's input at the end."""
    process = await asyncio.create_subprocess_exec(
        *world.command("acp", engine, *arguments),
        env=world.env,
        cwd=world.work,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LIMIT,
    )
    client = AcpClient(lambda send: AgentProcess(process, send), judge)
    words = hello or {"protocolVersion": 1, "clientCapabilities": can or {}}
    try:
        await client.call("initialize", **words)
        yield client
        await client.agent.close()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
