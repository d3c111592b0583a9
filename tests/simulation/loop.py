"""A deterministic event loop: virtual time, one handle per step, the order of task steps chosen by a policy.

It knows nothing of the product. Time stands still while a step runs, grows by a microsecond per step, and jumps to the
next timer when nothing is ready. Only steps of tasks are permuted; plain callbacks keep their order, because asyncio
promises it and its own parts rely on it.

Every task belongs to a node (the context variable `NODE`, inherited by what it starts). A node that was killed runs no
further handle, and its coroutines are not closed while the run lasts: a dead process runs no `finally`.
"""

from __future__ import annotations

import asyncio
import heapq
import sys
import zlib
from asyncio import events as asyncio_events
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextvars import Context, ContextVar
from typing import Any, Protocol, TypeVar

NODE: ContextVar[str] = ContextVar("NODE", default="world")
STEP_S = 1e-6
LIVELOCK_STEPS = 30_000
T = TypeVar("T")


class Deadlock(Exception):
    """Nothing is ready and no timer is set, but the run is not over."""


class Livelock(Exception):
    """Many steps were made and the clock never had to jump: somebody spins."""


class Numbered:
    """Gives an object a number of its loop, which is its hash: sets of tasks are then walked in the same order."""

    number: int

    def __hash__(self) -> int:
        return self.number


class SimTask(Numbered, asyncio.Task[Any]):
    """A task whose hash does not depend on its address. The number exists before `__init__` enters it in a set."""

    def __new__(cls, coro: Any, *, loop: SimLoop, **_: Any) -> SimTask:
        made = super().__new__(cls)
        made.number = loop.next_number()
        made.node = NODE.get()
        return made

    node: str
    __hash__ = Numbered.__hash__


class SimFuture(Numbered, asyncio.Future[Any]):
    """A future whose hash does not depend on its address."""

    def __new__(cls, *, loop: SimLoop) -> SimFuture:
        made = super().__new__(cls)
        made.number = loop.next_number()
        return made

    __hash__ = Numbered.__hash__


class Dice(Protocol):
    """What a policy and the executor ask of chance."""

    def below(self, site: str, bound: int) -> int:
        """A whole number from 0 to bound - 1."""
        ...

    def draw(self, site: str) -> float:
        """A number in [0, 1)."""
        ...


class Policy:
    """First in, first out. `choose` gets the steps of tasks that may come next and gives the place of the one."""

    permutes = False

    def choose(self, loop: SimLoop, candidates: list[asyncio.Handle]) -> int:
        """The place of the step that comes next."""
        return 0

    def put_off(self, loop: SimLoop, handle: asyncio.Handle) -> float:
        """For how long a chosen step is deferred; 0 to run it now."""
        return 0.0


class RandomOrder(Policy):
    """Any of the ready steps, each with the same chance."""

    permutes = True

    def __init__(self, dice: Dice) -> None:
        self._dice = dice

    def choose(self, loop: SimLoop, candidates: list[asyncio.Handle]) -> int:
        return self._dice.below("order", len(candidates))


class Deferral(Policy):
    """First in, first out, but now and then a step is deferred by some time."""

    permutes = True

    def __init__(self, dice: Dice, *, share: float = 0.03, longest_s: float = 0.02) -> None:
        self._dice = dice
        self._share = share
        self._longest_s = longest_s

    def put_off(self, loop: SimLoop, handle: asyncio.Handle) -> float:
        if self._dice.draw("defer") >= self._share:
            return 0.0
        return self._dice.draw("defer for") * self._longest_s


class Priorities(Policy):
    """PCT over groups of tasks (a node, a client, a session): the group with the highest priority goes first.

    At a few change points the running group falls to the lowest priority.
    """

    permutes = True

    def __init__(self, dice: Dice, *, changes: int = 3, steps: int = 1500) -> None:
        self._dice = dice
        self._priorities: dict[str, float] = {}
        self._changes = sorted(dice.below("change point", steps) for _ in range(changes))
        self._lowest = 0.0

    def choose(self, loop: SimLoop, candidates: list[asyncio.Handle]) -> int:
        place = max(range(len(candidates)), key=lambda at: (self._priority(_group(candidates[at])), -at))
        if self._changes and loop.steps >= self._changes[0]:
            self._changes.pop(0)
            self._lowest -= 1.0
            self._priorities[_group(candidates[place])] = self._lowest
        return place

    def _priority(self, group: str) -> float:
        if group not in self._priorities:
            self._priorities[group] = self._dice.draw("priority")
        return self._priorities[group]


def _group(handle: asyncio.Handle) -> str:
    task = handle._callback.__self__  # type: ignore[attr-defined]
    name = task.get_name()
    return task.node if name.startswith("Task-") else f"{task.node} {name}"


