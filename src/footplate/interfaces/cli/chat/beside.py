"""Two things at a time: events are shown while lines are read, until one of the two is over."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from footplate.tasks import spawn

T = TypeVar("T")


async def talk_beside(events: Coroutine[None, None, None], talk: Coroutine[None, None, T]) -> T | None:
    """What the talk comes to; None when the events ended first. Whatever either raises is raised."""
    showing = spawn(events, name="events", awaited=True)
    talking = spawn(talk, name="talk", awaited=True)
    try:
        await asyncio.wait((showing, talking), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (showing, talking):
            task.cancel()
        await asyncio.wait((showing, talking))
    if not showing.cancelled():
        showing.result()
    return None if talking.cancelled() else talking.result()
