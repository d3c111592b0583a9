"""An event loop beside the caller's thread: what the client without `await` stands on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TypeVar

T = TypeVar("T")


class Loop:
    """An event loop in a thread; what is asked of it is waited for here."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="footplate sdk", daemon=True)
        self._thread.start()

    def wait(self, work: Awaitable[T]) -> T:
        """Until it is done. Ctrl-C stops it, too."""

        async def run() -> T:
            return await work

        future = asyncio.run_coroutine_threadsafe(run(), self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def do(self, make: Callable[[], T]) -> T:
        """Call something that must be called inside the loop."""

        async def run() -> T:
            return make()

        return self.wait(run())

    def read(self, source: AsyncIterator[T]) -> Iterator[T]:
        """Everything that comes, one after the other."""

        async def step() -> tuple[T] | None:
            try:
                return (await anext(source),)
            except StopAsyncIteration:
                return None

        while (found := self.wait(step())) is not None:
            yield found[0]

    def stop(self) -> None:
        """End the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
