"""Installing an engine's program: the engine says how, the keeper runs it, the engine puts it in its place."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from footplate.engines.base import Engine, Installable
from footplate.errors import InstallFailed
from footplate.host.spawn import Spawn
from footplate.host.spawner import Spawner

TIMEOUT_S: Final = 600.0
TAIL: Final = 2000


async def install_engine(engine: Engine, keeper: Spawner, environ: Mapping[str, str], *, version: str) -> str:
    """Install it, at that version or the latest; where the program is. Raises `InstallFailed` with the last words."""
    if not isinstance(engine, Installable):
        raise InstallFailed(engine.name, "Footplate does not install it; put its program on the PATH")
    plan = engine.plan_install(environ, version)
    code, said = await _run(keeper, plan.argv, plan.env, plan.cwd)
    if code != 0:
        raise InstallFailed(engine.name, f"{plan.argv[0]} ended with {code}: {said[-TAIL:].strip() or 'no word'}")
    return await asyncio.to_thread(engine.settle_install, environ)


async def _run(keeper: Spawner, argv: tuple[str, ...], env: Mapping[str, str], cwd: str) -> tuple[int | None, str]:
    Path(cwd).mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 - one folder, before minutes of npm
    shell = ("/bin/sh", "-c", 'exec 2>&1; exec "$@"', argv[0], *argv)
    process = await keeper.spawn(Spawn(argv=shell, env=dict(env), cwd=cwd))
    process.close_stdin()
    said = bytearray()
    try:
        async with asyncio.timeout(TIMEOUT_S):
            while (block := await process.read()) is not None:
                said += block.lines
                del said[:-TAIL]
    except TimeoutError:
        said += f"\nnot done after {TIMEOUT_S:g} s".encode()
    finally:
        ended = await process.end(close_wait=2.0)
    return ended.code, said.decode(errors="replace")
