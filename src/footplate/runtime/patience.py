"""Retrying writes that the store refuses for a while, where no caller would retry them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from footplate.errors import StoreError

RETRY_S: Final = 0.2
"""Between two tries."""

T = TypeVar("T")


async def patiently(
    work: Callable[[], Awaitable[T]], *, limit_s: float, refused: Callable[[StoreError], None] | None = None
) -> T:
    """Do the work, and again while the store refuses it with a retryable error, for at most `limit_s`.

    `refused` is called with every refusal that is followed by another try.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + limit_s
    while True:
        try:
            return await work()
        except StoreError as problem:
            if not problem.retryable or loop.time() >= until:
                raise
            if refused is not None:
                refused(problem)
        await asyncio.sleep(RETRY_S)
