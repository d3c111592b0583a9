"""One life of the service: its store, its hub and its tasks, as a node that starts, stops in order, or is killed."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from contextvars import Context, copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from footplate.config.retention import RetentionSettings
from footplate.config.rules import Rule
from footplate.config.settings import RuntimeSettings, Settings
from footplate.errors import StoreBusy, StoreFailed
from footplate.runtime.hub import Hub
from footplate.runtime.service import open_runtime
from footplate.runtime.services import Services
from tests.simulation.doors import Doors
from tests.simulation.keeper import SimKeepers
from tests.simulation.loop import NODE
from tests.simulation.store import SimStore, busy, full
from tests.simulation.surround import SimSurroundings

if TYPE_CHECKING:
    from tests.simulation.world import World

FILES: Final = tempfile.TemporaryDirectory(prefix="footplate-simulation-")
"""Where a chat puts the file that it sends in place of a long answer: the one thing that is really written to disk."""


class Weather:
    """The store's behaviour after the plan."""

    def __init__(self, world: World, life: Life) -> None:
        self._world = world
        self._life = life

    def queue_s(self, kind: str) -> float:
        return self._world.delay("slow_store", f"queue {kind}")

    def acknowledge_s(self, kind: str) -> float:
        return self._world.delay("slow_store", f"acknowledge {kind}")

    def read_s(self, kind: str) -> float:
        return self._world.delay("slow_reads", f"read {kind}")

    def refuses(self, kind: str) -> StoreFailed | StoreBusy | None:
        world = self._world
        if world.faults_over:
            return None
        plan = world.plan
        if plan.full_from is not None and plan.full_from <= world.loop.now < plan.full_from + plan.full_for:
            return full()
        if world.chance.yes(f"busy {kind}", world.strength("busy", 0.08)):
            return busy()
        return None

    def page(self, limit: int) -> int:
        return min(limit, self._world.plan.page)


class CrashingStore(SimStore):
    """A store that tells the world of each write, between its effect and its acknowledgement."""

    def __init__(self, world: World, life: Life) -> None:
        super().__init__(world.machine.disk, Weather(world, life))
        self._world = world
        self._life = life

    async def _carry_out(self, order: Any) -> None:
        world = self._world
        await super()._carry_out(order)
        world.writes += 1
        crash = world.crash_at_write
        if crash is not None and world.writes >= crash.at_write and not world.faults_over:
            world.crash_at_write = None
            world.begin_crash(crash)
            if self._life.killed.done():
                await world.loop.create_future()


class Life:
    """One life of the service: a node, from its start to its end or its crash."""

    def __init__(self, world: World, number: int) -> None:
        self._world = world
        self.node = f"service-{number}"
        self.context: Context = copy_context()
        self.context.run(NODE.set, self.node)
        self.calls: dict[int, asyncio.Task[None]] = {}
        self.hub: Hub | None = None
        self._stack = AsyncExitStack()
        self.store: SimStore | None = None
        self.up = False
        self.killed: asyncio.Future[None] = world.loop.create_future()
        self.started = self.spawn(self._start(), name="start")

    def spawn(self, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
        """A task of this life."""
        return self._world.loop.create_task(work, name=name, context=self.context.copy())

    async def _start(self) -> None:
        world, plan = self._world, self._world.plan
        self.store = CrashingStore(world, self)
        runtime = RuntimeSettings(
            idle_s=plan.idle_s,
            request_timeout_s=plan.request_timeout_s,
            ask_again_s=2.0,
            resume_at_reset=1,
            reattach_grace_s=plan.grace_s,
        )
        # Longer than any jump of the clock: the checks compare what clients have with the whole journal.
        retention = RetentionSettings(journal_days=30.0, connection_days=30.0)
        keepers: Any = SimKeepers(world, self, world.keeper)
        services = Services(
            self.store,
            keepers,
            settings=Settings(runtime=runtime, retention=retention),
            environ={"HOME": "/nonexistent"},
            data=Path(FILES.name),
            rules=(Rule(tool="*", decision="allow"),) if plan.rules else (Rule(tool="none", decision="ask"),),
            keepers=keepers if plan.keep else None,
            surroundings=SimSurroundings(world),
        )
        services.bulletin.subscribe(world.hear)
        try:
            opened = open_runtime(services, engine_of=lambda name, _: world.engine(name), is_folder=lambda _: True)
            self.hub = (await self._stack.enter_async_context(opened)).hub
        except Exception as problem:  # noqa: BLE001 - judged, whatever it is
            world.log("start", f"failed: {problem}")
            if not isinstance(problem, StoreBusy | StoreFailed):
                world.fail("start_fails", f"{type(problem).__name__}: {problem}", problem)
            return
        self.doors = Doors(world, self, services, self.hub)
        self._stack.push_async_callback(self.doors.close)
        self.up = True

    async def stop(self, *, doors_first: bool) -> None:
        """End in order, as the product does at SIGTERM; `doors_first`: calls that run may end before.

        It may be killed meanwhile.
        """
        self.up = False
        await self._reach(self.started, 60.0)
        if doors_first:
            for task in tuple(self.calls.values()):
                await self._reach(task, 10.0)
        for task in tuple(self.calls.values()):
            task.cancel()
        if not self.killed.done() and not await self._reach(self.spawn(self._close(), name="stop"), 60.0):
            self._world.fail("stop_hangs", "the service does not end within 60 s")

    async def _reach(self, task: asyncio.Task[None], patience_s: float) -> bool:
        """Wait for a task of this life; False when it takes too long."""
        done, _ = await asyncio.wait((task, self.killed), timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)

    async def _close(self) -> None:
        if self.hub is not None and self._world.faults_over:
            self.hub.leaving = False
        await self._stack.aclose()
        await asyncio.sleep(0.5)
        if self.store is not None:
            await self.store.close()
