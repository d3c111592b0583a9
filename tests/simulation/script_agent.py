"""The scripted agent: asks, works, goes on without the service, and has a transcript that outlives it.

Unlike the mock agent it keeps what it was told and what it did where no crash of the service reaches (`Transcript`,
`AgentLedger`), so that checks can say whether a call ran twice, ran though it was denied, or ran before its answer was
stored. Its wire is JSON lines of one `Line` each. Prompts, by their first word:

    talk N       N pieces of a message             ask N        N calls, each asks first
    work         a call that asks nobody           task         a task that goes on after the turn
    limit        a usage limit that is over soon   stay         ends only when it is interrupted
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from tests.simulation.engines import AgentKilled

if TYPE_CHECKING:
    from tests.simulation.keeper import AgentNode
    from tests.simulation.world import World

AGAIN = "again "
Write = Callable[[bytes], Awaitable[None]]


class Line(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One line of the wire, in either direction."""

    type: str
    id: str = ""
    call: str = ""
    text: str = ""
    input: str = ""
    when: str = ""
    ok: bool = True
    stop: str = ""
    at: float = 0.0


read_line = msgspec.json.Decoder(Line).decode


def encode(line: Line) -> bytes:
    return msgspec.json.encode(line) + b"\n"


# ------------------------------------------------------------------------------------------- on the machine


class Deed(msgspec.Struct):
    """A call as the agent's own transcript has it."""

    id: str
    input: str
    running: bool = False
    parked: bool = False
    """The service has prepared it: the next process asks for it again."""
    result: str | None = None
    is_error: bool = False


class Transcript(msgspec.Struct):
    """What the agent has written down of one conversation."""

    session: str
    begun: list[str] = []
    deeds: dict[str, Deed] = {}
    calls: int = 0


