"""A mailbox: work is done one piece after another, in the order in which it came, whoever asked."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from footplate.errors import FootplateError, StoreError
from footplate.tasks import spawn

log = logging.getLogger(__name__)
T = TypeVar("T")
OnFailure = Callable[[BaseException], None]


class Piece(msgspec.Struct, frozen=True):
    """One piece of work; `refuse` gives whoever waits for it an error in its place."""

    work: Callable[[], Awaitable[None]]
    refuse: Callable[[Exception], None]


class Mailbox:
    """Serialises what is asked of an actor.

    A `FootplateError` goes to whoever asked, and the actor goes on. Any other exception is a bug or a broken machine:
    whoever asked gets it, and `on_failure` is called, because nobody knows how far the piece came. The same holds for
    posted work that the store refuses: nobody else would try it again.
    """

    def __init__(self, name: str, on_failure: OnFailure | None = None) -> None:
        self.closed = False
        self._name = name
        self._on_failure = on_failure
        self._waiting: deque[Piece] = deque()
        self._current: Piece | None = None
        self._at_work = False
        self._bell = asyncio.Event()
        self._task = spawn(self._serve(), name=name, on_failure=self._failed)

    @property
    def idle(self) -> bool:
        """Whether nothing is being done and nothing waits."""
        return not self._at_work and not self._waiting

    async def do(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do it in its turn and return its result. Carried out even when the caller is cancelled meanwhile."""
        if self.closed:
            raise RuntimeError("the mailbox is closed")
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def refuse(problem: Exception) -> None:
            if not answer.done():
                answer.set_exception(problem)

        async def piece() -> None:
            try:
                result = await work()
            except FootplateError as problem:
                refuse(problem)
            except Exception as problem:
                refuse(problem)
                raise
            else:
                if not answer.done():
                    answer.set_result(result)

        self._put(Piece(piece, refuse))
        return await answer

    async def do_here(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do it in the caller's own task if the mailbox is idle, else as `do` does. Not for who may be cancelled.

        It saves the way to another task and back: an agent's lines come one by one, and mostly nothing else waits.
        """
        if self.closed or not self.idle:
            return await self.do(work)
        self._at_work = True
        try:
            return await work()
        finally:
            self._at_work = False
            self._ring()

    def post(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do it in its turn, with nobody waiting for it: as a timer does."""

        async def piece() -> None:
            try:
                await work()
            except StoreError:
                raise
            except FootplateError as problem:
                log.warning("%s: %s", self._name, problem)

        if not self.closed:
            self._put(Piece(piece, _nobody_waits))

    async def close(self) -> None:
        """Do what waits, then stop. A second call does nothing."""
        self.closed = True
        self._ring()
        await asyncio.wait((self._task,))

    async def abandon(self, problem: Exception) -> None:
        """Stop at once: what is being done is cancelled, and everybody who waits gets the problem."""
        self.closed = True
        left = [*([self._current] if self._current is not None else ()), *self._waiting]
        self._waiting.clear()
        for piece in left:
            piece.refuse(problem)
        if asyncio.current_task() is not self._task:
            self._task.cancel()
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
            self._current = self._waiting.popleft()
            try:
                await self._current.work()
            except Exception as problem:
                log.exception("%s: a piece of work failed", self._name)
                self._failed(problem)
            finally:
                self._current = None
                self._at_work = False

    def _failed(self, problem: BaseException) -> None:
        if self._on_failure is not None:
            self._on_failure(problem)


def _nobody_waits(_: Exception) -> None:
    pass
