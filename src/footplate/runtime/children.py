"""The table of processes that clients started: what runs, what has ended, and what an earlier service left.

Every process is a child of the keeper, and ends with all that it started. Where the keeper outlives the service, so do
the processes: the next service takes them over, with the output they had meanwhile. The table and the output are
stored, so that after a restart a client still learns what became of its processes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from footplate.config.machine import ProcessesSettings
from footplate.errors import Conflict, HostError, NotFound, ProcessNotStarted, RequestError, SpawnFailed, StoreError
from footplate.host.environment import build_environment
from footplate.host.keepers import Held, Keepers
from footplate.host.raw import RawProcess, Stream, Take
from footplate.host.spawn import Spawn
from footplate.host.spawner import Spawner
from footplate.runtime.child import ABOUT, Child, ChildInfo, ChildRecord, Owner
from footplate.runtime.output_file import OutputFile, remove_strangers
from footplate.store.base import Store
from footplate.tasks import spawn

TABLE: Final = "processes"
LAST: Final = "last"
TERM: Final = "xterm-256color"

log = logging.getLogger(__name__)


class Limits(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What clients may change until the next start."""

    max_concurrent_processes: int
    default_run_timeout_ms: int
    max_run_timeout_ms: int
    max_output_bytes: int
    max_log_bytes_per_process: int
    max_input_bytes_per_request: int


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A program to start, as a client asked for it."""

    command: str
    args: tuple[str, ...] = ()
    cwd: str | None = None
    env: dict[str, str] = {}


class Ran(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What came of a program that ran to its end, or until its time was over."""

    exit_code: int | None
    timed_out: bool
    stdout: str
    stderr: str
    stdout_truncated: bool
    stderr_truncated: bool
    duration_ms: int


