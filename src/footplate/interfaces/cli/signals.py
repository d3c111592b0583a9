"""Ctrl-C on a run: once asks the agent to stop, twice kills it; a SIGTERM kills at once."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from footplate.interfaces.cli.progress import Progress
from footplate.runtime.run import Run
from footplate.tasks import spawn

CANCELLED = 130
TERMINATED = 143


class Signals:
    """What was asked of us by signal while a run was on."""

    def __init__(self, run: Run, progress: Progress, task: asyncio.Task[object]) -> None:
        self._run = run
        self._progress = progress
        self._task = task
        self._stopping: asyncio.Task[None] | None = None
        self.exit_code: int | None = None

    def interrupt(self) -> None:
        """First time: in order. Second time: by force."""
        self.exit_code = CANCELLED
        if self._stopping is not None:
            self._task.cancel()
            return
        self._progress.note("interrupting (Ctrl-C again to kill)")
        self._stopping = spawn(self._run.interrupt(), name="interrupt")

    def terminate(self) -> None:
        """By force, at once."""
        self.exit_code = TERMINATED
        self._task.cancel()

    async def settle(self) -> None:
        """Leave no task behind."""
        if self._stopping is not None:
            self._stopping.cancel()
            await asyncio.wait((self._stopping,))


@asynccontextmanager
async def watch_signals(run: Run, progress: Progress) -> AsyncIterator[Signals]:
    """Take SIGINT and SIGTERM while the run is on, and give them back afterwards."""
    task = asyncio.current_task()
    if task is None:  # pragma: no cover - a coroutine always runs in a task here
        raise RuntimeError("watch_signals needs a task")
    signals = Signals(run, progress, task)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, signals.interrupt)
    loop.add_signal_handler(signal.SIGTERM, signals.terminate)
    try:
        yield signals
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)
        await signals.settle()
