"""The keeper and the agents that outlive the service, with pipes, spools and locks as the real ones have them.

Each agent is a node of its own: it goes on when the service dies, and its output goes to the spool. What the service
has read and not stored is then gone; what it has not read is in the pipe. `SimKeepers` is what one life of the service
sees (`host.keepers.Keepers`), `SimProcess` is one agent as that life sees it (`host.child.Process`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextvars import Context
from typing import TYPE_CHECKING, Any

from footplate.errors import EngineGone, KeeperGone, SpawnFailed
from footplate.host.keepers import Held
from footplate.host.lines import Block, LineSplitter
from footplate.host.messages import KeptAgent
from footplate.host.spawn import Exit, Spawn
from footplate.host.sweep import Reaped
from tests.simulation.loop import NODE

if TYPE_CHECKING:
    from tests.simulation.life import Life
    from tests.simulation.world import World

Program = Callable[["AgentNode", AsyncIterator[bytes], Callable[[bytes], Awaitable[None]]], Coroutine[Any, Any, int]]
HIGH_WATER = 4 * 1024 * 1024
LEFT_TO_KEEPER = Exit(reason="it was left to the keeper, and runs on")
KILLED = Exit(signal=9)


class Pipe:
    """Bytes between two nodes; bounded, so that who writes waits for who reads."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.data = bytearray()
        self.ended = False
        self.reader: Callable[[], None] | None = None
        """Called when there is something to read, or the end."""
        self._room: deque[asyncio.Future[None]] = deque()

    async def write(self, data: bytes) -> None:
        """Put all of it in; waits while the pipe is full."""
        while data:
            room = self._world.plan.pipe_bytes - len(self.data)
            if room <= 0 and not self.ended:
                waiting: asyncio.Future[None] = self._world.loop.create_future()
                self._room.append(waiting)
                await waiting
                continue
            if self.ended:
                raise BrokenPipeError
            self.data += data[:room]
            data = data[room:]
            self._tell()

    def write_now(self, data: bytes) -> bool:
        """Put all of it in if there is room, else nothing."""
        if self.ended or self._room or len(self.data) + len(data) > self._world.plan.pipe_bytes:
            return False
        self.data += data
        self._tell()
        return True

    def take(self, most: int) -> bytes:
        """At most so many bytes out of it."""
        taken = bytes(self.data[:most])
        del self.data[:most]
        while taken and self._room:
            waiting = self._room.popleft()
            if not waiting.done():
                waiting.set_result(None)
        return taken

    def end(self) -> None:
        """Nothing more is written, or nobody reads any more."""
        self.ended = True
        while self._room:
            waiting = self._room.popleft()
            if not waiting.done():
                waiting.set_result(None)
        self._tell()

    def _tell(self) -> None:
        if self.reader is not None:
            self.reader()


