"""The wire to an agent, whichever form it runs in: whole lines in both directions, and an end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Protocol

from footplate.engines.base import Exit, InProcess, Launch, Spawn
from footplate.errors import EngineGone, EngineRefused
from footplate.events.model import LimitReached
from footplate.host import spawn as host_spawn
from footplate.host.child import Process
from footplate.host.confinement import confine
from footplate.host.lines import Block, LineSplitter
from footplate.host.resources import BELOW_THE_SERVICE, Excess, ResourceLimits, Tree
from footplate.host.sandbox import LAYERS, Sandbox
from footplate.host.spawner import Spawner
from footplate.host.table import LINUX
from footplate.runtime.memory import TreeWatch
from footplate.tasks import spawn

CLOSE_WAIT_S = 2.0
TERM_WAIT_S = 3.0
NO_LIMITS = ResourceLimits()


class Kept(Protocol):
    """An agent's process as a keeper has it that may outlive us: `host.child.Process`."""

    @property
    def id(self) -> str:
        """The keeper's name of it."""
        ...

    @property
    def direct(self) -> bool:
        """Whether what was kept of its output is read."""
        ...

    def note(self, *, kept: bool | None = None, waiting: bool | None = None, **about: str) -> None:
        """Whether it is to outlive us, whether it waits for an answer, what it is for."""
        ...

    @property
    def emptied(self) -> bool:
        """Whether all that was read was given to who reads."""
        ...

    def tell_reads(self, before: Callable[[], None], nothing: Callable[[], None]) -> None:
        """Have the one called each time before the agent's output is read, the other when there was none."""
        ...

    def hold(self, lock: int) -> None:
        """Have the keeper hold the lock with that descriptor as long as the agent lives."""
        ...

    def settle(self) -> None:
        """All that was read is stored."""
        ...

    def release(self) -> None:
        """Nothing of it is needed any more."""
        ...

    def stop_reading(self) -> None:
        """Nothing further is read."""
        ...

    def leave(self) -> None:
        """Let go of it; it goes on."""
        ...


class Wire(Protocol):
    """What the runner needs of an agent's process."""

    @property
    def gone(self) -> bool:
        """Whether the agent has ended, whatever of its output is still to be read."""
        ...

    async def read(self) -> Block | None:
        """The next whole lines; None once the agent will not write any more."""
        ...

    async def write(self, data: bytes) -> None:
        """Hand whole lines to the agent. Raises `EngineGone` when it cannot take them."""
        ...

    def write_now(self, data: bytes) -> bool:
        """Hand whole lines to the agent if it takes them at once. False when nothing was written: `write` waits."""
        ...

    def close_stdin(self) -> None:
        """Nothing more will be written."""
        ...

    def listen_errors(self, take: Callable[[bytes], None]) -> None:
        """Pass on what the agent writes to stderr: what was read so far, then each chunk as it is read."""
        ...

    async def end(self, *, close_wait: float | None = CLOSE_WAIT_S) -> Exit:
        """See the agent out: by itself within `close_wait`, then by force. Leaves nothing behind.

        With None by force at once, and without closing its stdin first: it may wait for an answer.
        """
        ...

    @property
    def kept(self) -> Kept | None:
        """What the keeper can be told of it; None where no keeper has it."""
        ...


async def open_wire(
    launch: Launch, keeper: Spawner, *, sandbox: Sandbox | None = None, limits: ResourceLimits = NO_LIMITS
) -> Wire:
    """Start the agent: in a sandbox and held to limits, where that is asked for.

    Raises `SpawnFailed` when the operating system will not, `EngineRefused` when there can be no sandbox or no limit.
    An agent inside our own process has neither.
    """
    match launch:
        case Spawn():
            process = await keeper.spawn(await asyncio.to_thread(_confined, launch, sandbox, limits))
            if not launch.stdin:
                process.close_stdin()
            return ProcessWire(process, limits)
        case InProcess():
            return TaskWire(launch)


def _confined(launch: Spawn, sandbox: Sandbox | None, limits: ResourceLimits) -> host_spawn.Spawn:
    """What the host is asked for; a sandbox is looked up on disk, so this is not for the loop."""
    if limits.watched and not LINUX:
        raise EngineRefused(launch.argv[0], "memory, CPU and processes can be limited on Linux only", "drop the limit")
    argv = launch.argv
    if sandbox is not None:
        argv = confine(argv, sandbox=sandbox, env=launch.env, cwd=launch.cwd, writes=launch.writes, reads=launch.reads)
    return host_spawn.Spawn(
        argv=argv,
        env=dict(launch.env),
        cwd=launch.cwd,
        limits=limits.kernel_limits(),
        oom_score_adj=BELOW_THE_SERVICE,
        layers=0 if sandbox is None else LAYERS,
    )


