"""Read, then wait for news and read again: what tails and waiting consumers do, on any store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

from footplate.store.bells import Bells
from footplate.store.values import JournalPage, Message, Stored


async def follow(
    bells: Bells, key: str, after: int, read: Callable[[int], Awaitable[list[Stored]]]
) -> AsyncGenerator[Stored, None]:
    """Each event after a number, in order, once, for ever. A slow reader holds nothing up: it is only a cursor."""
    while True:
        with bells.listen(key) as bell:
            rows = await read(after)
            if not rows:
                await bell
                continue
        for row in rows:
            yield row
            after = row.seq


async def follow_pages(
    bells: Bells, key: str, after: int, read: Callable[[int], Awaitable[JournalPage]]
) -> AsyncGenerator[JournalPage, None]:
    """Each page of a journal after a number that has entries or tells of lost ones, for ever."""
    while True:
        with bells.listen(key) as bell:
            page = await read(after)
            if not page.entries and page.lost is None:
                await bell
                continue
        yield page
        after = page.entries[-1].number if page.entries else page.last


async def wait_for_messages(
    bells: Bells,
    key: str,
    claim: Callable[[], Awaitable[list[Message]]],
    wait_s: Callable[[], Awaitable[float | None]],
) -> list[Message]:
    """What `claim` hands out, as soon as that is something: at a ring, or when the next message falls due."""
    while True:
        with bells.listen(key) as bell:
            claimed = await claim()
            if claimed:
                return claimed
            await asyncio.wait((bell,), timeout=await wait_s())
