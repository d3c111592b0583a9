"""An interrupt while a hundred thousand messages wait unread: how soon the agent hears it, and we its answer.

Ours is a runner whose events nobody takes. The raw way is a loop on the same pipe, which has to read all that stands
before the answer as well: once looking for the answer in the bytes only, once decoding every line on the way.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from bench import streams
from bench.contenders.ours import PROMPT
from bench.contenders.pipe import CHUNK
from bench.contenders.report import spent
from bench.goals import Verdict
from bench.sheet import Sheet, middle, spread
from bench.stage import Stage
from footplate.engines.base import Installed, Options
from footplate.engines.catalog import make_engine
from footplate.events.commands import Interrupt
from footplate.host.process import Keeper
from footplate.runtime.runner import Runner

FACTOR: Final = 1.5
ALLOWANCE_MS: Final = 50.0
QUIET_S: Final = 0.1
OURS, SCANNED, DECODED = "ours: runner, nobody reads", "raw: bytes searched", "raw: every line decoded"
HEAD: Final = ("ms after the interrupt", "heard by the agent", "lowest-highest", "answer seen", "lowest-highest")
ANSWERED: Final = b'{"type": "control_response"'


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured."""

    messages: int = 100_000
    rounds: int = 5


QUICK: Final = Scale(messages=20_000, rounds=1)


class Moment(msgspec.Struct, frozen=True):
    """Milliseconds from asking until the agent knew, and until we knew that it does."""

    heard_ms: float
    answered_ms: float


class Flooding(msgspec.Struct, frozen=True):
    """The fake CLI, and where it notes the moment of the interrupt."""

    program: Path
    heard: Path
    environment: dict[str, str]

    def moment(self, begun: float) -> Moment:
        """What became of an interrupt whose answer has just been seen."""
        answered = time.monotonic()
        return Moment((float(self.heard.read_text()) - begun) * 1e3, (answered - begun) * 1e3)


def measure_interrupt(stage: Stage, scale: Scale) -> Sheet:
    """All ways in turn, each round with another one first."""
    flooding = _prepare(stage, scale.messages)
    ways: list[tuple[str, Callable[[Flooding], Moment]]] = [
        (OURS, lambda flooding: asyncio.run(ours(flooding))),
        (SCANNED, lambda flooding: raw(flooding, scan)),
        (DECODED, lambda flooding: raw(flooding, decode)),
    ]
    moments: defaultdict[str, list[Moment]] = defaultdict(list)
    for number in range(scale.rounds):
        for place in range(len(ways)):
            name, run = ways[(place + number) % len(ways)]
            moments[name].append(run(flooding))
    return _sheet(moments, scale)


def _prepare(stage: Stage, messages: int) -> Flooding:
    """The fake CLI as an executable."""
    stream = streams.deltas(messages)
    block, heard, program = (stage.home / name for name in ("flood.block", "flood.heard", "claude-flood"))
    block.write_bytes(stream.block)
    player = Path(__file__).with_name("flood.py")
    arguments = [sys.executable, "-IS", str(player), str(block), str(stream.repetitions), str(heard)]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(arguments)} "$@"\n')
    program.chmod(0o755)
    return Flooding(program, heard, dict(stage.environment))


# ------------------------------------------------------------------------------------------------------- ours


async def ours(flooding: Flooding) -> Moment:
    """A runner that is asked to interrupt when it has long stopped reading."""
    engine = make_engine("claude")
    installed = Installed(engine="claude", program=str(flooding.program), version="2.1.325")
    options = Options(cwd=str(flooding.program.parent), partial=True)
    async with Keeper.start() as keeper:
        runner = await Runner.start(engine, installed, options, keeper=keeper, environ=flooding.environment)
        try:
            while not runner.ready:  # noqa: ASYNC110 - an answer that is due would have everything read
                await asyncio.sleep(0.01)
            runner.send(PROMPT)
            await _until_quiet()
            begun = time.monotonic()
            await runner.ask(Interrupt(key="stop"))
            return flooding.moment(begun)
        finally:
            await runner.end(close_wait=0.0)


