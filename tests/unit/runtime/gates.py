"""A store and a machine whose calls a test holds up, lets fail, or counts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

from footplate.events.ids import SessionId
from footplate.events.model import Envelope
from footplate.runtime.surroundings import Bounds, Surroundings
from footplate.store.memory import MemoryStore
from footplate.store.values import Encoded, Lease, Stored

P = ParamSpec("P")
T = TypeVar("T")


class Gate:
    """Holds up calls from `shut` until `open`, or makes them fail; `reached` is set when one has come."""

    def __init__(self) -> None:
        self.calls = 0
        self.reached = asyncio.Event()
        self.problem: Exception | None = None
        self._way = asyncio.Event()
        self._way.set()

    def shut(self) -> None:
        self._way.clear()
        self.reached.clear()

    def open(self) -> None:
        self._way.set()

    async def walk(self) -> None:
        self.calls += 1
        self.reached.set()
        await self._way.wait()
        if self.problem is not None:
            raise self.problem


class GatedStore(MemoryStore):
    """A memory store with a gate before each of its slow calls."""

    def __init__(self) -> None:
        super().__init__()
        self.claiming = Gate()
        self.appending = Gate()
        self.deleting = Gate()
        self.reading = Gate()
        self.claims: Counter[SessionId] = Counter()
        self.broken: dict[SessionId, Exception] = {}
        """Sessions that cannot be claimed."""

    async def claim(self, session: SessionId) -> Lease:
        self.claims[session] += 1
        await self.claiming.walk()
        if session in self.broken:
            raise self.broken[session]
        return await super().claim(session)

    async def append(
        self,
        session: SessionId,
        epoch: int,
        expected_seq: int,
        events: Sequence[Envelope | Encoded],
        *,
        durable: bool = False,
        audit: Sequence[bytes] = (),
    ) -> int:
        await self.appending.walk()
        return await super().append(session, epoch, expected_seq, events, durable=durable, audit=audit)

    async def delete_session(self, session: SessionId, *, audit: Sequence[bytes] = ()) -> bool:
        await self.deleting.walk()
        return await super().delete_session(session, audit=audit)

    async def read(
        self, session: SessionId, after: int = 0, limit: int = 500, *, epoch: int | None = None
    ) -> list[Stored]:
        await self.reading.walk()
        return await super().read(session, after, limit, epoch=epoch)


class GatedMachine(Surroundings):
    """A machine whose disk a test holds up, and whose monotonic clock it sets forward."""

    def __init__(self, **bounds: float) -> None:
        super().__init__(Bounds(**bounds))  # type: ignore[arg-type]
        self.disk = Gate()
        self.ahead_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead_s

    async def blocking(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        await self.disk.walk()
        return await super().blocking(function, *args, **kwargs)
