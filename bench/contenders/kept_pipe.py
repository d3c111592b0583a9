"""Lines through the service's end of a pipe: of a plain child, or of an agent that a keeper keeps copies of."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from bench.contenders.report import report, spent
from footplate.host.child import Process
from footplate.host.keepers import Keepers
from footplate.host.pipes import LinePipe
from footplate.host.spawn import Spawn


async def plain(fake: str) -> tuple[int, float]:
    """A child of our own."""
    with subprocess.Popen([fake], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:  # noqa: ASYNC220
        assert child.stdout is not None
        return await _count(LinePipe(os.dup(child.stdout.fileno()), on_closed=lambda: None))


async def kept(fake: str, folder: str) -> tuple[int, float]:
    """An agent under a keeper that outlives us."""
    keepers = await Keepers.open(Path(folder), grace_s=60.0)
    try:
        process = await keepers.spawn(Spawn(argv=(fake,), env={}, cwd="/", kept=True))
        process.close_stdin()
        counted = await _count(process)
        await process.end()
        return counted
    finally:
        await keepers.close()


async def _count(source: LinePipe | Process) -> tuple[int, float]:
    begun, lines = spent(), 0
    while (block := await source.read()) is not None:
        lines += block.lines.count(b"\n")
    return lines, spent() - begun


def main(way: str, fake: str, folder: str) -> None:
    """Count the lines one way."""
    lines, cpu_s = asyncio.run(plain(fake) if way == "plain" else kept(fake, folder))
    report(lines, cpu_s)


if __name__ == "__main__":
    main(*sys.argv[1:])
