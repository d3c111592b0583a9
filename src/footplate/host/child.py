"""A running agent as the service sees it: its lines, its stdin, its end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Final, Protocol

from footplate.errors import EngineGone
from footplate.tasks import spawn

from .lines import Block
from .messages import Attached, Spawned
from .pipes import HIGH_WATER, TAIL, FramePipe, LinePipe, TailPipe
from .spawn import Exit, Spawn
from .sweep import sweep_marked

CLOSE_WAIT: Final = 2.0
TERM_WAIT: Final = 3.0
KILL_WAIT: Final = 2.0  # from SIGKILL to the sweep, should the agent not vanish
SWEEP_WAIT: Final = 6.0  # from there to word from the keeper, else we sweep ourselves

GIVE: Final = 64 * 1024  # bytes given back in one frame; the keeper holds several copies of a frame while it decodes it

LEFT_TO_KEEPER: Final = Exit(reason="it was left to the keeper, and runs on")


class Ask(Protocol):
    """How the keeper is asked for something; descriptors that go with it are the asker's no more."""

    def __call__(self, request: dict[str, object], fds: tuple[int, ...] = ()) -> None:
        """Say it, and wait for nothing."""
        ...


class Process:
    """One agent. Made by `Keeper.spawn`; whoever has it calls `end` at last, and nothing is left of it.

    The pipes are the agent's own: bytes do not pass through the keeper. The keeper tells when it exited
    and when what it left behind is swept away.

    Under a keeper that `keeps`, one that was spawned to be kept outlives us. `settle` says that the lines which were
    read so far are stored, `release` that this holds for all that the agent has ever said; `leave` gives back what
    nobody has read, and lets go of the agent without ending it.
    """

    def __init__(
        self,
        spec: Spawn,
        told: Spawned | Attached,
        fds: list[int],
        *,
        ask: Ask,
        on_released: Callable[[str], None],
        high_water: int = HIGH_WATER,
        keeps: bool = False,
    ) -> None:
        self.id = told.id
        self.pid = told.pid
        self.start_time = told.start_time
        self.marker = told.marker
        self.program = spec.argv[0]
        self.layers = spec.layers
        self.swept_pids: tuple[int, ...] = ()
        self.survivors: tuple[int, ...] = ()
        self._ask = ask
        self._on_released = on_released
        loop = asyncio.get_running_loop()
        self._exit: asyncio.Future[Exit] = loop.create_future()
        self._swept: asyncio.Future[None] = loop.create_future()
        self._ending: asyncio.Task[None] | None = None
        self._keeps = keeps
        self._left = False
        self._lock = -1
        self._direct = not isinstance(told, Attached)
        self._stdin = FramePipe(fds[0], gone=self._gone, on_closed=self._on_stdin_closed)
        if isinstance(told, Attached):
            self._take_over(told, fds, high_water)
            return
        self._stdout = self._open_stdout(fds[1], high_water)
        self._stderr = self._open_stderr(fds[2])

    def _open_stdout(self, fd: int, high_water: int) -> LinePipe:
        return LinePipe(fd, high_water=high_water, on_closed=self._release)

    def _open_stderr(self, fd: int) -> TailPipe:
        return TailPipe(fd)

    def _take_over(self, told: Attached, fds: list[int], high_water: int) -> None:
        rest = told.rest.encode("latin-1")
        self._stdout = LinePipe(
            fds[1],
            high_water=high_water,
            on_closed=self._release,
            ahead=fds[3],
            rest=rest,
            on_direct=self._on_direct,
        )
        with open(fds[4], "rb") as spool:  # noqa: PTH123  a descriptor, and no more than the end of stderr
            self._stderr = TailPipe(fds[2], before=spool.read())
        if not told.stdin:
            self._stdin.finish()
        self._lock = fds[5] if told.locked else -1

    def take_lock(self) -> int:
        """The descriptor of the lock that the keeper held for it, to be closed by who takes it; -1: there was none."""
        lock, self._lock = self._lock, -1
        return lock

    def hold(self, lock: int) -> None:
        """Have the keeper keep a copy of this descriptor open as long as the agent lives, whatever becomes of us."""
        self._ask({"type": "hold", "id": self.id}, (os.dup(lock),))

    @property
    def exit(self) -> Exit | None:
        """How it ended; None as long as it runs."""
        return self._exit.result() if self._exit.done() else None

    async def read(self) -> Block | None:
        """Wait for whole lines of stdout, all there are in one block; None at the end of the stream."""
        return await self._stdout.read()

    async def write(self, data: bytes) -> None:
        """Write to stdin, never torn by another writer; raises `EngineGone` when nobody can read it."""
        self._stdout.expect()
        await self._stdin.write(data)

    def write_now(self, data: bytes) -> bool:
        """Write to stdin if it takes a short frame at once; when this is False nothing is written."""
        self._stdout.expect()
        return self._stdin.write_now(data)

    def close_stdin(self) -> None:
        """Close stdin once what waits to be written is written."""
        self._stdin.finish()

    def stderr_tail(self, limit: int = TAIL) -> str:
        """Give the end of what came on stderr, at most `limit` bytes (and 64 KB)."""
        return self._stderr.text(limit)

    def listen_errors(self, take: Callable[[bytes], None]) -> None:
        """Pass on stderr: what was read so far, then each chunk as it is read."""
        self._stderr.listen(take)

    def signal(self, signum: int) -> None:
        """Signal the agent alone, not what it has started; does nothing when it has ended."""
        if not self._exit.done():
            self._ask({"type": "signal", "id": self.id, "signum": int(signum)})

    async def wait(self) -> Exit:
        """Wait until the agent has ended; lines may still be there to read."""
        return await asyncio.shield(self._exit)

    async def end(self, *, close_wait: float | None = CLOSE_WAIT, term_wait: float = TERM_WAIT) -> Exit:
        """Close stdin, wait, SIGTERM, wait, SIGKILL, sweep; then every descriptor is closed.

        With None to wait for, stdin is left open until it has ended: its end would be an answer to what it waits for.
        Once begun it goes through, though the caller be cancelled; a second call joins the first.
        Lines that came before the end can still be read.
        """
        await asyncio.shield(self.begin_end(close_wait=close_wait, term_wait=term_wait))
        return self._exit.result()

    def begin_end(self, *, close_wait: float | None, term_wait: float) -> asyncio.Task[None]:
        """Set the ladder going, unless it is, without waiting for it."""
        if self._ending is None:
            self._ending = spawn(self._climb(close_wait, term_wait), name=f"end agent {self.id}")
        return self._ending

    def take_exit(self, ending: Exit) -> None:
        """Take word of its end from the keeper (or of the keeper's own)."""
        if not self._exit.done():
            self._exit.set_result(ending)
            self._stdin.close()

    def take_swept(self, pids: tuple[int, ...] = (), survivors: tuple[int, ...] = ()) -> None:
        """Take word that nothing is left which could write to its pipes."""
        self.swept_pids += pids
        self.survivors = survivors
        if self._exit.done() and not self._swept.done():
            self._swept.set_result(None)
            self._stderr.close()
            self._stdout.last_call()
            self._release()

    def close_pipes(self) -> None:
        """Close all three pipes; lines that are in them stay readable."""
        self._stdin.close()
        self._stdout.close()
        self._stderr.close()

    # -------------------------------------------------------------------------------------------- being kept

    def note(self, *, kept: bool | None = None, waiting: bool | None = None, **about: str) -> None:
        """Tell the keeper whether it is to outlive us, whether a request of it is open, and what it is for."""
        if not self._keeps:
            return
        facts: dict[str, object] = {"kept": kept, "waiting": waiting, "about": about or None}
        self._ask(
            {"type": "note", "id": self.id, **{name: value for name, value in facts.items() if value is not None}}
        )

    def tell_reads(self, before: Callable[[], None], nothing: Callable[[], None]) -> None:
        """Have the one called each time before its stdout is read, the other when there was nothing to read."""
        self._stdout.tell_reads(before, nothing)

    @property
    def emptied(self) -> bool:
        """Whether `read` has given all that was read of its stdout."""
        return self._stdout.emptied

    def settle(self) -> None:
        """Say that every line which `read` has given so far is stored: the keeper need not have it in its spool."""
        if self._keeps:
            taken, whole = self._stdout.ahead_left()
            self._ask(
                {"type": "settled", "id": self.id} if whole else {"type": "settled", "id": self.id, "upto": taken}
            )

    def release(self) -> None:
        """Say that nothing of it is needed any more: the keeper forgets it as soon as it has ended."""
        if self._keeps and not self._left:
            self._ask({"type": "release", "id": self.id})

    @property
    def torn(self) -> bool:
        """Whether a frame to it is written in part: then it is not yet time to `leave`."""
        return self._stdin.torn

    @property
    def left(self) -> bool:
        """Whether it was left to the keeper."""
        return self._left

    def stop_reading(self) -> None:
        """Have `read` give nothing more, as at the end, so that all it gave can be stored before we `leave`."""
        self._stdout.stop()

    @property
    def direct(self) -> bool:
        """Whether the keeper's spool was read to its end, if there was one."""
        return self._direct

    def leave(self) -> None:
        """Let go of it without ending it; what was read and not taken goes back to the keeper, who reads on."""
        if self._left:
            return
        self._left = True
        if self._direct:
            self._ask({"type": "settled", "id": self.id})
        else:
            self.settle()
        unread = self._stdout.take_back()
        for begin in range(0, len(unread), GIVE):
            data = unread[begin : begin + GIVE].decode("latin-1")
            self._ask({"type": "give", "id": self.id, "data": data})
        self._stderr.leave()
        self.take_exit(LEFT_TO_KEEPER)
        self.take_swept()

    def _on_direct(self) -> None:
        self._direct = True
        self._ask({"type": "direct", "id": self.id})

    def _on_stdin_closed(self) -> None:
        if self._keeps and not self._left:
            self._ask({"type": "close_stdin", "id": self.id})

    # -------------------------------------------------------------------------------------------- inside

    async def _climb(self, close_wait: float | None, term_wait: float) -> None:
        if close_wait is not None:
            self._stdin.finish()
        try:
            if close_wait:
                await asyncio.wait([self._exit], timeout=close_wait)
            await self._sweep(term_wait)
        except asyncio.CancelledError:  # the loop itself is ending: no time for a ladder
            self._ask_end(0)
            raise
        finally:
            self.close_pipes()

    async def _sweep(self, term_wait: float) -> None:
        if not self._swept.done():
            self._ask_end(term_wait)
            await asyncio.wait([self._swept], timeout=term_wait + KILL_WAIT + SWEEP_WAIT)
        if not self._swept.done():
            swept = await asyncio.to_thread(sweep_marked, [self.marker])
            self.take_exit(Exit(reason="killed; the keeper does not answer"))
            self.take_swept(swept.pids, swept.survivors)

    def _ask_end(self, term_wait: float) -> None:
        self._ask({"type": "end", "id": self.id, "term_s": term_wait, "kill_s": KILL_WAIT})

    def _gone(self) -> EngineGone:
        ending = self.exit
        return EngineGone(self.program, ending.describe() if ending else "its stdin is closed")

    def _release(self) -> None:
        if self._swept.done() and self._stdout.closed:
            self._on_released(self.id)