class Children:
    """The processes of one service."""

    def __init__(
        self,
        keeper: Spawner,
        store: Store,
        *,
        settings: ProcessesSettings,
        environ: Mapping[str, str],
        folder: Path,
        leaving: Callable[[], bool] = lambda: False,
    ) -> None:
        """`folder` is where output is stored. `leaving` says whether processes are left to keepers that outlive us."""
        self._keeper = keeper
        self._keepers = keeper if isinstance(keeper, Keepers) else None
        self._folder = folder
        self._leaving = leaving
        self._documents = store.documents(TABLE)
        self._settings = settings
        self._environ = environ
        self._children: dict[str, Child] = {}
        self._last = 0
        self._running_runs = 0
        self._writes: set[asyncio.Task[None]] = set()
        self._closed = False
        self.rejoined: tuple[str, ...] = ()
        """The processes that went on without a service, and are ours now."""
        self.limits = Limits(
            max_concurrent_processes=settings.max_concurrent,
            default_run_timeout_ms=settings.default_run_timeout_ms,
            max_run_timeout_ms=settings.max_run_timeout_ms,
            max_output_bytes=settings.max_output_bytes,
            max_log_bytes_per_process=settings.max_log_bytes,
            max_input_bytes_per_request=settings.max_input_bytes,
        )

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        keeper: Spawner,
        store: Store,
        *,
        settings: ProcessesSettings,
        environ: Mapping[str, str],
        folder: Path,
        leaving: Callable[[], bool] = lambda: False,
    ) -> AsyncIterator[Children]:
        """The table with what the store has of it; at the end of the block every process is ended, or left."""
        children = cls(keeper, store, settings=settings, environ=environ, folder=folder, leaving=leaving)
        await children._load()
        try:
            yield children
        finally:
            await children._close()

    def set_limits(self, limits: Limits) -> None:
        """Change the limits; those of processes that run stay as they are."""
        self.check_limits(limits)
        self.limits = limits

    @staticmethod
    def check_limits(limits: Limits) -> None:
        """Raise `RequestError` for limits that cannot be."""
        for field in msgspec.structs.fields(Limits):
            if getattr(limits, field.name) <= 0:
                raise RequestError(f"{field.encode_name} must be greater than 0")

    # ------------------------------------------------------------------------------------------- the table

    def list(self, owner: Owner | None = None) -> tuple[ChildInfo, ...]:
        """What runs, and what has ended and was not removed; in the order of their start."""
        self._reap()
        return tuple(child.info for child in self._children.values() if owner in (None, child.info.owner))

    @property
    def running(self) -> int:
        """How many run."""
        return sum(child.running for child in self._children.values())

    def get(self, name: str) -> Child:
        """A process by its id. Raises `NotFound`."""
        child = self._children.get(name)
        if child is None:
            raise NotFound("process", name)
        child.remember()
        return child

    async def delete(self, name: str) -> None:
        """Forget a process that has ended. Raises `NotFound`, `Conflict` when it runs."""
        if self.get(name).running:
            raise Conflict("process is still running; stop or kill it before delete")
        self._children.pop(name).forget()
        await self._forget(name)

    def _reap(self) -> None:
        """Forget what has ended long ago, or when there is too much of it."""
        ended = [child for child in self._children.values() if not child.running]
        due = int((time.time() - self._settings.keep_exited_s) * 1000)
        surplus = len(ended) - self._settings.keep_exited
        for at, child in enumerate(sorted(ended, key=lambda each: each.info.exited_at_ms or 0)):
            if at < surplus or (child.info.exited_at_ms or 0) < due:
                self._children.pop(child.info.id).forget()
                self._later(self._forget(child.info.id))

    # ------------------------------------------------------------------------------------------- starting

    async def start(
        self,
        asked: Asked,
        *,
        tty: bool = False,
        interactive: bool = False,
        owner: Owner = "user",
        size: tuple[int, int] = (24, 80),
    ) -> Child:
        """Start a process that runs beside everything else. Raises `ProcessNotStarted`, `Conflict` at the limit."""
        self._reap()
        self._check(asked)
        self._last += 1
        info = ChildInfo(
            id=f"proc_{self._last}",
            command=asked.command,
            args=asked.args,
            tty=tty,
            interactive=interactive,
            owner=owner,
            status="running",
            created_at_ms=int(time.time() * 1000),
            cwd=asked.cwd,
        )
        child = self._child(info, size)
        self._running_runs += 1
        try:
            process = await self._spawn(asked, child.take, size if tty else None, name=info.id)
        finally:
            self._running_runs -= 1
        child.begin(process)
        self._children[info.id] = child
        await self._write(child)
        return child

    def _child(self, info: ChildInfo, size: tuple[int, int] = (24, 80)) -> Child:
        limit = self.limits.max_log_bytes_per_process
        return Child(
            info,
            max_log_bytes=limit,
            replay_bytes=self._settings.replay_bytes,
            size=size,
            file=OutputFile(self._folder, info.id, limit),
            on_end=self._on_end,
        )

    async def run(self, asked: Asked, *, timeout_ms: int | None = None, max_output_bytes: int | None = None) -> Ran:
        """Run a program to its end, or until its time is over; then nothing is left of it."""
        self._check(asked)
        limits = self.limits
        patience = min(timeout_ms or limits.default_run_timeout_ms, limits.max_run_timeout_ms) / 1000
        collected = _Collected(min(max_output_bytes or limits.max_output_bytes, limits.max_output_bytes))
        began = time.monotonic()
        self._running_runs += 1
        try:
            process = await self._spawn(asked, collected.take, None)
            process.close_stdin()
            timed_out, code = False, None
            try:
                async with asyncio.timeout(patience):
                    code = (await process.wait()).code
                    await process.drained()
            except TimeoutError:
                timed_out = process.exit is None
            finally:
                if process.exit is None or not process.is_drained:
                    await process.end(close_wait=0, term_wait=0)
        finally:
            self._running_runs -= 1
        return collected.ran(code, timed_out=timed_out, seconds=time.monotonic() - began)

    def _check(self, asked: Asked) -> None:
        if not asked.command:
            raise RequestError("command must not be empty")
        texts = (asked.command, *asked.args, asked.cwd or "", *asked.env, *asked.env.values())
        if any("\0" in text for text in texts) or any(not name or "=" in name for name in asked.env):
            raise RequestError("command, args, cwd and env must hold no null byte, and names in env no equals sign")
        running = self.running + self._running_runs
        if self._closed or running >= self.limits.max_concurrent_processes:
            raise Conflict(
                f"max concurrent process limit reached ({self.limits.max_concurrent_processes}); end one, or raise "
                "maxConcurrentProcesses"
            )

    async def _spawn(self, asked: Asked, take: Take, tty: tuple[int, int] | None, name: str = "") -> RawProcess:
        """Start it; one that has a name is kept where the keeper outlives us."""
        extra = {**({"TERM": TERM} if tty else {}), **asked.env}
        spec = Spawn(
            argv=(asked.command, *asked.args),
            env=build_environment(self._environ, allow=self._settings.env_pass, extra=extra),
            cwd=asked.cwd or self._environ.get("HOME") or "/",
            tty=tty,
            kept=bool(name) and self._keepers is not None,
            about={ABOUT: name} if name else {},
            whole=True,
        )
        try:
            process = await self._keeper.spawn(spec, make=partial(RawProcess, take=take, tty=tty is not None))
        except SpawnFailed as problem:
            raise ProcessNotStarted(problem.errno, problem.reason) from problem
        assert isinstance(process, RawProcess)
        return process

    # ------------------------------------------------------------------------------------------- the store

    async def _load(self) -> None:
        after: str | None = None
        found: list[ChildRecord] = []
        while True:
            page = await self._documents.list(after=after)
            for document in page.items:
                if document.key == LAST:
                    self._last = max(self._last, int(document.body))
                else:
                    found.append(msgspec.json.decode(document.body, type=ChildRecord))
            after = page.after
            if after is None:
                break
        await asyncio.to_thread(remove_strangers, self._folder, [record.info.id for record in found])
        held = await self._held()
        for record in sorted(found, key=lambda each: _number(each.info.id)):
            self._last = max(self._last, _number(record.info.id))
            child = self._children[record.info.id] = self._child(record.info)
            if not child.running:
                child.output.close()
            elif not await self._take_over(child, held.pop(record.marker, None)):
                child.find(record)
        for left in held.values():  # started, and the service was killed before it was written down
            if self._keepers is not None:
                self._keepers.end(left)

    async def _held(self) -> dict[str, Held]:
        """What waits to be taken over, by its marker."""
        held = await self._keepers.held() if self._keepers is not None else ()
        return {each.agent.marker: each for each in held if ABOUT in each.agent.about}

    async def _take_over(self, child: Child, held: Held | None) -> bool:
        """Go on with a process that the keeper has kept; what it said meanwhile is read first."""
        if self._keepers is None or held is None:
            return False
        child.remember()
        try:
            process = await self._keepers.take(held, make=partial(RawProcess, take=child.take, tty=child.info.tty))
        except HostError as problem:
            log.warning("process %s cannot be taken over: %s", child.info.id, problem)
            return False
        assert isinstance(process, RawProcess)
        child.begin(process)
        self.rejoined += (child.info.id,)
        return True

    async def _write(self, child: Child) -> None:
        await self._documents.put(child.info.id, msgspec.json.encode(child.record()), durable=False)

    async def _forget(self, name: str) -> None:
        await self._documents.put(LAST, str(self._last).encode(), durable=False)
        await self._documents.delete(name, durable=False)

    def _on_end(self, child: Child) -> None:
        if child.info.id in self._children:
            self._later(self._conclude(child))

    async def _conclude(self, child: Child) -> None:
        await self._write(child)
        child.release()

    def _later(self, work: Coroutine[object, object, None]) -> None:
        task = spawn(self._quietly(work), name="table of processes")
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def _quietly(self, work: Coroutine[object, object, None]) -> None:
        try:
            await work
        except StoreError as problem:
            log.warning("the table of processes could not be stored: %s", problem)

    async def _close(self) -> None:
        self._closed = True
        leaving = self._leaving()
        await asyncio.gather(*(child.leave() if leaving else child.close() for child in self._children.values()))
        if self._writes:
            await asyncio.wait(self._writes)


class _Collected:
    """Both outputs of a run, each up to the limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: dict[Stream, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        self._cut: dict[Stream, bool] = {"stdout": False, "stderr": False}

    def take(self, stream: Stream, data: bytes) -> None:
        room = self._limit - len(self._held[stream])
        self._held[stream] += data[:room]
        self._cut[stream] |= len(data) > room

    def ran(self, code: int | None, *, timed_out: bool, seconds: float) -> Ran:
        return Ran(
            exit_code=code,
            timed_out=timed_out,
            stdout=self._held["stdout"].decode(errors="replace"),
            stderr=self._held["stderr"].decode(errors="replace"),
            stdout_truncated=self._cut["stdout"],
            stderr_truncated=self._cut["stderr"],
            duration_ms=int(seconds * 1000),
        )


def _number(name: str) -> int:
    return int(name.rpartition("_")[2])
