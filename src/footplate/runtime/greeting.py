"""Saying hello to a program: it is started, greeted and ended; its answer says whether it is an agent at all."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from typing import Final

from footplate.engines.distribution import Wire
from footplate.engines.greeting import Greeted, hello, read_hello
from footplate.errors import EngineGone, HostError
from footplate.host.child import Process
from footplate.host.spawn import Spawn
from footplate.host.spawner import Spawner

PATIENCE_S: Final = 90.0
"""Some agents take 15 s and more for their first words, on a busy machine a multiple of that."""
TAIL: Final = 600


async def greet(
    keeper: Spawner, argv: tuple[str, ...], env: Mapping[str, str], wire: Wire, *, patience_s: float = PATIENCE_S
) -> Greeted:
    """Start the program, say hello, and see it out. One that cannot be talked to is `refused`, with the reason."""
    with tempfile.TemporaryDirectory(prefix="footplate-greeting-") as folder:
        try:
            process = await keeper.spawn(Spawn(argv=argv, env=dict(env), cwd=folder))
        except HostError as problem:
            return Greeted(refused=str(problem))
        found, reason = None, ""
        try:
            async with asyncio.timeout(patience_s):
                await process.write(hello(wire))
                found = await _answer(process, wire)
        except TimeoutError:
            reason = f"no answer to the first words in {patience_s:g} s"
        except EngineGone:
            found = None  # its end tells more
        finally:
            ended = await process.end(close_wait=1.0, term_wait=2.0)
        reason = reason or f"it ended without an answer: {ended.describe()}"
        return found or Greeted(refused=f"{reason}{_last_words(process)}")


async def _answer(process: Process, wire: Wire) -> Greeted | None:
    while (block := await process.read()) is not None:
        for line in block.lines.split(b"\n"):
            found = read_hello(wire, line)
            if found is not None:
                return found
    return None


def _last_words(process: Process) -> str:
    said = process.stderr_tail(TAIL).strip()
    return f"; it said: {said}" if said else ""
