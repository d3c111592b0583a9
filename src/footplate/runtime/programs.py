"""A program that is run to its end for what it says, with an environment of its own."""

from __future__ import annotations

from collections.abc import Mapping

from footplate.host.spawn import Spawn
from footplate.host.spawner import Spawner
from footplate.runtime.shell import collect_output


async def run_program(
    keeper: Spawner, argv: tuple[str, ...], *, cwd: str, env: Mapping[str, str], timeout_s: float
) -> str:
    """What it wrote to its output; what it did not write in time is missing."""
    process = await keeper.spawn(Spawn(argv=argv, env=dict(env), cwd=cwd))
    process.close_stdin()
    return (await collect_output(process, timeout_s)).text
