"""A mailbox: work is done one piece after another, in the order in which it came, whoever asked."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

from footplate.errors import FootplateError
from footplate.tasks import spawn

log = logging.getLogger(__name__)
T = TypeVar("T")
Piece = Callable[[], Awaitable[None]]


class Mailbox:
    """Serialises what is asked of an actor. Exceptions go to whoever asked; the actor goes on."""

    def __init__(self, name: str) -> None:
        self.closed = False
        self._waiting: deque[Piece] = deque()
        self._at_work = False
        self._bell = asyncio.Event()
        self._task = spawn(self._serve(), name=name)

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

        self._put(piece)
        return await answer

    async def do_here(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do it in the caller's own task when it is its turn at once, else as `do` does. Not for who may be cancelled.

        It saves the way to another task and back: an agent's lines come one by one, and mostly nothing else waits.
        """
        if self.closed or self._at_work or self._waiting:
            return await self.do(work)
        self._at_work = True
        try:
            return await work()
        finally:
            self._at_work = False
            self._ring()

    def post(self, work: Callable[[], Awaitable[None]]) -> None:
        """Have it done in turn, with nobody waiting for it: as a timer does. What goes wrong is logged."""

        async def piece() -> None:
            try:
                await work()
            except FootplateError as problem:
                log.warning("%s: %s", self._task.get_name(), problem)

        if not self.closed:
            self._put(piece)

    async def close(self) -> None:
        """Do what waits, then stop. Again: nothing happens."""
        self.closed = True
        self._ring()
        await asyncio.wait((self._task,))

    def _put(self, piece: Piece) -> None:
        self._waiting.append(piece)
        self._ring()

    def _ring(self) -> None:
        """Wake the task, if there is something that it can do now."""
        if not self._at_work and (self._waiting or self.closed):
            self._bell.set()

    async def _serve(self) -> None:
        while self._waiting or self._at_work or not self.closed:
            if self._at_work or not self._waiting:
                self._bell.clear()
                await self._bell.wait()
                continue
            self._at_work = True
            try:
                await self._waiting.popleft()()
            finally:
                self._at_work = False
