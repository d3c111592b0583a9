"""Read, then wait for news and read again: what tails and waiting consumers do, on any store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

from footplate.store.bells import Bells
from footplate.store.values import JournalPage, Message, Stored


async def follow(
    bells: Bells,
    key: str,
    after: int,
    read: Callable[[int], Awaitable[list[Stored]]],
    is_full: Callable[[list[Stored]], bool],
) -> AsyncGenerator[Stored, None]:
    """Each event after a number, in order, once, for ever. A slow reader holds nothing up: it is only a cursor.

    `is_full`: there may be more than was read. If not, nothing is read again before the bell has rung, which listens
    since before the read.
    """
    while True:
        with bells.listen(key) as bell:
            full = True
            while full:
                rows = await read(after)
                full = is_full(rows)
                for row in rows:
                    yield row
                    after = row.seq
            await bell


async def follow_pages(
    bells: Bells, key: str, after: int, read: Callable[[int], Awaitable[JournalPage]]
) -> AsyncGenerator[JournalPage, None]:
    """Each page of a journal after a number that has entries or tells of lost ones, for ever; reads as `follow`."""
    while True:
        with bells.listen(key) as bell:
            full = True
            while full:
                page = await read(after)
                if page.entries or page.lost is not None:
                    yield page
                    after = page.entries[-1].number if page.entries else page.last
                full = after < page.last
            await bell


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
