"""The transports beside plain calls, ACP and chat: what a life opens, who uses them, what is judged at rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from footplate.runtime.hub import Hub
from tests.simulation import acp, chat
from tests.simulation.acp import AcpDoors, HttpClient, LineClient, Quiet
from tests.simulation.chat import ChatDoor, run_person
from tests.simulation.plan import Client

if TYPE_CHECKING:
    from tests.simulation.life import Life
    from tests.simulation.world import World


class Doors:
    """The transports of one life. A chat is there only where a plan has people."""

    def __init__(self, world: World, life: Life, services: Any, hub: Hub) -> None:
        self.acp = AcpDoors(life, services, hub)
        self.chat: ChatDoor | None = None
        if any(client.kind == "person" for client in world.plan.clients):
            self.chat = ChatDoor(world, life, services, hub)

    async def close(self) -> None:
        """Close all of it, before the hub is closed."""
        if self.chat is not None:
            await self.chat.close()
        await self.acp.close()


async def run(world: World, client: Client) -> None:
    """A client of these transports."""
    if client.kind == "person":
        await run_person(world, client)
    elif client.kind == "acp_lines":
        await LineClient(world, client).run()
    else:
        await HttpClient(world, client).run()


async def arrive(world: World) -> None:
    """Wait until what people did has reached the sessions."""
    if world.chat.written:
        await chat.arrive(world)


async def settle(world: World, become_quiet: Quiet) -> None:
    """At rest: everybody has what is owed. What arrives late may begin a turn: wait for its end, too."""
    for task in world.acp.tasks:
        if task.done() and not task.cancelled() and task.exception() is not None:
            raise task.exception()  # type: ignore[misc]
    await acp.settle(world, become_quiet)
    if world.chat.written:
        await chat.settle(world, become_quiet)
