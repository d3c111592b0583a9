"""Who starts programs for the runtime: a keeper that goes with us, or the keepers that outlive us."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .child import Process
from .pipes import HIGH_WATER
from .spawn import Spawn


class Spawner(Protocol):
    """What the runtime asks of a keeper."""

    async def spawn(
        self,
        spec: Spawn,
        *,
        sweep_on_exit: bool = True,
        high_water: int = HIGH_WATER,
        make: Callable[..., Process] = Process,
    ) -> Process:
        """Start a program; raises `SpawnFailed`, or `KeeperGone` when there is no keeper to do it."""
        ...
