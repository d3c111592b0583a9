"""The world of one run: composes loop, machine, service, network and clients after a plan, and judges what came of it.

A new kind of client is a function in `clients.py`; a new door is a module beside `network.py` whose calls go through
`Life.spawn`, so that they die with the service. `run_plan` is the entry.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import logging
import sys
import traceback
import warnings
from contextvars import Context
from typing import Any

import msgspec

from footplate.engines.base import Engine
from footplate.errors import FootplateError, SessionFailed, SessionOver, StoreError, StoreFailed
from footplate.events import model as m
from footplate.events.ids import SessionId
from footplate.runtime.hub import Hub
from footplate.runtime.limits import Limits
from footplate.runtime.paused_queue import PAUSED_CODE
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from tests.simulation import checks, doors
from tests.simulation.acp import AcpSide
from tests.simulation.bot_api import BotApi
from tests.simulation.chance import Chance
from tests.simulation.chat import ChatSide
from tests.simulation.clients import Asked, Reading, run_client
from tests.simulation.engines import AgentKilled, KeptMock, SimMock, run_mock
from tests.simulation.keeper import Program, SimKeeper
from tests.simulation.life import Life
from tests.simulation.loop import Deadlock, Deferral, Livelock, Policy, Priorities, RandomOrder, SimLoop
from tests.simulation.machine import Machine
from tests.simulation.network import Lost, Network
from tests.simulation.plan import SCALES, Crash, Plan
from tests.simulation.script import ScriptEngine
from tests.simulation.script_agent import run_script
from tests.simulation.surround import surrounded

EPOCH_S = 1_800_000_000.0
QUIET_S = 120.0
WORK_S = 600.0
HANG_S = 15.0
"""A turn that runs so long after the last client is interrupted, once: some prompts only end that way."""


PROGRAMS: dict[str, Program] = {"mock-agent": run_mock, "script-agent": run_script}
"""The programs that the keeper can start."""


class Failed(Exception):
    """A check fired."""

    def __init__(self, oracle: str, text: str) -> None:
        super().__init__(f"{oracle}: {text}")
        self.oracle = oracle
        self.text = text


class Promises:
    """What clients did and were told: the checks compare it with the log."""

    def __init__(self) -> None:
        self.prompts: list[Asked] = []
        self.readings: list[Reading] = []
        self.answers: dict[str, tuple[str, int]] = {}
        self.ending: set[str] = set()
        self.deleting: set[str] = set()
        self.deleted: set[str] = set()
        self.over = False


class Outcome(msgspec.Struct, kw_only=True):
    """What a run gave."""

    seed: int
    oracle: str = ""
    text: str = ""
    crc: int = 0
    steps: int = 0
    virtual_s: float = 0.0
    crashes: int = 0
    events: int = 0
    counts: dict[str, int] = {}
    yes: dict[str, list[int]] = {}
    trace: list[str] = []


class World:
    """One run."""

    def __init__(self, plan: Plan, *, trace: bool = False) -> None:
        self.plan = plan
        self.chance = Chance(plan.seed, plan.muted)
        self.loop = SimLoop(self.chance, self._policy(), thread_s=lambda: self.delay("slow_threads", "thread"))
        self.skew = 0.0
        self.machine = Machine(self.wall, self._is_dead)
        self.machine.short_of_memory = plan.memory_short
        self.network = Network(self)
        self.promises = Promises()
        self.acp = AcpSide()
        self.chat = ChatSide()
        self.bots = BotApi(self)
        self.life: Life | None = None
        self.lives = 0
        self.born: list[asyncio.Future[SessionId | None]] = []
        self.faults_over = False
        self.writes = 0
        self.crash_at_write: Crash | None = None
        self.crashes = 0
        self.restarting: asyncio.Task[None] | None = None
        self.failure: Failed | None = None
        self.counts: dict[str, int] = {}
        self.ended_nodes: set[str] = set()
        self.killed_nodes: set[str] = set()
        self.paused: set[str] = set()
        """Sessions whose prompts were paused with a notice at some time."""
        self.keeper = SimKeeper(self, PROGRAMS, grace_s=plan.grace_s if plan.keep else 0.0)
        self._bells: dict[str, asyncio.Event] = {}
        self._trace: list[str] | None = [] if trace else None
        self._deaths: list[str] = []
        self._engines: dict[str, Engine] = {"mock": SimMock(self), "kept": KeptMock(self), "script": ScriptEngine(self)}

    def _policy(self) -> Policy:
        match self.plan.policy:
            case "random":
                return RandomOrder(self.chance)
            case "delay":
                return Deferral(self.chance)
            case "pct":
                return Priorities(self.chance)
            case _:
                return Policy()

    def _is_dead(self, node: str) -> bool:
        return node in self.loop.dead or node in self.ended_nodes

    # ------------------------------------------------------------------------- what the others ask for

    def wall(self) -> float:
        """The time of day."""
        return EPOCH_S + self.loop.now + self.skew

    def delay(self, fault: str, site: str) -> float:
        """How long something takes, if it takes time at all in this plan."""
        scale = self.plan.scales.get(fault)
        if scale is None or self.faults_over or not self.chance.yes(f"slow {site}", 1.0):
            return 0.0
        return self.chance.delay(site, SCALES[scale])

    async def pause(self, fault: str, site: str) -> None:
        """Let that time pass."""
        wait = self.delay(fault, site)
        if wait:
            await asyncio.sleep(wait)

    def strength(self, fault: str, most: float) -> float:
        """How often a fault happens; 0 when it is off or faults are over."""
        return 0.0 if self.faults_over else self.plan.faults.get(fault, 0.0) * most

    def engine(self, name: str) -> Engine:
        """The engine of that name."""
        return self._engines[name]

    def count(self, what: str) -> None:
        """Note that it happened."""
        self.counts[what] = self.counts.get(what, 0) + 1

    def note_prompt(self, serial: int, agent: str) -> None:
        """An agent got a prompt: the same one twice is once too often."""
        given = self.machine.ledger.prompts.setdefault(serial, [])
        if agent in given:
            self.fail("prompt_sent_twice", f"prompt {serial} reached {agent} twice")
        given.append(agent)

    def has_agent(self, session: str) -> bool:
        """Whether a scripted agent of that session runs."""
        agents = self.keeper.agents.values()
        return any(each.alive and len(each.spec.argv) > 1 and each.spec.argv[1] == session for each in agents)

    def is_deleted(self, session: str) -> bool:
        """Whether somebody has begun to delete it."""
        return session in self.promises.deleting

    def bell_of(self, session: str) -> asyncio.Event:
        """Rung when a request of the session was opened."""
        return self._bells.setdefault(session, asyncio.Event())

    def hear(self, envelopes: Any) -> None:
        """What any session stored."""
        for envelope in envelopes:
            if self._trace is not None:
                self.log("append", f"{envelope.session[-4:]} {envelope.seq} {type(envelope.event).__name__}")
            if isinstance(envelope.event, m.Notice) and envelope.event.code == PAUSED_CODE:
                self.paused.add(envelope.session)
            if isinstance(envelope.event, m.RequestOpened):
                self.bell_of(envelope.session).set()

    def log(self, what: str, text: str) -> None:
        """A line of the trace."""
        if self._trace is not None:
            self._trace.append(f"{self.loop.now:9.4f} {what:8} {text}")

    def fail(self, oracle: str, text: str, problem: BaseException | None = None) -> None:
        """A check fired: the first one counts, and the run ends."""
        if self.failure is None:
            if problem is not None and self._trace is not None:
                text += "\n" + "".join(traceback.format_exception(problem))
            self.failure = Failed(oracle, text)
            self.log("FAILED", str(self.failure))

    # ------------------------------------------------------------------------------------------ crashes

    def begin_life(self) -> None:
        """Start the service."""
        self.lives += 1
        self.log("start", f"service-{self.lives}")
        self.life = Life(self, self.lives)

    def begin_crash(self, crash: Crash) -> None:
        """The service dies here and now, and comes back later."""
        life = self.life
        if life is None or (self.restarting is not None and not self.restarting.done()):
            return
        self.log("crash", crash.kind)
        self.kill(crash)
        self.restarting = self.loop.create_task(self._restart(crash), name="restart", context=Context())

    def kill(self, crash: Crash) -> None:
        """End the node and what dies with it."""
        assert self.life is not None
        self.crashes += 1
        if crash.kind == "keeper":
            self.keeper.die()
            self.machine.ledger.kills.append(self.loop.now)
            return
        self.loop.kill(self.life.node)
        self.killed_nodes.add(self.life.node)
        self.life.killed.set_result(None)
        self.machine.locks.drop_node(self.life.node)
        self.machine.ledger.kills.append(self.loop.now)
        self.life = None
        if crash.kind == "power":
            lost = self.machine.disk.cut_power(lambda bound: self.chance.below("power", bound))
            self.log("power", f"{lost} operations lost")
        if crash.kind in ("power", "both"):
            self.keeper.die()
        self.keeper.on_driver_gone()
        self.network.break_all()

    async def _restart(self, crash: Crash) -> None:
        if self.life is not None:
            return
        await asyncio.sleep(crash.down_s)
        self.begin_life()
        if crash.again_s is not None:
            await asyncio.sleep(crash.again_s)
            life: Life | None = self.life
            if life is not None and not self.faults_over and crash.kind != "keeper":
                self.log("crash", f"{crash.kind}, again")
                self.kill(crash)
                await asyncio.sleep(crash.down_s)
                self.begin_life()

    async def _crash_on_time(self) -> None:
        for crash in sorted(self.plan.crashes, key=lambda each: each.at):
            await asyncio.sleep(max(crash.at - self.loop.now, 0.0))
            if crash.at_write:
                self.crash_at_write = msgspec.structs.replace(crash, at_write=self.writes + crash.at_write)
            elif crash.kind == "stop":
                await self._stop_and_start(crash)
            else:
                self.begin_crash(crash)
            if self.restarting is not None:
                await asyncio.wait((self.restarting,))

    async def _stop_and_start(self, crash: Crash) -> None:
        life = self.life
        if life is None or not life.up:
            return
        self.log("stop", life.node)
        self.crashes += 1
        await life.stop(doors_first=self.chance.yes("doors first", 0.5))
        if life.killed.done():
            return
        self.end_life(life)
        await asyncio.sleep(crash.down_s)
        self.begin_life()

    def end_life(self, life: Life) -> None:
        """A life that ended in order: nothing of it may be left."""
        checks.nothing_left(self, life.node)
        self.loop.kill(life.node)
        self.ended_nodes.add(life.node)
        self.machine.ledger.kills.append(self.loop.now)
        self.keeper.on_driver_gone()
        self.network.break_all()
        self.life = None

    # ---------------------------------------------------------------------------------------------- run

    async def _create(self, number: int) -> None:
        given = self.plan.sessions[number]
        limits = Limits(tool_calls=given.tool_calls, turns=given.turns, on_reached=given.on_reached)
        spec = SessionSpec(engine=given.engine, cwd="/", limits=limits)
        await asyncio.sleep(given.at)

        async def create(hub: Hub) -> Session:
            return await hub.create(spec, title=f"session {number}")

        born = self.born[number]
        for attempt in range(8):
            try:
                made = await self.network.call("create", create)
            except Lost:
                await asyncio.sleep(0.05 * 2**attempt)
                continue
            except FootplateError as problem:
                if not problem.retryable and not isinstance(problem, StoreFailed) and problem.code != "session_over":
                    self.fail("create_refused", f"{type(problem).__name__}: {problem}", problem)
                await asyncio.sleep(0.05 * 2**attempt)
                continue
            self.log("created", f"{made.id[-4:]}")
            born.set_result(made.id)
            return
        born.set_result(None)

    async def _jump(self) -> None:
        for at, by in self.plan.clock_jumps:
            await asyncio.sleep(max(at - self.loop.now, 0.0))
            self.skew += by

    async def main(self) -> None:
        """Everything, in order: work, then quiet, then the end."""
        loop = self.loop
        self.born = [loop.create_future() for _ in self.plan.sessions]
        self.begin_life()
        upset = [loop.create_task(self._crash_on_time(), name="crashes"), loop.create_task(self._jump(), name="clock")]
        work = [loop.create_task(self._create(number), name=f"create {number}") for number in range(len(self.born))]
        readers: list[asyncio.Task[None]] = []
        for client in self.plan.clients:
            task = loop.create_task(run_client(self, client), name=client.name)
            (readers if client.kind in ("reader", "answerer") else work).append(task)
        await asyncio.wait([*work, *upset])
        self.faults_over = True
        self.log("phase", "faults are over")
        if self.restarting is not None:
            await asyncio.wait((self.restarting,))
        if self.life is None:
            self.begin_life()
        assert self.life is not None
        await asyncio.wait((self.life.started,), timeout=QUIET_S)
        if not self.life.up:
            self.fail("start_hangs", f"the service is not up after {QUIET_S:g} s")
        for task in (*work, *upset, *readers):
            if task.done():
                task.result()
        await doors.arrive(self)
        await checks.become_quiet(self)
        await checks.readers_catch_up(self)
        await doors.settle(self, checks.become_quiet)
        self.promises.over = True
        if readers:
            await asyncio.wait(readers, timeout=10.0)
        for task in readers:
            task.cancel()
        life = self.life
        if life is not None:
            await life.stop(doors_first=True)
            checks.nothing_left(self, life.node)
            loop.kill(life.node)
        checks.judge(self)

    def watch(self) -> None:
        """Stop the run at the first failure."""
        if self.failure is not None:
            raise self.failure

    def run(self) -> Outcome:
        """Run the plan; the outcome says which check fired, if one did."""
        handler = _Deaths(self)
        logger = logging.getLogger("footplate")
        logger.addHandler(handler)
        before = logger.propagate, logger.level
        logger.propagate = False
        try:
            with surrounded(self):
                self._run()
        finally:
            logger.removeHandler(handler)
            logger.propagate, level = before
            logger.setLevel(level)
        return self._outcome()

    def _run(self) -> None:
        loop = self.loop
        loop.on_step = self.watch
        try:
            loop.run(self.main(), until=WORK_S)
        except Failed:
            pass
        except Deadlock as problem:
            self.fail("deadlock", str(problem))
        except Livelock as problem:
            self.fail("livelock", str(problem))
        except TimeoutError as problem:
            self.fail("endless", str(problem))
        if self.failure is None or self.failure.oracle in ("not_quiet", "endless", "call_hangs", "stop_hangs"):
            dead = checks.dead_tasks(self)
            if dead:
                self.failure = Failed("task_died", dead)

    def _outcome(self) -> Outcome:
        events = sum(len(log.events) for log in self.machine.disk.memory._logs.values())
        failure = self.failure
        return Outcome(
            seed=self.plan.seed,
            oracle=failure.oracle if failure is not None else "",
            text=failure.text if failure is not None else "",
            crc=self.loop.crc,
            steps=self.loop.steps,
            virtual_s=self.loop.now,
            crashes=self.crashes,
            events=events + sum(each.deliveries for each in self.promises.readings),
            counts=self.counts,
            yes=self.chance.said_yes,
            trace=self._trace or [],
        )


class _Deaths(logging.Handler):
    """Hears of tasks that died, from the one place of the product that makes tasks."""

    def __init__(self, world: World) -> None:
        super().__init__(logging.ERROR)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        self._world.log("log", f"{record.name}: {record.getMessage()}")
        problem = record.exc_info[1] if record.exc_info else None
        # What follows from an injected fault may end a task, as long as the session comes to rest afterwards.
        if record.name == "footplate.tasks" and not isinstance(
            problem, AgentKilled | StoreError | SessionFailed | SessionOver
        ):
            self._world.fail("task_died", record.getMessage(), problem)


BATCH = 20
_over: list[World] = []


def run_plan(plan: Plan, *, trace: bool = False) -> Outcome:
    """Run a plan in a world of its own."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        world = World(plan, trace=trace)
        _over.append(world)
        return world.run()
    finally:
        if len(_over) >= BATCH:
            bury()
        if enabled:
            gc.enable()


def bury() -> None:
    """Free worlds that are over. Coroutines of dead nodes are closed here, and what they complain about is dropped."""
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for world in _over:
                world.loop.drop()
            _over.clear()
            gc.collect()
    finally:
        logging.disable(logging.NOTSET)
        sys.unraisablehook = hook


atexit.register(bury)
