"""The wire to an agent, whichever form it runs in: whole lines in both directions, and an end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol

from footplate.engines.base import Exit, InProcess, Launch, Spawn
from footplate.errors import EngineGone
from footplate.host import spawn as host_spawn
from footplate.host.lines import Block, LineSplitter
from footplate.host.process import Keeper, Process

CLOSE_WAIT_S = 2.0
TERM_WAIT_S = 3.0


class Wire(Protocol):
    """What the runner needs of an agent's process."""

    async def read(self) -> Block | None:
        """The next whole lines; None once the agent will not write any more."""
        ...

    async def write(self, data: bytes) -> None:
        """Hand whole lines to the agent. Raises `EngineGone` when it cannot take them."""
        ...

    def close_stdin(self) -> None:
        """Nothing more will be written."""
        ...

    async def end(self, *, close_wait: float = CLOSE_WAIT_S) -> Exit:
        """See the agent out: by itself within `close_wait`, then by force. Leaves nothing behind."""
        ...


async def open_wire(launch: Launch, keeper: Keeper) -> Wire:
    """Start the agent. Raises `SpawnFailed` when the operating system will not."""
    match launch:
        case Spawn():
            process = await keeper.spawn(
                host_spawn.Spawn(argv=launch.argv, env=dict(launch.env), cwd=launch.cwd, marker=None)
            )
            if not launch.stdin:
                process.close_stdin()
            return ProcessWire(process)
        case InProcess():
            return TaskWire(launch)


class ProcessWire:
    """An agent that is a child process of the keeper."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def read(self) -> Block | None:
        return await self._process.read()

    async def write(self, data: bytes) -> None:
        await self._process.write(data)

    def close_stdin(self) -> None:
        self._process.close_stdin()

    async def end(self, *, close_wait: float = CLOSE_WAIT_S) -> Exit:
        ended = await self._process.end(close_wait=close_wait, term_wait=TERM_WAIT_S)
        return Exit(code=ended.code, signal=ended.signal, reason=ended.describe(), stderr=self._process.stderr_tail())


class TaskWire:
    """An agent that is a task of this process, at the other end of two queues."""

    def __init__(self, launch: InProcess) -> None:
        self._inbox: asyncio.Queue[bytes | None] = asyncio.Queue(64)
        self._outbox: asyncio.Queue[bytes | None] = asyncio.Queue(64)
        self._splitter = LineSplitter()
        self._closing = asyncio.Event()
        self._ended = False
        self._task = asyncio.create_task(self._serve(launch), name="in-process agent")

    async def _serve(self, launch: InProcess) -> int:
        try:
            return await launch.serve(self._lines(), self._outbox.put)
        finally:
            self._ended = True
            await self._outbox.put(None)

    async def _lines(self) -> AsyncIterator[bytes]:
        while (line := await self._inbox.get()) is not None:
            yield line

    async def read(self) -> Block | None:
        chunk = await self._outbox.get()
        if chunk is None:
            self._outbox.put_nowait(None)
            last = self._splitter.finish()
            return last if last.lines or last.oversize else None
        return self._splitter.feed(chunk)

    async def write(self, data: bytes) -> None:
        if self._ended or self._closing.is_set():
            raise EngineGone("the in-process agent", "it has ended")
        for line in data.splitlines(keepends=True):
            await self._inbox.put(line)

    def close_stdin(self) -> None:
        if not self._closing.is_set():
            self._closing.set()
            # The queue may be full of unread lines; the end must not wait behind them.
            while self._inbox.full():
                self._inbox.get_nowait()
            self._inbox.put_nowait(None)

    async def end(self, *, close_wait: float = CLOSE_WAIT_S) -> Exit:
        self.close_stdin()
        await asyncio.wait((self._task,), timeout=close_wait)
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait((self._task,))
        if self._task.cancelled():
            return Exit(signal=15, reason="ended by us")
        problem = self._task.exception()
        if problem is not None:
            return Exit(code=1, reason=f"{type(problem).__name__}: {problem}")
        return Exit(code=self._task.result())
