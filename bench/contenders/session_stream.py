"""Turns of our sessions on a fake CLI that plays a stream, alternately with and without recording its raw lines.

In one process, so that both are as warm, and one after the other, so that a busy machine is busy for both. Prints the
CPU of each turn until all of it is read and stored, and how many raw lines the last recorded turn left.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from functools import partial
from operator import eq
from pathlib import Path
from typing import Final

from bench.contenders.report import spent
from footplate.config.settings import Settings
from footplate.events.model import EngineDetached
from footplate.host.process import Keeper
from footplate.runtime.hub import Hub
from footplate.runtime.recorder import FLUSH_S
from footplate.runtime.services import Services
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from footplate.store.sqlite import SqliteStore
from footplate.store.values import FrameQuery

SETTLED_S: Final = FLUSH_S + 0.5
"""After the end of the agent: by then its last lines are stored, and the store has synced."""
WARM_UP: Final = 2
"""Turns that are not counted: one of each kind."""


def order(rounds: int) -> Iterator[str]:
    """Which way each turn is run, each round with the other one first."""
    for number in range(rounds):
        yield from ("off", "on") if number % 2 else ("on", "off")


async def turn(session: Session) -> float:
    """The CPU of one turn."""
    reader = session.subscribe(session.view().last_seq)
    begun = spent()
    await session.prompt("go")
    async for delivery in reader:
        if delivery.known is not None and isinstance(delivery.known.event, EngineDetached):
            break
    reader.close()
    await asyncio.sleep(SETTLED_S)
    return spent() - begun


async def run(folder: Path, program: str, rounds: int) -> dict[str, list[float]]:
    """Each turn in a new session."""
    samples: dict[str, list[float]] = {"on": [], "off": [], "stored": []}
    settings = Settings(engines={"claude": {"program": program}})
    async with await SqliteStore.open(folder / "store") as store, Keeper.start() as keeper:
        environ = dict(os.environ)
        services = Services(store, keeper, settings=settings, environ=environ, data=folder / "data")
        async with Hub.open(services) as hub:
            for number, way in enumerate(order(1 + rounds)):
                services.recorder.enabled = partial(eq, way, "on")
                session = await hub.create(SessionSpec(engine="claude", cwd=str(folder)))
                took = await turn(session)
                if number >= WARM_UP:
                    samples[way].append(took)
                if way == "on":
                    samples["stored"] = [(await store.read_frames(session.id, FrameQuery(limit=1))).last]
    return samples


def main(folder: str, program: str, rounds: str) -> None:
    """Run and report."""
    print(json.dumps(asyncio.run(run(Path(folder), program, int(rounds)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
