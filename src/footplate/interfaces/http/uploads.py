"""Bodies on their way to the disk: gathered into large pieces, written in a thread while the next ones come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from footplate.interfaces.http.call import Call
from footplate.tasks import spawn

PIECE: Final = 1024 * 1024
"""How much is gathered for one write: two of these are the most that an upload holds in memory."""


async def pour(call: Call, take: Callable[[bytes], None]) -> None:
    """Give the body to `take`, in order, in a thread. What it raises is raised here; it is never left running."""
    writing: asyncio.Task[None] | None = None
    pieces: list[bytes] = []
    size = 0
    try:
        async for piece in call.stream():
            pieces.append(piece)
            size += len(piece)
            if size >= PIECE:
                if writing is not None:
                    await asyncio.shield(writing)
                writing = _write(take, pieces)
                pieces, size = [], 0
        if writing is not None:
            await asyncio.shield(writing)
        if pieces:
            writing = _write(take, pieces)
            await asyncio.shield(writing)
    finally:
        if writing is not None and not writing.done():
            await asyncio.wait((writing,))
        if writing is not None and not writing.cancelled():
            writing.exception()  # it was raised above, or something else was first


def _write(take: Callable[[bytes], None], pieces: list[bytes]) -> asyncio.Task[None]:
    return spawn(asyncio.to_thread(take, b"".join(pieces)), name="upload", awaited=True)
