"""Warm turns of a session of ours: hub, session, store in a file, one reader; if asked, with a long past."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.contenders.idle import open_hub
from bench.contenders.turns import SETTLED_S, Clock, prompts
from footplate.events.ids import MessageId, SessionId, ToolCallId
from footplate.events.model import Envelope, Event, Message, StateChanged, ToolEnded, ToolStarted, TurnEnded
from footplate.runtime.hub import Hub
from footplate.runtime.log import Subscription
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from footplate.store.sqlite import SqliteStore

TEXT: Final = "x" * 200
PAGE: Final = 500


def past(items: int) -> Iterator[Event]:
    """Events that leave so many items in the view: messages and calls of tools by turns."""
    for number in range(items):
        if number % 2:
            yield Message(message=MessageId(f"old-{number}"), part=0, text=TEXT)
        else:
            call = ToolCallId(f"old-{number}")
            yield ToolStarted(call=call, name="Read", kind="read", title="Read a file")
            yield ToolEnded(call=call, ok=True, outcome="completed")


async def remember(folder: Path, session: SessionId, items: int) -> None:
    """Put a long past into the store, while no hub has it open."""
    async with await SqliteStore.open(folder / "store") as store:
        lease = await store.claim(session)
        seq = lease.last_seq
        events = list(past(items))
        for first in range(0, len(events), PAGE):
            page = [
                Envelope(seq=number, time=1.7e9, session=session, epoch=lease.epoch, event=event)
                for number, event in enumerate(events[first : first + PAGE], seq + 1)
            ]
            seq = await store.append(session, lease.epoch, seq, page)


async def open_session(folder: Path, items: int) -> SessionId:
    """A new session, with its past."""
    async with open_hub(folder) as hub:
        session = (await hub.create(SessionSpec(engine="claude", cwd=str(Path.cwd())))).id
    if items:
        await remember(folder, session, items)
    return session


async def until_idle(reader: Subscription) -> None:
    """Take all events until the turn has ended and the session says that it is idle."""
    ended = False
    async for delivery in reader:
        event = delivery.envelope().event
        if isinstance(event, TurnEnded):
            ended = True
            if not event.ok:
                raise SystemExit(f"the turn failed: {event.error}")
        if ended and isinstance(event, StateChanged) and event.state == "idle":
            return


async def turn(session: Session, reader: Subscription, prompt: str) -> None:
    """One turn, and what it took."""
    clock = Clock()
    await session.prompt(prompt)
    await until_idle(reader)
    clock.turn_ended()
    await asyncio.sleep(SETTLED_S)
    clock.report()


async def serve(hub: Hub, session: SessionId) -> None:
    """Turns for as long as prompts come."""
    live = await hub.get(session)
    reader = live.subscribe(live.view().last_seq)
    asked = prompts()
    while (prompt := await asyncio.to_thread(next, asked, None)) is not None:
        await turn(live, reader, prompt)


async def run(folder: Path, items: int) -> None:
    """All of it."""
    session = await open_session(folder, items)
    async with open_hub(folder) as hub:
        await serve(hub, session)


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), int(sys.argv[2])))