class AgentNode:
    """One agent process on the machine."""

    def __init__(self, world: World, number: int, spec: Spawn, program: Program) -> None:
        self.world = world
        self.id = f"a{number}"
        self.number = number
        self.node = f"agent-{number}"
        self.spec = spec
        self.stdin = Pipe(world)
        self.stdout = Pipe(world)
        self.alive = True
        self.exit: Exit | None = None
        self.kept = spec.kept
        self.waiting = False
        self.about: dict[str, str] = dict(spec.about)
        self.lock = -1
        self.attached: SimProcess | None = None
        self.direct = True
        self.spool = bytearray()
        self.begin = 0
        self.given = 0
        self.stdin_open = True
        context = Context()
        context.run(NODE.set, self.node)
        self.task = world.loop.create_task(self._run(program), name=f"agent {number}", context=context)
        self.task.add_done_callback(lambda _: self._on_end(), context=context)

    async def _run(self, program: Program) -> int:
        async def write(data: bytes) -> None:
            await self.stdout.write(data)

        return await program(self, self._lines(), write)

    async def _lines(self) -> AsyncIterator[bytes]:
        splitter = LineSplitter()
        while True:
            news: asyncio.Future[None] = self.world.loop.create_future()
            self.stdin.reader = lambda news=news: None if news.done() else news.set_result(None)
            if not self.stdin.data:
                if self.stdin.ended:
                    return
                await news
                continue
            block = splitter.feed(self.stdin.take(1 << 20))
            for line in block.lines.splitlines(keepends=True):
                yield line

    def _on_end(self) -> None:
        if self.alive:
            failed = not self.task.cancelled() and self.task.exception() is not None
            self.finish(KILLED if failed or self.task.cancelled() else Exit(code=self.task.result()))

    def finish(self, ending: Exit) -> None:
        """It has ended, one way or the other."""
        if not self.alive:
            return
        self.alive = False
        self.exit = ending
        self.world.loop.kill(self.node)  # at the end of this step: what is told below runs elsewhere
        self.stdout.end()
        self.stdin.end()
        self.drop_lock()
        self.world.log("exit", f"{self.id} {ending.describe()}")
        if self.attached is not None:
            self.attached.hear_of_end()

    def drop_lock(self) -> None:
        """The keeper's copy of the lock goes with the agent."""
        if self.lock >= 0:
            self.world.machine.locks.leave(self.world.machine.locks.copies[self.lock], self.node)
            self.lock = -1

    def drain(self) -> None:
        """Nobody reads it: the keeper does."""
        self.stdout.reader = self._to_spool
        self._to_spool()

    def _to_spool(self) -> None:
        self.spool += self.stdout.take(1 << 30)

    def take_back(self) -> None:
        """The service is gone; what it has read from the pipe itself is not in the spool."""
        if self.direct and self.spool and not self.spool.endswith(b"\n"):
            self.spool += b"\n"
        self.attached = None
        self.direct = False

    def facts(self) -> KeptAgent:
        """What the keeper tells of it."""
        return KeptAgent(
            id=self.id,
            pid=self.number,
            start_time=self.number,
            marker=self.node,
            program=self.spec.argv[0],
            alive=self.alive,
            kept=self.kept,
            waiting=self.waiting,
            attached=self.attached is not None,
            locked=self.lock >= 0,
            stdin=self.stdin_open,
            about=dict(self.about),
            spooled=len(self.spool) - self.begin,
        )


class SimKeeper:
    """The keeper: starts agents, keeps those that are to be kept while no service is there, ends the others."""

    def __init__(self, world: World, programs: dict[str, Program], *, grace_s: float) -> None:
        self._world = world
        self._programs = programs
        self.grace_s = grace_s
        self.agents: dict[str, AgentNode] = {}
        self.alive = True
        self.driver = ""
        self._absences = 0
        self._born = 0

    def spawn(self, spec: Spawn) -> AgentNode:
        """Start an agent."""
        self._born += 1
        agent = AgentNode(self._world, self._born, spec, self._programs[spec.argv[0]])
        self.agents[agent.id] = agent
        self._world.count("agents")
        return agent

    def on_driver_gone(self) -> None:
        """The service has gone: keep what is to be kept, for a while."""
        self.driver = ""
        self._absences += 1
        absence = self._absences
        for agent in list(self.agents.values()):
            if agent.kept and self.grace_s:
                if agent.attached is not None:
                    agent.take_back()
                    agent.drain()
            else:
                self.end(agent)
        if any(agent.kept for agent in self.agents.values()):
            self._world.loop.call_later(self.grace_s, self._on_grace_over, absence, context=Context())

    def _on_grace_over(self, absence: int) -> None:
        if not self.driver and absence == self._absences:
            self._world.log("keeper", "the grace is over")
            for agent in list(self.agents.values()):
                self.end(agent)

    def end(self, agent: AgentNode, ending: Exit = KILLED) -> None:
        """End it and forget it."""
        if agent.alive:
            self._world.machine.ledger.kills.append(self._world.loop.now)
        agent.finish(ending)
        self.agents.pop(agent.id, None)

    def die(self) -> None:
        """The keeper is killed: its agents go with it, and their spools."""
        for agent in list(self.agents.values()):
            self.end(agent)


