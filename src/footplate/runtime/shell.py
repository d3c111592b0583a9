"""A person's own command in a session's folder: its output is shown, and told to the agent with the next prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from footplate.events.model import CommandRan
from footplate.events.view import CommandItem, SessionView
from footplate.host.child import Process
from footplate.host.environment import build_environment
from footplate.host.spawn import Spawn
from footplate.host.spawner import Spawner

OUTPUT_LIMIT = 64 * 1024
TIMEOUT_S = 120.0


async def run_shell(
    keeper: Spawner, command: str, *, cwd: str, environ: Mapping[str, str], timeout_s: float = TIMEOUT_S
) -> CommandRan:
    """Run it with `sh -c`, both outputs as one; what goes beyond the limit of bytes or seconds is cut and said so."""
    env = build_environment(environ)
    process = await keeper.spawn(Spawn(argv=("/bin/sh", "-c", f"exec 2>&1\n{command}"), env=env, cwd=cwd))
    process.close_stdin()
    ran = await collect_output(process, timeout_s)
    return CommandRan(command=command, output=ran.text + ran.cut, exit_code=ran.code, truncated=bool(ran.cut))


class Output(msgspec.Struct, frozen=True):
    """What a program wrote, why that is not all of it, and its exit code."""

    text: str
    cut: str
    code: int | None


async def collect_output(process: Process, timeout_s: float) -> Output:
    """Read to its end, or to a limit, and let it go."""
    output = bytearray()
    cut = ""
    try:
        async with asyncio.timeout(timeout_s):
            cut = await _collect(process, output)
    except TimeoutError:
        cut = f"\n[stopped after {timeout_s:g} s]"
    finally:
        ended = await process.end(close_wait=0.0 if cut else 2.0)
    return Output(output.decode(errors="replace"), cut, ended.code)


async def _collect(process: Process, output: bytearray) -> str:
    """Read to the end, or to the limit; what to say when it was cut."""
    while (block := await process.read()) is not None:
        room = OUTPUT_LIMIT - len(output)
        output += block.lines[:room]
        if len(block.lines) > room or block.oversize:
            return f"\n[cut after {OUTPUT_LIMIT} bytes]"
    return ""


def as_context(ran: CommandRan) -> str:
    """What the agent is told of it."""
    code = "" if ran.exit_code is None else f" (exit code {ran.exit_code})"
    return f"The user ran a command in the working folder{code}:\n$ {ran.command}\n{ran.output}".rstrip()


def untold_commands(view: SessionView) -> list[CommandRan]:
    """The commands that ran since the last turn began: the agent has not heard of them."""
    last = max((turn.started_at for turn in view.turns), default=0.0)
    return [
        CommandRan(command=item.command, output=item.output, exit_code=item.exit_code, truncated=item.truncated)
        for item in view.items
        if isinstance(item, CommandItem) and item.at >= last
    ]
