"""A stream that may be left at any time: closed with its `async with`, with the client, or when nobody holds it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from types import TracebackType
from typing import Generic, Self, TypeVar
from weakref import WeakSet

from footplate.tasks import spawn

T = TypeVar("T")


class Streams:
    """The streams of one client, and those that are being closed."""

    def __init__(self) -> None:
        self._open: WeakSet[Stream[object]] = WeakSet()
        self._closing: set[asyncio.Task[None]] = set()

    def make(self, source: AsyncGenerator[T]) -> Stream[T]:
        """A stream over the source."""
        made = Stream(source, self)
        self._open.add(made)  # type: ignore[arg-type]
        return made

    def left(self, source: AsyncGenerator[T]) -> None:
        """Nobody holds the stream any more: close its source when there is time."""
        try:
            task = spawn(source.aclose(), name="close stream")
        except RuntimeError:
            return  # the loop is gone, and every connection with it
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close them all."""
        for stream in tuple(self._open):
            await stream.aclose()
        if self._closing:
            await asyncio.wait(self._closing)


class Stream(AsyncIterator[T], Generic[T]):
    """Iterate it for as long as you like. `aclose()` or `async with` ends it at once; leaving a loop does so soon."""

    def __init__(self, source: AsyncGenerator[T], streams: Streams) -> None:
        self._source = source
        self._streams = streams
        self._closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        return await anext(self._source)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End it."""
        self._closed = True
        await self._source.aclose()

    def __del__(self) -> None:
        if not self._closed:
            self._streams.left(self._source)
