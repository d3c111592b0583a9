"""One process that a client started: what is known of it, its output, its input, its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable
from typing import Final, Literal

import msgspec

from footplate.errors import Conflict, EngineGone, InputTooLarge
from footplate.host.pty import Replay
from footplate.host.raw import RawProcess, Stream
from footplate.host.spawn import Exit
from footplate.host.sweep import sweep_marked
from footplate.host.table import kill_exactly, look, open_pidfd
from footplate.runtime.output import Output
from footplate.runtime.output_file import OutputFile
from footplate.tasks import spawn

INPUT_WAIT: Final = 1.0
"""How long a call waits for a process to take its input; after that the input waits by itself."""
INPUT_HELD: Final = 16
"""How many inputs of the largest size may wait."""
LOOK_AGAIN: Final = 0.2
HANG_UPS: Final = (0.3, 1.0, 3.0)
"""How long after one hang-up the next comes, as long as the process runs."""

ABOUT: Final = "process"
"""Under this name the keeper is told which process of the table a program is."""

Owner = Literal["user", "desktop", "system"]
State = Literal["running", "exited"]


class ChildInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What is known of a process. One that a signal ended has no exit code.

    `lost`: it ran when an earlier service ended and was not kept; what it said since, and its exit code, are not known.
    """

    id: str
    command: str
    args: tuple[str, ...]
    tty: bool
    interactive: bool
    owner: Owner
    status: State
    created_at_ms: int
    cwd: str | None = None
    pid: int | None = None
    exit_code: int | None = None
    exited_at_ms: int | None = None
    lost: bool = False


class ChildRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A process as the store has it: enough to find it again, and everything that it started."""

    info: ChildInfo
    pid: int
    start_time: int
    marker: str


class Child:
    """A process. `output` stays when it has ended."""

    def __init__(
        self,
        info: ChildInfo,
        *,
        max_log_bytes: int,
        replay_bytes: int,
        size: tuple[int, int] = (24, 80),
        file: OutputFile | None = None,
        on_end: Callable[[Child], None] = lambda _: None,
    ) -> None:
        self.info = info
        self.output = Output(max_log_bytes)
        self.replay = Replay(replay_bytes) if info.tty else None
        self.size = size
        self._file = file
        self._remembered = False
        self.marker = ""
        self.start_time = 0
        self._pid = 0
        self._on_end = on_end
        self._process: RawProcess | None = None
        self._over = asyncio.Event()
        self._watch: asyncio.Task[None] | None = None
        self._inputs: set[asyncio.Task[None]] = set()
        self._held = 0

    # ------------------------------------------------------------------------------------------- its life

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self.info.status == "running"

    def take(self, stream: Stream, data: bytes) -> None:
        """It has said something."""
        piece = self.output.add(stream, data, int(time.time() * 1000))
        if self._file is not None:
            self._file.add(piece)
        if self.replay is not None:
            self.replay.feed(data)

    def remember(self) -> None:
        """Read what an earlier service has heard of it, once."""
        if self._remembered or self._file is None:
            return
        self._remembered = True
        pieces = self._file.read()
        self.output.restore(pieces)
        if self.replay is not None:
            for piece in pieces:
                self.replay.feed(piece.data)

    def begin(self, process: RawProcess) -> None:
        """It was started, or taken over: then what it said meanwhile comes first."""
        self._remembered = True
        self._process = process
        if self.info.tty and process.exit is None:
            self.size = process.size
        self.marker, self.start_time, self._pid = process.marker, process.start_time, process.pid
        self.info = msgspec.structs.replace(self.info, pid=process.pid)
        self._watch = spawn(self._see_out(process), name=f"child {self.info.id}")

    def find(self, record: ChildRecord) -> None:
        """It was started by an earlier service: see whether it still runs. We have no hand on its output or input."""
        self.marker, self.start_time, self._pid = record.marker, record.start_time, record.pid
        if self._found():
            self.info = msgspec.structs.replace(self.info, lost=True)
            self._watch = spawn(self._see_found_out(), name=f"child {self.info.id}")
        else:
            self._end(Exit(), lost=True)

    def record(self) -> ChildRecord:
        """What the store is to have of it."""
        return ChildRecord(info=self.info, pid=self._pid, start_time=self.start_time, marker=self.marker)

    async def _see_out(self, process: RawProcess) -> None:
        ended = await process.wait()
        at = int(time.time() * 1000)
        await process.drained()
        if not process.left:
            self._end(ended, at=at, lost=ended.code is None and ended.signal is None)

    async def _see_found_out(self) -> None:
        """Wait for the end of a process that is not ours to wait for."""
        loop = asyncio.get_running_loop()
        gone = asyncio.Event()
        fd = open_pidfd(self._pid)
        if fd >= 0:
            loop.add_reader(fd, gone.set)
        try:
            while self._found():
                if fd >= 0:
                    await gone.wait()
                await asyncio.sleep(LOOK_AGAIN if fd < 0 or gone.is_set() else 0)
        finally:
            if fd >= 0:
                loop.remove_reader(fd)
                os.close(fd)
        self._end(Exit(), lost=True)

    def _found(self) -> bool:
        seen = look(self._pid)
        return seen is not None and seen.start == self.start_time

    def _end(self, ended: Exit, *, at: int | None = None, lost: bool = False) -> None:
        at = at if at is not None else int(time.time() * 1000)
        self.info = msgspec.structs.replace(
            self.info, status="exited", pid=None, exit_code=ended.code, exited_at_ms=at, lost=lost
        )
        self.output.close()
        if self._file is not None:
            self._file.close()
        self._over.set()
        self._on_end(self)

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for its end, at most so long; whether it has ended."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._over.wait()
        return not self.running

    def stop(self) -> None:
        """Ask it to end: SIGTERM, and on a terminal a hang-up as well, which shells obey."""
        self._signal(signal.SIGTERM)
        if self.info.tty:
            self._hang_up(HANG_UPS)

    def _hang_up(self, waits: tuple[float, ...]) -> None:
        """Hang up, and again a moment later: a shell that goes from one command to the next notes it and sleeps on."""
        if self.running:
            self._signal(signal.SIGHUP)
            if waits:
                asyncio.get_running_loop().call_later(waits[0], self._hang_up, waits[1:])

    def kill(self) -> None:
        """End it, with all that it started."""
        if self._process is not None:
            self._process.kill()
        elif self.running:
            self._keep(spawn(self._sweep(), name=f"sweep {self.info.id}"))

    async def _sweep(self) -> None:
        self._signal(signal.SIGKILL)
        await asyncio.to_thread(sweep_marked, [self.marker])

    def _signal(self, signum: int) -> None:
        if self._process is not None:
            self._process.signal(signum)
        elif self.running and (seen := look(self._pid)) is not None and seen.start == self.start_time:
            kill_exactly(seen, signum)

    async def close(self) -> None:
        """End it, unless it was only found, and let go of it."""
        if self._process is not None:
            await self._process.end(close_wait=0, term_wait=0)
            if self._watch is not None:
                await self._watch
        elif self._watch is not None:
            self._watch.cancel()
            await asyncio.wait((self._watch,))
        if self._inputs:
            await asyncio.wait(self._inputs)

    async def leave(self) -> None:
        """Let go of it without ending it; what it is about to read of its input it has a moment for."""
        if self._inputs:
            await asyncio.wait(self._inputs, timeout=INPUT_WAIT)
        if self._process is not None and self.running:
            self._process.leave()
        else:
            await self.close()
        if self._watch is not None:
            await asyncio.wait((self._watch,))
        if self._file is not None:
            self._file.close()

    def release(self) -> None:
        """Its end is stored: the keeper need not know of it any more."""
        if self._process is not None:
            self._process.release()

    def forget(self) -> None:
        """Nothing is to be left of its output."""
        if self._file is not None:
            self._file.remove()

    # ------------------------------------------------------------------------------------------- its input

    async def write(self, data: bytes, limit: int) -> int:
        """Give it input, in order; how many bytes. Raises `InputTooLarge`, `Conflict` when it takes none."""
        if len(data) > limit:
            raise InputTooLarge(len(data), limit)
        if not self.running:
            raise Conflict("process is not running")
        if self._process is None:
            raise Conflict("process was started by an earlier service; its input is lost")
        if self._held + len(data) > INPUT_HELD * limit:
            raise Conflict(f"process does not read its input; {self._held} bytes wait for it already")
        self._held += len(data)
        writing = spawn(self._write(self._process, data), name=f"input {self.info.id}", awaited=True)
        self._keep(writing)
        done, _ = await asyncio.wait((writing,), timeout=INPUT_WAIT)
        if done and writing.exception() is not None:
            raise Conflict("process does not take input any more")
        return len(data)

    async def _write(self, process: RawProcess, data: bytes) -> None:
        try:
            await process.write(data)
        finally:
            self._held -= len(data)

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._inputs.add(task)
        task.add_done_callback(self._drop)

    def _drop(self, task: asyncio.Task[None]) -> None:
        self._inputs.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None and not isinstance(problem, EngineGone):
            raise problem

    # ------------------------------------------------------------------------------------------- its terminal

    def need_terminal(self) -> Replay:
        """Its terminal's last output. Raises `Conflict` when it has no terminal."""
        if self.replay is None:
            raise Conflict("process is not running in tty mode")
        return self.replay

    def resize(self, rows: int, cols: int) -> None:
        """Give its terminal another size. Raises `Conflict` when it has none."""
        self.need_terminal()
        self.size = (rows, cols)
        if self._process is not None:
            self._process.resize(rows, cols)

    def redraw(self) -> None:
        """Have a program that has the whole screen draw it anew: its terminal changes its size and changes it back."""
        if self._process is not None and self.replay is not None and self.replay.other_screen():
            rows, cols = self.size
            self._process.resize(max(1, rows - 1), cols)
            self._process.resize(rows, cols)