class ScriptAgent:
    """One process of the scripted agent."""

    def __init__(self, agent: AgentNode, write: Write) -> None:
        self._world: World = agent.world
        self._agent = agent
        self._write = write
        self._one_line = asyncio.Lock()
        _, self._session, how = agent.spec.argv
        scripts = self._world.machine.scripts
        self._resumed = how == "resume" and self._session in scripts
        self._transcript = scripts.setdefault(self._session, Transcript(self._session))
        self._queue: deque[Line] = deque()
        self._news = asyncio.Event()
        self._answers: dict[str, asyncio.Future[Line]] = {}
        self._stopped = asyncio.Event()
        self._asked = 0
        self._turning = False
        self._steered: list[str] = []
        self._known: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, lines: AsyncIterator[bytes]) -> int:
        """Until the end of stdin."""
        reading = self._world.loop.create_task(self._read(lines), name="script: read")
        working = self._world.loop.create_task(self._work(), name="script: work")
        await asyncio.wait((reading, working), return_when=asyncio.FIRST_COMPLETED)
        for task in (reading, working):
            if task.done() and task.exception() is not None:
                raise task.exception()  # type: ignore[misc]
        return 0

    async def _say(self, line: Line) -> None:
        await self._world.pause("slow_wire", "wire out")
        self._may_die(0.02)
        async with self._one_line:  # a turn and its task would mix their lines on a full pipe
            await self._write(encode(line))

    def _may_die(self, most: float) -> None:
        world = self._world
        if world.chance.yes("agent dies", world.strength("agent_dies", most)):
            world.machine.ledger.kills.append(world.loop.now)
            raise AgentKilled("by the plan")

    async def _read(self, lines: AsyncIterator[bytes]) -> None:
        world = self._world
        async for raw in lines:
            await world.pause("slow_wire", "wire in")
            if world.chance.yes("deaf", world.strength("deaf", 0.2)):
                world.count("deaf")
                await asyncio.sleep(world.chance.pick("deaf for", (0.5, 5.0, 45.0)))
            line = read_line(raw)
            match line.type:
                case "prompt":
                    self._take_prompt(line)
                case "answer":
                    waiting = self._answers.pop(line.id, None)
                    if waiting is not None and not waiting.done():
                        world.machine.ledger.answered[line.id] = world.machine.ledger.answered.get(line.id, 0) + 1
                        waiting.set_result(line)
                case "withdraw":
                    for each in [each for each in self._queue if each.id == line.id]:
                        self._queue.remove(each)
                        await self._say(Line(type="withdrawn", id=each.id))
                case "interrupt":
                    if self._turning:
                        self._stopped.set()
                case _:
                    pass

    def _take_prompt(self, line: Line) -> None:
        """Take it, unless this process has it already: it knows prompts by their ids, as the Claude CLI does."""
        if line.id in self._known:
            return
        self._known.add(line.id)
        serial = line.text.rsplit(" ", 1)[-1]
        if serial.isdigit() and not line.text.startswith(AGAIN):
            self._world.note_prompt(int(serial), self._agent.node)
        if line.when == "steer" and self._turning:
            self._steered.append(line.id)
            return
        if line.when == "now" and self._turning:
            self._queue.appendleft(line)
            self._stopped.set()
        else:
            self._queue.append(line)
        self._news.set()

    async def _work(self) -> None:
        await self._say(Line(type="ready", id=self._session))
        waiting = [deed for deed in self._transcript.deeds.values() if deed.result is None] if self._resumed else []
        parked = [deed for deed in waiting if deed.parked]
        for deed in waiting:
            if not deed.parked:
                deed.result, deed.is_error = "interrupted", True
        if parked:
            await self._turn(None, parked[-1])
        while True:
            while self._queue:
                await self._turn(self._queue.popleft(), None)
            self._news.clear()
            await self._news.wait()

    async def _turn(self, prompt: Line | None, deed: Deed | None) -> None:
        """One turn: of a prompt, or of a call that waited when the last process ended."""
        self._turning = True
        self._stopped.clear()
        if prompt is not None:
            self._transcript.begun.append(prompt.id)
            await self._say(Line(type="turn", id=prompt.id, text=prompt.text))
        try:
            ok = await (self._play(prompt.text) if prompt is not None else self._ask(deed))  # type: ignore[arg-type]
        except TimeoutError:
            ok = False
        for name in self._steered:
            await self._say(Line(type="steered", id=name))
        self._steered.clear()
        self._turning = False
        stopped = self._stopped.is_set()
        await self._say(Line(type="end", ok=ok and not stopped, stop="interrupted" if stopped else ""))

    async def _play(self, text: str) -> bool:
        words = text.split()
        count = int(words[1]) if len(words) > 2 and words[1].isdigit() else 1
        match words[0]:
            case "ask" | "work":
                for place in range(count):
                    if not self._stopped.is_set():
                        await self._do(f"{words[-1]}/{place}", asks=words[0] == "ask")
            case "again":
                await self._do(words[1], asks=True)
            case "stay":
                await self._stopped.wait()
            case "task":
                task = self._world.loop.create_task(self._background(words[-1]), name="script: task")
                self._tasks.add(task)
            case "limit":
                await self._say(Line(type="limit", at=self._world.wall() + 2.0))
                return False
            case _:
                for place in range(count):
                    await self._say(Line(type="delta", text=f"piece {place} "))
        await self._say(Line(type="message", text=f"done {text}"))
        return True

    async def _background(self, name: str) -> None:
        await self._say(Line(type="task", id=f"task-{name}"))
        await asyncio.sleep(1.5)
        await self._say(Line(type="task_end", id=f"task-{name}"))

    async def _do(self, given: str, *, asks: bool) -> None:
        self._transcript.calls += 1
        deed = Deed(f"{self._session[:4]}-call-{self._transcript.calls}", given)
        self._transcript.deeds[deed.id] = deed
        await self._say(Line(type="call", call=deed.id, input=given))
        await (self._ask(deed) if asks else self._run(deed))

    async def _ask(self, deed: Deed) -> bool:
        """Ask, wait for the answer or the interrupt, and do what was answered."""
        self._asked += 1
        name = f"{self._agent.node}-r{self._asked}"
        answer: asyncio.Future[Line] = self._world.loop.create_future()
        self._answers[name] = answer
        await self._say(Line(type="ask", id=name, call=deed.id, input=deed.input))
        stopping = self._world.loop.create_task(self._stopped.wait())
        await asyncio.wait((answer, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not answer.done():
            await self._say(Line(type="result", call=deed.id, text="interrupted", ok=False, stop="cancelled"))
            await self._write_down(deed, "interrupted", is_error=True)
            return False
        await self._say(Line(type="applied", id=name))
        if answer.result().ok:
            await self._run(deed)
            return True
        await self._say(Line(type="result", call=deed.id, text="denied", ok=False, stop="denied"))
        await self._write_down(deed, "denied", is_error=True)
        return True

    async def _run(self, deed: Deed) -> None:
        """Carry it out: here it has its effect, then it is told, then it is written down, as the real CLI does it."""
        deed.running = True
        ledger = self._world.machine.ledger
        ledger.ran[deed.input] = ledger.ran.get(deed.input, 0) + 1
        await self._world.pause("slow_wire", "deed")
        await self._say(Line(type="result", call=deed.id, text="ran"))
        await self._write_down(deed, "ran")

    async def _write_down(self, deed: Deed, result: str, *, is_error: bool = False) -> None:
        await self._world.pause("slow_wire", "transcript")
        self._may_die(0.5)
        deed.result, deed.is_error = result, is_error


async def run_script(agent: AgentNode, lines: AsyncIterator[bytes], write: Write) -> int:
    """The scripted agent's program."""
    return await ScriptAgent(agent, write).serve(lines)
