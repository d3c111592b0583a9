"""A mailbox: work is done one piece after another, in the order in which it came, whoever asked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from footplate.errors import FootplateError

log = logging.getLogger(__name__)
T = TypeVar("T")


class Mailbox:
    """Serialises what is asked of an actor. Exceptions go to whoever asked; the actor goes on."""

    def __init__(self, name: str) -> None:
        self._work: asyncio.Queue[Callable[[], Awaitable[None]] | None] = asyncio.Queue()
        self._task = asyncio.create_task(self._serve(), name=name)
        self.closed = False

    async def do(self, work: Callable[[], Awaitable[T]]) -> T:
        """Have it done in turn; gives back what it gives. Carried out even when the caller is cancelled meanwhile."""
        if self.closed:
            raise RuntimeError("the mailbox is closed")
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        async def piece() -> None:
            try:
                result = await work()
            except Exception as problem:  # noqa: BLE001 - it belongs to whoever asked, whatever it is
                if not answer.done():
                    answer.set_exception(problem)
            else:
                if not answer.done():
                    answer.set_result(result)

        self._work.put_nowait(piece)
        return await answer

    def post(self, work: Callable[[], Awaitable[None]]) -> None:
        """Have it done in turn, with nobody waiting for it: as a timer does. What goes wrong is logged."""

        async def piece() -> None:
            try:
                await work()
            except FootplateError as problem:
                log.warning("%s: %s", self._task.get_name(), problem)

        if not self.closed:
            self._work.put_nowait(piece)

    async def close(self) -> None:
        """Do what waits, then stop. Again: nothing happens."""
        if not self.closed:
            self.closed = True
            self._work.put_nowait(None)
        await asyncio.wait((self._task,))

    async def _serve(self) -> None:
        while (piece := await self._work.get()) is not None:
            await piece()