class SimKeepers:
    """What one life of the service sees of the keeper: the interface of `host.keepers.Keepers`."""

    def __init__(self, world: World, life: Life, keeper: SimKeeper) -> None:
        self._world = world
        self._life = life
        self._keeper = keeper
        keeper.driver = life.node
        self.reaped = Reaped()

    async def spawn(self, spec: Spawn, **_: Any) -> SimProcess:
        world = self._world
        await world.pause("slow_keeper", "spawn")
        if world.chance.yes("spawn fails", world.strength("spawn_fails", 0.2)):
            world.machine.ledger.kills.append(world.loop.now)
            raise SpawnFailed(spec.argv[0], 11, "simulated", stage="fork")
        agent = self._keeper.spawn(spec)
        process = SimProcess(world, agent)
        await world.pause("slow_keeper", "spawned")
        return process

    async def held(self) -> tuple[Held, ...]:
        await self._world.pause("slow_keeper", "list")
        agents = [each for each in self._keeper.agents.values() if each.attached is None]
        return tuple(Held(agent=each.facts(), marker="keeper") for each in agents)

    async def take(self, held: Held, **_: Any) -> SimProcess:
        await self._world.pause("slow_keeper", "attach")
        agent = self._keeper.agents.get(held.agent.id)
        if agent is None:
            raise KeeperGone("it ended meanwhile")
        self._world.count("reattached")
        return SimProcess(self._world, agent, taken=True)

    def end(self, held: Held) -> None:
        agent = self._keeper.agents.get(held.agent.id)
        if agent is not None:
            self._keeper.end(agent)

    async def leave(self) -> None:
        """Let go of the keeper."""

    async def close(self) -> None:
        """End everything."""
        for agent in list(self._keeper.agents.values()):
            self._keeper.end(agent, Exit(signal=15))


