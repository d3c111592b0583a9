"""A piece of work for a thread of the store, and how its outcome gets back to the caller on the loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Generic, Protocol, TypeVar, TypeVarTuple

from footplate.errors import FootplateError

T = TypeVar("T")
Subject = TypeVar("Subject")
Given = TypeVarTuple("Given")
_S_contra = TypeVar("_S_contra", contravariant=True)


class AnyOrder(Protocol[_S_contra]):
    """An order, whatever it gives back."""

    durable: bool
    size: int | None
    """About how many bytes it writes; None when that is not known."""
    error: Exception | None
    """Why it counts as not done."""

    @property
    def abandoned(self) -> bool:
        """Whether its caller was cancelled. From any thread."""

    def carry_out(self, subject: _S_contra) -> None:
        """Do it, in the thread. A refusal is kept for the caller; any other error is the thread's to deal with."""

    def fail(self, error: Exception) -> None:
        """It could not be done, or must count as not done."""

    def settle(self) -> None:
        """Tell the caller, on the loop."""


class Order(Generic[Subject, T]):
    """One call: an action, and what it takes beside its subject.

    The caller may be gone when it is done; that changes nothing for the work.
    """

    __slots__ = ("_action", "_future", "_given", "_result", "durable", "error", "size")

    def __init__(
        self,
        action: Callable[[Subject, *Given], T],
        given: tuple[*Given],
        future: asyncio.Future[T],
        *,
        durable: bool = False,
        size: int | None = None,
    ) -> None:
        self._action: Callable[..., T] = action
        self._given = given
        self._future = future
        self._result: T
        self.error: Exception | None = None
        self.durable = durable
        self.size = size

    @property
    def abandoned(self) -> bool:
        """Whether its caller was cancelled."""
        return self._future.cancelled()

    def carry_out(self, subject: Subject) -> None:
        """Do it (perhaps once more, after a rollback)."""
        self.error = None
        try:
            self._result = self._action(subject, *self._given)
        except FootplateError as refusal:
            self.error = refusal

    def fail(self, error: Exception) -> None:
        """Count as not done."""
        self.error = error

    def settle(self) -> None:
        """Tell the caller, if it still waits."""
        if self._future.done():
            return
        if self.error is not None:
            self._future.set_exception(self.error)
        else:
            self._future.set_result(self._result)


class Outbox(Generic[Subject]):
    """Orders that are done, on their way to their callers: one wake-up of the loop for all that are there by then.

    `count_done` is told on the loop how many they were.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, count_done: Callable[[int], None]) -> None:
        self._loop = loop
        self._count_done = count_done
        self._done: deque[AnyOrder[Subject]] = deque()
        self._called = False

    def put(self, order: AnyOrder[Subject]) -> None:
        """Send one on its way. From any thread."""
        self._done.append(order)
        if not self._called:
            self._called = True
            post(self._loop, self._empty)

    def _empty(self) -> None:
        """On the loop. What is put from here on calls again."""
        self._called = False
        count = 0
        while self._done:
            self._done.popleft().settle()
            count += 1
        self._count_done(count)


def settle_all(orders: Iterable[AnyOrder[Subject]]) -> None:
    """Tell every caller."""
    for order in orders:
        order.settle()


def post(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    """Run something on the loop. When the loop is closed, nobody is left who could be told."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(callback)
