"""Permissions that are asked and answered in sessions of ours, alternately with and without audit records.

The agent is the mock in a process of its own, so its CPU does not count. In one process and round by round, so that
both are as warm, and a busy machine is busy for both. Prints the CPU of each round, and how many records there are.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

from bench.contenders.report import spent
from bench.contenders.session_stream import order
from footplate.config.settings import Settings
from footplate.events.model import RequestOpened, StateChanged, TurnEnded
from footplate.events.requests import Allow
from footplate.host.process import Keeper
from footplate.runtime.audit_head import keep_head
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from footplate.store.sqlite import SqliteStore

AT_ONCE: Final = 4
SETTLED_S: Final = 0.2
"""After the last answer: by then the store has synced."""
WARM_UP: Final = 2


async def answer_turns(session: Session, turns: int) -> None:
    """Turns that ask for one permission each."""
    reader = session.subscribe(session.view().last_seq)
    for _ in range(turns):
        await session.prompt("permission")
        ended = False
        async for delivery in reader:
            event = delivery.envelope().event
            if isinstance(event, RequestOpened):
                await session.answer(event.request.id, Allow(), by="ada", surface="web", origin="127.0.0.1")
            ended = ended or isinstance(event, TurnEnded)
            if ended and isinstance(event, StateChanged) and event.state == "idle":
                break
    reader.close()


def switch_off(services: Services) -> Callable[[bool], None]:
    """A switch for the records of answers, which the service itself does not have."""
    append, record = services.store.append, services.audit.answer

    async def append_without(*given: Any, audit: Sequence[bytes] = (), **options: Any) -> int:  # noqa: ARG001
        return await append(*given, **options)

    def switch(on: bool) -> None:
        services.store.append = append if on else append_without  # type: ignore[method-assign]
        services.audit.answer = record if on else lambda *_: b""  # type: ignore[method-assign]

    return switch


async def run(folder: Path, answers: int, rounds: int) -> dict[str, list[float]]:
    """Each round in the same sessions."""
    samples: dict[str, list[float]] = {"on": [], "off": [], "records": []}
    settings = Settings(engines={"mock": {"form": "stdio"}})
    environ = {**os.environ, "FOOTPLATE_MOCK_PACE_MS": "0"}
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(await SqliteStore.open(folder / "store"))
        keeper = await stack.enter_async_context(Keeper.start())
        services = Services(store, keeper, settings=settings, environ=environ, data=folder / "data")
        await stack.enter_async_context(keep_head(store.audit, folder, services.surroundings))
        hub = await stack.enter_async_context(Hub.open(services))
        switch = switch_off(services)
        spec = SessionSpec(engine="mock", cwd=str(folder))
        sessions = [await hub.create(spec) for _ in range(AT_ONCE)]
        for number, way in enumerate(order(1 + rounds)):
            switch(way == "on")
            begun = spent()
            await asyncio.gather(*(answer_turns(session, answers // AT_ONCE) for session in sessions))
            await asyncio.sleep(SETTLED_S)
            if number >= WARM_UP:
                samples[way].append(spent() - begun)
        samples["records"] = [float((await store.audit.head()).number)]
    return samples


def main(folder: str, answers: str, rounds: str) -> None:
    """Run and report."""
    print(json.dumps(asyncio.run(run(Path(folder), int(answers), int(rounds)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