async def _until_quiet() -> None:
    """Until this process has nothing to do any more: all is read that will be."""
    await asyncio.sleep(QUIET_S * 3)
    before = spent()
    while True:
        await asyncio.sleep(QUIET_S)
        now = spent()
        if now - before < 0.005:
            return
        before = now


# -------------------------------------------------------------------------------------------------------- raw


def raw(flooding: Flooding, until_answered: Callable[[int], None]) -> Moment:
    """The same on a bare pipe that is not read until the interrupt is sent."""
    with _pipe(flooding) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(_line({"type": "user", "message": {"role": "user", "content": "play"}}))
        time.sleep(QUIET_S * 4)
        begun = time.monotonic()
        child.stdin.write(_line({"type": "control_request", "request_id": "stop", "request": {"subtype": "interrupt"}}))
        until_answered(child.stdout.fileno())
        return flooding.moment(begun)


@contextmanager
def _pipe(flooding: Flooding) -> Iterator[subprocess.Popen[bytes]]:
    argv = [str(flooding.program), "-p", "--input-format", "stream-json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        argv, stdin=pipe, stdout=pipe, env=flooding.environment, cwd=flooding.program.parent, bufsize=0
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def scan(descriptor: int) -> None:
    """Read until the answer stands somewhere; it may be cut in two."""
    last = b""
    while chunk := os.read(descriptor, CHUNK):
        if ANSWERED in last + chunk:
            return
        last = chunk[-len(ANSWERED) :]
    raise EOFError("the fake CLI ended before it answered")


def decode(descriptor: int) -> None:
    """Read and decode line by line until the answer."""
    rest = b""
    while chunk := os.read(descriptor, CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        if "control_response" in [json.loads(line)["type"] for line in lines]:
            return
    raise EOFError("the fake CLI ended before it answered")


def _line(frame: dict[str, object]) -> bytes:
    return json.dumps(frame).encode() + b"\n"


# -------------------------------------------------------------------------------------------------- the sheet


def _sheet(moments: dict[str, list[Moment]], scale: Scale) -> Sheet:
    heard = {name: [each.heard_ms for each in found] for name, found in moments.items()}
    answered = {name: [each.answered_ms for each in found] for name, found in moments.items()}
    return Sheet(
        name="interrupt",
        title=f"{scale.messages} unread messages wait, median of {scale.rounds}",
        head=HEAD,
        rows=tuple(_cells(name, heard[name], answered[name]) for name in (OURS, SCANNED, DECODED)),
        samples={
            **{f"{name}, answered ms": found for name, found in answered.items()},
            **{f"{name}, heard ms": found for name, found in heard.items()},
        },
        goals=(
            _judge("heard by the agent", heard[OURS], heard[SCANNED], "the raw pipe"),
            *(_judge("answered", answered[OURS], answered[name], name) for name in (SCANNED, DECODED)),
        ),
    )


def _cells(name: str, heard: list[float], answered: list[float]) -> tuple[str, ...]:
    return (name, middle(heard, ".1f"), spread(heard, ".1f"), middle(answered, ".0f"), spread(answered, ".0f"))


def _judge(what: str, found: list[float], unit: list[float], name: str) -> Verdict:
    """At most the factor plus the allowance, by the median of the rounds."""
    ours_ms, raw_ms = statistics.median(found), statistics.median(unit)
    limit = FACTOR * raw_ms + ALLOWANCE_MS
    return Verdict(
        goal=f"interrupt: {what} within {FACTOR:g}x + {ALLOWANCE_MS:g} ms of {name}",
        found=f"{ours_ms:.0f} ms, at most {limit:.0f} ms ({ours_ms / raw_ms:.2f}x)",
        met=ours_ms <= limit,
    )