class SimLoop(asyncio.BaseEventLoop):
    """The loop. `run` drives it until a coroutine is done; `kill` stops a node for good."""

    _ready: Any
    _scheduled: Any

    def __init__(
        self,
        dice: Dice,
        policy: Policy | None = None,
        *,
        epoch_s: float = 0.0,
        thread_s: Callable[[], float] | None = None,
    ) -> None:
        """`thread_s` says how long the next piece of blocking work takes."""
        super().__init__()
        self.dice = dice
        self.policy = policy or Policy()
        self.now = epoch_s
        self.steps = 0
        self.crc = 0
        self.tasks: list[SimTask] = []
        self.dead: set[str] = set()
        self.grave: list[object] = []
        """What a killed node would have run: kept, so that nothing of it is finalised during the run."""
        self.problems: list[dict[str, Any]] = []
        self._thread_s = thread_s or (lambda: 0.0)
        self._number = 0
        self._busy_steps = 0
        self._clock_resolution = 0.0
        self.set_task_factory(_make_task)
        self.set_exception_handler(_note_problem)
        self.livelock_steps = LIVELOCK_STEPS
        self.on_step: Callable[[], None] | None = None
        """Called after each step; what it raises ends the run."""

    def next_number(self) -> int:
        """The number of the next task or future."""
        self._number += 1
        return self._number

    def time(self) -> float:
        return self.now

    def create_future(self) -> asyncio.Future[Any]:
        return SimFuture(loop=self)

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        """Do it here, after as long as the thread would take: nothing runs beside the loop."""
        done: asyncio.Future[T] = self.create_future()

        def work() -> None:
            if done.done():
                return
            try:
                done.set_result(func(*args))
            except StopIteration as problem:
                done.set_exception(RuntimeError(str(problem)))
            except Exception as problem:  # noqa: BLE001 - it belongs to whoever awaits
                done.set_exception(problem)

        self.call_later(self._thread_s(), work)
        return done

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    # -------------------------------------------------------------------------------------------- nodes

    def kill(self, node: str) -> None:
        """Nothing of this node runs any more."""
        self.dead.add(node)

    def living(self, node: str) -> list[SimTask]:
        """The tasks of a node that are not done."""
        return [task for task in self.tasks if task.node == node and not task.done()]

    # ------------------------------------------------------------------------------------------ running

    def run(self, main: Coroutine[Any, Any, T], *, until: float | None = None) -> T:
        """Run until it is done and give back what it gives. Raises `Deadlock`, `Livelock`, `TimeoutError`."""
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(finalizer=self._close_generator)
        asyncio_events._set_running_loop(self)
        try:
            task = self.create_task(main)
            while not task.done():
                self._step()
                if self.on_step is not None:
                    self.on_step()
                if until is not None and self.now > until:
                    raise TimeoutError(f"not done after {until} virtual seconds")
            return task.result()
        finally:
            asyncio_events._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)

    def _close_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        """Nobody has it any more: close it, as asyncio does."""
        if NODE.get() in self.dead or self.is_closed():
            self.grave.append(generator)
        else:
            self.create_task(generator.aclose())

    def _step(self) -> None:
        ready, scheduled = self._ready, self._scheduled
        if not ready:
            while scheduled and scheduled[0]._cancelled:
                heapq.heappop(scheduled)._scheduled = False
            if not scheduled:
                raise Deadlock(f"after {self.steps} steps")
            if scheduled[0]._when > self.now:
                self.now = scheduled[0]._when
                self._busy_steps = 0
        while scheduled and scheduled[0]._when <= self.now:
            timer = heapq.heappop(scheduled)
            timer._scheduled = False
            if not timer._cancelled:
                ready.append(timer)
        if not ready:
            return
        handle: Any = self._choose() if self.policy.permutes else ready.popleft()
        if handle is None or handle._cancelled:
            return
        if self.dead and handle._context.get(NODE, "world") in self.dead:
            self.grave.append(handle)
            return
        self.steps += 1
        self._busy_steps += 1
        if self._busy_steps > self.livelock_steps:
            raise Livelock(f"{self._busy_steps} steps at {self.now:.3f}, now {handle!r}")
        self.now += STEP_S
        task = _task_of(handle)
        number = task.number if task is not None else 0
        self.crc = zlib.crc32(b"%d %d %d" % (number, int(self.now * 1e7), len(ready)), self.crc)
        handle._run()

    def _choose(self) -> Any:
        """The next handle: the first, if it is a plain callback, else one of the task steps before the next such."""
        ready = self._ready
        if _task_of(ready[0]) is None:
            return ready.popleft()
        candidates = []
        for handle in ready:
            if _task_of(handle) is None:
                break
            candidates.append(handle)
        place = self.policy.choose(self, candidates) if len(candidates) > 1 else 0
        handle = candidates[place]
        del ready[place]
        late = self.policy.put_off(self, handle)
        if late > 0.0 and not handle._cancelled:
            self.call_later(late, self._put_back, handle, context=Context())
            return None
        return handle

    def _put_back(self, handle: asyncio.Handle) -> None:
        self._ready.appendleft(handle)

    def drop(self) -> None:
        """Let go of everything at the end of a run, quietly: what is freed now must not log."""
        for task in self.tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            if task.done() and not task.cancelled():
                task.exception()
        self._ready.clear()
        self._scheduled.clear()
        self.close()
        self.tasks.clear()
        self.grave.clear()


def _task_of(handle: asyncio.Handle) -> SimTask | None:
    """The task whose step the handle is; None when it is a plain callback."""
    task = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]
    return task if type(task) is SimTask else None


def _make_task(loop: Any, coro: Any, context: Context | None = None) -> SimTask:
    task = SimTask(coro, loop=loop) if context is None else context.run(SimTask, coro, loop=loop, context=context)
    loop.tasks.append(task)
    return task


def _note_problem(loop: Any, context: dict[str, Any]) -> None:
    loop.problems.append(context)