class SimProcess:
    """One agent as the service has it: the interface of `host.child.Process`."""

    layers = 0

    def __init__(self, world: World, agent: AgentNode, *, taken: bool = False) -> None:
        self._world = world
        self._agent = agent
        self.id = agent.id
        self.pid = agent.number
        self.marker = agent.node
        self.program = agent.spec.argv[0]
        self._context = Context()
        self._context.run(NODE.set, NODE.get())
        self._splitter = LineSplitter()
        self._blocks: deque[Block] = deque()
        self._unread = 0
        self._taken = 0
        self._came_ahead = 0
        self._stopped = False
        self._closed = False
        self._left = False
        self._ended = False
        self._scheduled = False
        self._reader: asyncio.Future[None] | None = None
        self._exit: asyncio.Future[Exit] = world.loop.create_future()
        self._ending: asyncio.Task[None] | None = None
        self._before: Callable[[], None] = lambda: None
        self._nothing: Callable[[], None] = lambda: None
        self._last = False
        self._writing = asyncio.Lock()
        self._node = NODE.get()
        self._lock = agent.lock if taken else -1
        self.direct = not taken
        self._ahead = agent.begin if taken else -1
        agent.attached = self
        agent.direct = not taken
        agent.given = agent.begin
        agent.stdout.reader = self._schedule
        self._schedule()
        if not agent.alive:
            self.hear_of_end()

    # -------------------------------------------------------------------------------------------- reading

    def _schedule(self) -> None:
        """Look into the pipe soon: as a callback of this life, which dies with it."""
        if self._scheduled or self._stopped or self._closed or self._unread > HIGH_WATER:
            return
        self._scheduled = True
        wait = 0.0 if self._ahead >= 0 else self._world.delay("slow_wire", "pipe")
        self._world.loop.call_later(wait, self._pump, context=self._context)

    def _pump(self) -> None:
        self._scheduled = False
        if self._stopped or self._closed:
            return
        agent = self._agent
        self._before()
        if self._ahead >= 0:
            chunk = bytes(agent.spool[self._ahead : self._ahead + 1500])
            self._ahead += len(chunk)
            self._came_ahead += len(chunk)
            self._add(self._splitter.feed(chunk))
            if not chunk:
                self._ahead = -1
                self.direct = agent.direct = True
            self._schedule()
            return
        most = 37 if self._world.chance.yes("torn read", self._world.strength("torn_reads", 0.5)) else 1 << 20
        chunk = agent.stdout.take(most)
        if not chunk:
            if agent.stdout.ended:
                self._end()
            self._nothing()
            return
        self._add(self._splitter.feed(chunk))
        if agent.stdout.data or agent.stdout.ended:
            self._schedule()

    def _add(self, block: Block) -> None:
        if block.lines or block.oversize:
            self._blocks.append(block)
            self._unread += len(block.lines)
            self._wake()

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._add(self._splitter.finish())
            self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    async def read(self) -> Block | None:
        while not self._blocks or self._stopped:
            if self._ended or self._stopped or self._closed:
                return None
            self._reader = self._world.loop.create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        block = self._blocks.popleft()
        self._taken += len(block.lines)
        self._unread -= len(block.lines)
        self._schedule()
        return block

    @property
    def emptied(self) -> bool:
        return not self._blocks and not self._splitter.pending()

    def tell_reads(self, before: Callable[[], None], nothing: Callable[[], None]) -> None:
        self._before, self._nothing = before, nothing

    def stop_reading(self) -> None:
        self._stopped = True
        self._wake()

    # -------------------------------------------------------------------------------------------- writing

    async def write(self, data: bytes) -> None:
        if self._last or not self._agent.alive:
            raise self._gone()
        async with self._writing:
            try:
                await self._agent.stdin.write(data)
            except BrokenPipeError:
                raise self._gone() from None

    def write_now(self, data: bytes) -> bool:
        ready = not self._last and self._agent.alive and not self._writing.locked()
        return ready and self._agent.stdin.write_now(data)

    def close_stdin(self) -> None:
        self._last = True
        self._agent.stdin_open = False
        self._agent.stdin.end()

    def _gone(self) -> EngineGone:
        return EngineGone(self.program, "it has ended" if not self._agent.alive else "its stdin is closed")

    @property
    def torn(self) -> bool:
        return self._writing.locked()

    # ------------------------------------------------------------------------------------------------ end

    def hear_of_end(self) -> None:
        """The keeper tells of its end, a moment later."""
        wait = self._world.delay("slow_keeper", "exited")
        self._world.loop.call_later(wait, self._take_exit, context=self._context)

    def _take_exit(self) -> None:
        if not self._exit.done() and self._agent.exit is not None:
            self._exit.set_result(self._agent.exit)
            self._schedule()

    @property
    def exit(self) -> Exit | None:
        return self._exit.result() if self._exit.done() else None

    async def wait(self) -> Exit:
        return await asyncio.shield(self._exit)

    async def end(self, *, close_wait: float | None = 2.0, term_wait: float = 3.0) -> Exit:
        if self._ending is None:
            self._ending = self._world.loop.create_task(
                self._climb(close_wait), name=f"end agent {self.id}", context=self._context.copy()
            )
        await asyncio.shield(self._ending)
        return self._exit.result()

    async def _climb(self, close_wait: float | None) -> None:
        if close_wait is not None:
            self.close_stdin()
        if close_wait:
            await asyncio.wait((self._exit,), timeout=close_wait)
        if not self._exit.done():
            await self._world.pause("slow_keeper", "terminate")
            self._agent.finish(Exit(signal=15))
        await asyncio.wait((self._exit,))
        while not self._ended and not self._stopped:
            self._pump()

    def signal(self, signum: int) -> None:
        self._agent.finish(Exit(signal=signum))

    def stderr_tail(self, limit: int = 0) -> str:
        return ""

    def listen_errors(self, take: Callable[[bytes], None]) -> None:
        """No simulated agent writes to stderr."""

    # ------------------------------------------------------------------------------------------ being kept

    def note(self, *, kept: bool | None = None, waiting: bool | None = None, **about: str) -> None:
        agent = self._agent
        agent.kept = agent.kept if kept is None else kept
        agent.waiting = agent.waiting if waiting is None else waiting
        agent.about.update(about)

    def take_lock(self) -> int:
        lock, self._lock = self._lock, -1
        return lock

    def hold(self, lock: int) -> None:
        agent = self._agent
        if agent.alive:
            agent.drop_lock()
            agent.lock = lock
            self._world.machine.locks.share(lock, agent.node)

    def settle(self) -> None:
        agent = self._agent
        taken = min(self._taken, self._came_ahead)
        if self._ahead < 0 and self._taken >= self._came_ahead:
            agent.spool.clear()
            agent.begin = 0
            self._came_ahead = self._taken = 0
        else:
            agent.begin = max(agent.begin, agent.given + taken)

    def release(self) -> None:
        if not self._left:
            self._agent.kept = False
            if not self._agent.alive and self._world.keeper is not None:
                self._world.keeper.agents.pop(self.id, None)

    @property
    def left(self) -> bool:
        return self._left

    def leave(self) -> None:
        if self._left:
            return
        self._left = self._closed = True
        agent = self._agent
        if self.direct:
            agent.spool.clear()
            agent.begin = 0
        else:
            self.settle()
        unread = b"" if self._ahead >= 0 else b"".join(block.lines for block in self._blocks) + self._splitter.pending()
        self._blocks.clear()
        agent.attached = None
        agent.direct = False
        agent.spool += unread
        agent.drain()
        if not self._exit.done():
            self._exit.set_result(LEFT_TO_KEEPER)
