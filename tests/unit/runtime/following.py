"""Following a session in a test: wait for what must come, collect what came."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from footplate.events.ids import RequestId
from footplate.events.model import (
    Envelope,
    Event,
    RequestOpened,
    SessionState,
    StateChanged,
    TurnEnded,
    WaitingFor,
)
from footplate.runtime.session import Session

E = TypeVar("E")


async def until(session: Session, wanted: Callable[[Event], bool], *, after: int = 0) -> list[Event]:
    """Every event up to the first one that is wanted."""
    seen: list[Event] = []
    reader = session.subscribe(after)
    try:
        async with asyncio.timeout(60):
            async for delivery in reader:
                event = delivery.envelope().event
                seen.append(event)  # type: ignore[arg-type]
                if wanted(event):  # type: ignore[arg-type]
                    return seen
    finally:
        reader.close()
    raise AssertionError(f"never came; saw {seen}")


async def until_ended(session: Session, *, after: int = 0) -> TurnEnded:
    """The end of the next turn."""
    events = await until(session, lambda event: isinstance(event, TurnEnded), after=after)
    assert isinstance(events[-1], TurnEnded)
    return events[-1]


async def until_asked(session: Session, *, after: int = 0) -> RequestId:
    """The next request."""
    events = await until(session, lambda event: isinstance(event, RequestOpened), after=after)
    assert isinstance(events[-1], RequestOpened)
    return events[-1].request.id


async def until_idle(session: Session) -> None:
    """The session has nothing to do."""
    view = session.view()
    if view.state not in ("idle", "interrupted"):
        done = ("idle", "interrupted")
        await until(session, lambda event: isinstance(event, StateChanged) and event.state in done, after=view.last_seq)


async def until_state(session: Session, state: SessionState, waiting_for: WaitingFor = "") -> None:
    """The session is in this state, now or soon."""
    view = session.view()
    if (view.state, view.waiting_for) != (state, waiting_for):
        wanted = (state, waiting_for)
        await until(
            session,
            lambda event: isinstance(event, StateChanged) and (event.state, event.waiting_for) == wanted,
            after=view.last_seq,
        )


async def whole_log(session: Session) -> list[Envelope]:
    """Every durable event so far."""
    reader = session.subscribe(0)
    last = session.view().last_seq
    found: list[Envelope] = []
    async for delivery in reader:
        found.append(delivery.envelope())  # type: ignore[arg-type]
        if delivery.seq >= last:
            break
    reader.close()
    return found
