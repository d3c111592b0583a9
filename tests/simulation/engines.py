"""Agents of the simulation that speak ACP: the product's mock agent, on a wire that takes time.

`SimMock` runs it in the service's process, `KeptMock` as a process of the keeper, which outlives the service.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from footplate.engines.acp.converse import AcpConversation
from footplate.engines.base import Conversation, InProcess, Installed, Launch, Options, Spawn
from footplate.engines.mock.agent import serve
from footplate.engines.mock.engine import MockEngine
from footplate.engines.mock.sessions import Memory
from footplate.version import __version__

if TYPE_CHECKING:
    from tests.simulation.keeper import AgentNode
    from tests.simulation.world import World

Write = Callable[[bytes], Awaitable[None]]
ENV: Mapping[str, str] = {"FOOTPLATE_MOCK_PACE_MS": "5"}
_serial = re.compile(rb" (1\d{6})\"")


class AgentKilled(Exception):
    """The plan killed the agent."""


async def serve_mock(world: World, name: str, lines: AsyncIterator[bytes], write: Write, memory: Memory) -> int:
    """The mock agent behind a slow wire: it dies at random writes, and goes deaf for a while at random reads."""
    in_order = asyncio.Lock()

    async def slowly() -> AsyncIterator[bytes]:
        async for line in lines:
            await world.pause("slow_wire", "wire in")
            if world.chance.yes("deaf", world.strength("deaf", 0.2)):
                world.count("deaf")
                await asyncio.sleep(world.chance.pick("deaf for", (0.5, 5.0, 45.0)))
            if b'"session/prompt"' in line:
                for serial in _serial.findall(line):
                    world.note_prompt(int(serial), name)
            yield line
        await world.pause("slow_wire", "wire end")

    async def put(data: bytes) -> None:
        async with in_order:
            await world.pause("slow_wire", "wire out")
            if world.chance.yes("agent dies", world.strength("agent_dies", 0.02)):
                world.machine.ledger.kills.append(world.loop.now)
                raise AgentKilled("by the plan")
            await write(data)

    return await serve(slowly(), put, env=ENV, cwd="/", memory=memory)


class SimMock(MockEngine):
    """The mock engine inside the service."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def launch(self, options: Options, installed: Installed, environ: Mapping[str, str]) -> Launch:
        world = self._world
        world.count("agents")
        name = f"in process {world.counts['agents']}"

        async def run(lines: AsyncIterator[bytes], write: Write) -> int:
            return await serve_mock(world, name, lines, write, world.machine.mock_memory)

        return InProcess(serve=run, env=ENV, cwd=options.cwd)


class KeptMock(MockEngine):
    """The mock engine as a process of its own, which can be taken over after a crash of the service."""

    def __init__(self, world: World) -> None:
        super().__init__("stdio")
        self._world = world

    @property
    def name(self) -> str:
        return "kept"

    async def locate(self, environ: Mapping[str, str]) -> Installed:
        return Installed(engine="kept", program="mock-agent", version=__version__)

    def launch(self, options: Options, installed: Installed, environ: Mapping[str, str]) -> Launch:
        return Spawn(argv=("mock-agent",), env=ENV, cwd=options.cwd)

    def converse(self, options: Options, installed: Installed) -> Conversation:
        return AcpConversation("kept", options, installed, first_turn=options.first_turn)


async def run_mock(agent: AgentNode, lines: AsyncIterator[bytes], write: Write) -> int:
    """The mock agent as a process of the keeper."""
    world = agent.world
    return await serve_mock(world, agent.node, lines, write, world.machine.mock_memory)
