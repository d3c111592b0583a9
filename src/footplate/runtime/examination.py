"""The examination of an agent: what a drill of it found, and the drill of a server, which is a process of its own.

The drill stands on a scripted model, above this floor: it is `footplate agents doctor`, started as anybody starts it.
What it costs, and what it may leave, goes with its process.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from footplate.errors import Conflict, EngineGone
from footplate.host.child import Process
from footplate.host.spawn import Spawn
from footplate.host.spawner import Spawner
from footplate.runtime.errands import State

TIMEOUT_S: Final = 600.0
TERM_WAIT_S: Final = 10.0
"""How long a drill that is stopped has to end its agent and to tidy up."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a drill: how it went, in words when it went wrong. `skipped`: why it was not tried, if it was not."""

    name: str
    ok: bool
    problem: str = ""
    seconds: float = 0.0
    skipped: str = ""


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about one agent.

    `unparsed` are lines of it that we cannot read, `new` are kinds of lines and fields that we have never seen of it,
    `lines` is how many lines it said.
    """

    agent: str
    version: str
    ok: bool
    steps: tuple[Step, ...]
    unparsed: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    lines: int = 0


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What `footplate agents doctor --json` says at its end."""

    ok: bool
    agents: tuple[Examined, ...]


class Examination(msgspec.Struct, kw_only=True):
    """An examination by this server, under way or the last one. `found` is there once it is done.

    `steps` grows while it runs; `state` is `failed` when it could not be carried out at all (`problem` says why), and
    `done` whatever it found.
    """

    state: State = "running"
    steps: tuple[Step, ...] = ()
    found: Examined | None = None
    problem: str = ""
    started_at: float = 0.0
    ended_at: float | None = None


class Examiner:
    """Examines agents, each once at a time, and keeps what came of it."""

    def __init__(self, environ: Mapping[str, str], data: Path) -> None:
        self._env = {**environ, "FOOTPLATE_DATA_DIR": str(data)}
        self.known: dict[str, Examination] = {}

    async def examine(self, agent: str, keeper: Spawner) -> None:
        """Examine an agent that is installed. Raises `EngineGone` when the drill cannot be carried out."""
        before = self.known.get(agent)
        if before is not None and before.state == "running":
            raise Conflict(f"{agent} is being examined; ask again when that is over")
        examination = self.known[agent] = Examination(started_at=time.time())
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await self._drill(agent, keeper, examination)
        except BaseException as problem:
            examination.state = "failed"
            examination.problem = str(problem) or "it was stopped"
            raise
        finally:
            examination.ended_at = time.time()
        examination.state = "done"

    async def _drill(self, agent: str, keeper: Spawner, examination: Examination) -> None:
        argv = (sys.executable, "-P", "-m", "footplate", "agents", "doctor", agent, "--json", "--steps")
        process = await keeper.spawn(Spawn(argv=argv, env=self._env, cwd="/"))
        process.close_stdin()
        try:
            await _listen(process, examination)
            await process.wait()
        finally:
            ended = await process.end(close_wait=None, term_wait=TERM_WAIT_S)
        if examination.found is None:
            said = process.stderr_tail().strip().removeprefix("footplate: ")
            raise EngineGone(agent, said or f"its drill ended without a word: {ended.describe()}")


async def _listen(process: Process, examination: Examination) -> None:
    """Take in a step per line, and the report at the end."""
    while (block := await process.read()) is not None:
        for line in block.lines.splitlines():
            told = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
            if "step" in told:
                examination.steps += (msgspec.json.decode(told["step"], type=Step),)
            else:
                (examination.found,) = msgspec.json.decode(line, type=Report).agents
