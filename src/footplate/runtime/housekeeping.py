"""Work that a service does from time to time: removing expired data, and what other parts register.

One task runs everything, one small step after another, with pauses in which others use the store. A step that fails is
logged once and tried again the next time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from footplate.config.retention import RetentionSettings
from footplate.errors import StoreClosed, StoreError
from footplate.runtime.audit import DAY_S, Audit
from footplate.runtime.surroundings import Bounds
from footplate.store.base import Store
from footplate.store.values import RetentionPolicy
from footplate.tasks import Tasks

Step = Callable[[], Awaitable[bool]]
"""Does a little, and says whether there is more to do right now."""

PAUSE_S: Final = 0.1
"""Between two steps of a job."""

STEPS: Final = 1_000
"""A job that has more to do than this continues the next time, so that it does not keep the others waiting."""

BUDGET: Final = 100
"""How many rows and pages one step of retention removes at most: appends wait for it, a few milliseconds.

A large row counts as several.
"""

MB: Final = 1024 * 1024

log = logging.getLogger(__name__)


class Job(msgspec.Struct, eq=False):
    """A job, how often it is run, and when the next time is."""

    name: str
    step: Step
    every_s: float
    due: float = 0.0
    failing: bool = False


class Housekeeping:
    """The periodic jobs of one service. Register jobs at any time; they run between `start` and `close`."""

    def __init__(self, bounds: Bounds) -> None:
        self._first_s = bounds.housekeeping_first_s
        self._every_s = bounds.housekeeping_every_s
        self._jobs: list[Job] = []
        self._wake = asyncio.Event()
        self._tasks = Tasks()

    def add(self, name: str, step: Step, *, every_s: float | None = None) -> Callable[[], None]:
        """Register a job. Returns a function that unregisters it; a step that runs then still ends."""
        job = Job(name, step, every_s or self._every_s)
        self._jobs.append(job)
        self._wake.set()

        def remove() -> None:
            if job in self._jobs:
                self._jobs.remove(job)

        return remove

    def hurry(self) -> None:
        """Run all jobs now: much was stored since they ran."""
        for job in self._jobs:
            job.due = 0.0
        self._wake.set()

    def start(self) -> None:
        """Begin; the first step comes some time later."""
        self._tasks.spawn(self._run(), name="housekeeping")

    async def close(self) -> None:
        """End. The next service does the rest."""
        await self._tasks.cancel()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self._first_s)
        while True:
            self._wake.clear()
            for job in tuple(self._jobs):
                if job.due <= loop.time() and job in self._jobs:
                    job.due = loop.time() + job.every_s
                    await self._do(job)
            due = min((job.due for job in self._jobs), default=loop.time() + self._every_s)
            try:
                async with asyncio.timeout_at(due):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _do(self, job: Job) -> None:
        try:
            for _ in range(STEPS):
                if not await job.step():
                    break
                await asyncio.sleep(PAUSE_S)
        except StoreClosed:
            return
        except StoreError as problem:
            if not job.failing:
                log.warning("%s: %s; tried again in %g s", job.name, problem, job.every_s)
            job.failing = True
        except Exception:
            if not job.failing:
                log.exception("%s failed; tried again in %g s", job.name, job.every_s)
            job.failing = True
        else:
            job.failing = False


def policy_of(settings: RetentionSettings) -> RetentionPolicy:
    """What the store may remove, as the operator has it."""
    closed = settings.closed_sessions_days
    return RetentionPolicy(
        frames_age_s=settings.frames_days * DAY_S,
        frames_bytes=settings.frames_mb * MB,
        journal_age_s=settings.journal_days * DAY_S,
        journal_bytes=settings.journal_mb * MB,
        closed_sessions_age_s=None if closed is None else closed * DAY_S,
        queue_done_age_s=settings.queue_days * DAY_S,
    )


def retention_step(store: Store, audit: Audit, settings: Callable[[], RetentionSettings]) -> Step:
    """A step that removes expired rows from the store; the settings are read each time."""

    async def step() -> bool:
        policy = policy_of(settings())
        return (await store.retain(policy, BUDGET, record=audit.expired_session)).more

    return step


def audit_step(audit: Audit, settings: Callable[[], RetentionSettings]) -> Step:
    """A step that removes expired audit records; the settings are read each time."""

    async def step() -> bool:
        days = settings().audit_days
        return days is not None and await audit.tidy(days * DAY_S, BUDGET) > 0

    return step
