"""Something that is opened: `await` it, or use it in an `async with` that also closes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from types import TracebackType
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    """What can be let go of."""

    async def dispose(self) -> None:
        """Let go."""
        ...


C = TypeVar("C", bound=Closable)


class Opening(Generic[C]):
    """The way to something open."""

    def __init__(self, begin: Callable[[], Awaitable[C]]) -> None:
        self._begin = begin
        self._made: C | None = None

    def __await__(self) -> Generator[object, None, C]:
        """Open it; whoever has it lets it go by `dispose()`."""
        return self._begin().__await__()

    async def __aenter__(self) -> C:
        """Open it for the block."""
        self._made = await self._begin()
        return self._made

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let it go."""
        if self._made is not None:
            await self._made.dispose()
