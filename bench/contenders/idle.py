"""Sessions on the mock agent and a store in a file, each with one finished turn and its agent gone: what they hold.

Reports the resident size when nothing but a few sessions to warm up was there, with so many idle sessions on top, and
after the hub has let go of those.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from bench.contenders.ours import resident_kb
from bench.contenders.report import report, spent
from footplate.config.settings import Settings
from footplate.events.ids import SessionId
from footplate.events.model import StateChanged, TurnEnded
from footplate.host.process import Keeper
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from footplate.store.sqlite import SqliteStore

WARM_UP: Final = 50
AT_ONCE: Final = 10
PROMPT: Final = "hello"


@asynccontextmanager
async def open_hub(folder: Path) -> AsyncIterator[Hub]:
    """A hub on a real file, with a keeper of its own."""
    environ = {**os.environ, "FOOTPLATE_MOCK_PACE_MS": "0"}
    async with await SqliteStore.open(folder / "store") as store, Keeper.start() as keeper:
        services = Services(store, keeper, settings=Settings(), environ=environ, data=folder / "data")
        async with Hub.open(services) as hub:
            yield hub


async def until_idle(session: Session, after: int = 0) -> None:
    """Read the session until its turn has ended and it says so."""
    ended = False
    reader = session.subscribe(after)
    try:
        async for delivery in reader:
            event = delivery.envelope().event
            ended = ended or isinstance(event, TurnEnded)
            if ended and isinstance(event, StateChanged) and event.state == "idle":
                return
    finally:
        reader.close()


async def open_idle(hub: Hub, count: int) -> list[SessionId]:
    """So many new sessions, each after its first turn, without an agent."""

    async def one(_: int) -> SessionId:
        session = await hub.create(SessionSpec(engine="mock", cwd=str(Path.cwd())))
        await session.prompt(PROMPT)
        await until_idle(session)
        await session.evict()
        return session.id

    found: list[SessionId] = []
    for first in range(0, count, AT_ONCE):
        found += await asyncio.gather(*map(one, range(first, min(first + AT_ONCE, count))))
    return found


async def forget(hub: Hub, sessions: Iterable[SessionId]) -> None:
    """Let go of them."""
    for session in sessions:
        await hub.forget(session)


async def settled_kb() -> int:
    """The resident size when what ended is really gone."""
    await asyncio.sleep(0.2)
    gc.collect()
    return resident_kb()


async def run(count: int, folder: Path) -> list[int]:
    """The resident size before, with the sessions, and after they were let go of."""
    async with open_hub(folder) as hub:
        await open_idle(hub, min(WARM_UP, count))
        before = await settled_kb()
        sessions = await open_idle(hub, count)
        held = await settled_kb()
        await forget(hub, sessions)
        return [before, held, await settled_kb()]


def main(count: str, folder: str) -> None:
    """Run and report."""
    begun = spent()
    sizes = asyncio.run(run(int(count), Path(folder)))
    report(int(count), spent() - begun, sizes)


if __name__ == "__main__":
    main(*sys.argv[1:])
