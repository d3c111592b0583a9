"""The product's surroundings in the simulation: its clock, its ids, its threads, its locks, its memory, its marks."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from footplate.runtime.surroundings import Bounds, Surroundings
from tests.simulation.machine import SimLock, SimMark

if TYPE_CHECKING:
    from tests.simulation.world import World

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
P = ParamSpec("P")
T = TypeVar("T")


class SimSurroundings(Surroundings):
    """What one life of the service takes from its machine."""

    def __init__(self, world: World) -> None:
        plan = world.plan
        super().__init__(
            Bounds(
                reader_bytes=plan.buffer_bytes,
                page_rows=plan.page,
                sweep_s=plan.sweep_s,
                housekeeping_first_s=2.0,
                housekeeping_every_s=5.0,
            )
        )
        self._world = world

    def time(self) -> float:
        return self._world.wall()

    def monotonic(self) -> float:
        return self._world.loop.now

    def new_id(self) -> str:
        value = int(self._world.wall() * 1000) << 80 | self._world.chance.bits("ids", 80)
        return "".join(ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5))

    def new_uuid(self) -> str:
        text = f"{self._world.chance.bits('ids', 128):032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    async def blocking(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        await self._world.pause("slow_threads", "thread")
        return function(*args, **kwargs)

    def lock_on(self, folder: Path, key: str, what: str) -> SimLock:  # type: ignore[override]
        return SimLock(self._world.machine.locks, key)

    def memory_is_short(self) -> bool:
        return self._world.machine.short_of_memory

    def open_mark(self, data: Path, session: str) -> SimMark:  # type: ignore[override]
        return SimMark(self._world.machine.marks, session)

    def is_whole(self, data: Path, session: str) -> bool:
        return self._world.machine.marks.get(session) is False

    def forget_mark(self, data: Path, session: str) -> None:
        self._world.machine.marks.pop(session, None)


@contextmanager
def surrounded(world: World) -> Iterator[None]:
    """For the run of one world: the ids that the mock agent makes come from the plan's chance."""

    def token(nbytes: int | None = None) -> str:
        count = nbytes or 16
        return f"{world.chance.bits('ids', count * 8):0{count * 2}x}"

    before, secrets.token_hex = secrets.token_hex, token
    try:
        yield
    finally:
        secrets.token_hex = before