class ProcessWire:
    """An agent that is a child process of the keeper, held to its limits as long as it runs."""

    def __init__(self, process: Process, limits: ResourceLimits = NO_LIMITS) -> None:
        self._process = process
        self._over: tuple[Excess, ...] = ()
        tree = Tree(process.pid, process.marker, layers=process.layers)
        self._watch = TreeWatch(tree, limits, self._stop) if limits.watched else None

    async def _stop(self, excess: Excess) -> None:
        """It is over a limit: nothing of it goes on, and the agent is ended in order."""
        self._over = (excess,)
        await self._process.end(close_wait=0.0, term_wait=TERM_WAIT_S)

    @property
    def gone(self) -> bool:
        return self._process.exit is not None

    @property
    def kept(self) -> Kept | None:
        return self._process

    async def read(self) -> Block | None:
        return await self._process.read()

    async def write(self, data: bytes) -> None:
        await self._process.write(data)

    def write_now(self, data: bytes) -> bool:
        return self._process.write_now(data)

    def close_stdin(self) -> None:
        self._process.close_stdin()

    def listen_errors(self, take: Callable[[bytes], None]) -> None:
        self._process.listen_errors(take)

    async def end(self, *, close_wait: float | None = CLOSE_WAIT_S) -> Exit:
        ended = await self._process.end(close_wait=close_wait, term_wait=TERM_WAIT_S)
        if self._watch is not None:
            await self._watch.close()
        told = tuple(
            LimitReached(kind="other", status="reached", name=each.name, text=each.text) for each in self._over
        )
        return Exit(
            code=ended.code,
            signal=ended.signal,
            reason="; ".join(f"it was stopped: {each.text}" for each in self._over) or ended.describe(),
            stderr=self._process.stderr_tail(),
            limits=told,
        )


class TaskWire:
    """An agent that is a task of this process, at the other end of two queues."""

    def __init__(self, launch: InProcess) -> None:
        self._inbox: asyncio.Queue[bytes | None] = asyncio.Queue(64)
        self._outbox: asyncio.Queue[bytes | None] = asyncio.Queue(64)
        self._splitter = LineSplitter()
        self._closing = asyncio.Event()
        self._ended = False
        self._task = spawn(self._serve(launch), name="in-process agent", awaited=True)
        self._task.add_done_callback(self._on_end)  # not a `finally`: a task that is cancelled first never runs it

    @property
    def gone(self) -> bool:
        return self._ended

    @property
    def kept(self) -> Kept | None:
        return None

    async def _serve(self, launch: InProcess) -> int:
        return await launch.serve(self._lines(), self._outbox.put)

    def _on_end(self, _: asyncio.Task[int]) -> None:
        self._ended = True
        if self._outbox.empty():
            self._outbox.put_nowait(None)

    async def _lines(self) -> AsyncIterator[bytes]:
        while (line := await self._inbox.get()) is not None:
            yield line

    async def read(self) -> Block | None:
        chunk = await self._outbox.get()
        if self._ended and self._outbox.empty():
            self._outbox.put_nowait(None)
        if chunk is None:
            last = self._splitter.finish()
            return last if last.lines or last.oversize else None
        return self._splitter.feed(chunk)

    async def write(self, data: bytes) -> None:
        if self._ended or self._closing.is_set():
            raise EngineGone("the in-process agent", "it has ended")
        for line in data.splitlines(keepends=True):
            await self._inbox.put(line)

    def write_now(self, data: bytes) -> bool:
        lines = data.splitlines(keepends=True)
        if self._ended or self._closing.is_set() or self._inbox.qsize() + len(lines) > self._inbox.maxsize:
            return False
        for line in lines:
            self._inbox.put_nowait(line)
        return True

    def listen_errors(self, take: Callable[[bytes], None]) -> None:
        """A task has no stderr."""

    def close_stdin(self) -> None:
        if not self._closing.is_set():
            self._closing.set()
            # The queue may be full of unread lines; the end must not wait behind them.
            while self._inbox.full():
                self._inbox.get_nowait()
            self._inbox.put_nowait(None)

    async def end(self, *, close_wait: float | None = CLOSE_WAIT_S) -> Exit:
        self.close_stdin()
        await asyncio.wait((self._task,), timeout=close_wait or 0.0)
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait((self._task,))
        if self._task.cancelled():
            return Exit(signal=15, reason="ended by us")
        problem = self._task.exception()
        if problem is not None:
            return Exit(code=1, reason=f"{type(problem).__name__}: {problem}")
        return Exit(code=self._task.result())
