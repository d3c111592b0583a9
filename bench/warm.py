"""A warm turn: the CPU of our process in a session on the real Claude CLI, over that of a bare loop on the same CLI.

The model is scripted, so every turn says the same. Each contender is a process of its own that has its CLI running;
they take their turns one after another, so that a busy machine is busy for all of them.
"""

from __future__ import annotations

import signal
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from operator import sub
from pathlib import Path
from typing import Final

import msgspec

from bench.recorded import PROSE
from bench.roster import module
from bench.sheet import Sheet, below, middle, spread
from bench.stage import ROOT, NotMeasured, Stage
from footplate.testing.agents import claude_binary
from footplate.testing.closed import MINIMAL_PATH, closed_environment
from footplate.testing.messages import ScriptedMessages, script, tool

GOAL_MS: Final = 5.0
WARM_UP: Final = 2
ITEMS: Final = 10_000
RAW, OURS, LONG = "raw CLI", "ours", f"ours after {ITEMS} items"
HEAD: Final = ("per turn", "CPU ms", "lowest-highest", "over raw", "lowest-highest", "time ms")


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured."""

    turns: int = 40


QUICK: Final = Scale(turns=3)


class Turn(msgspec.Struct, frozen=True):
    """What one turn took."""

    cpu_ms: float
    wall_ms: float


Samples = defaultdict[tuple[str, str], list[Turn]]


def measure_warm(stage: Stage, scale: Scale) -> Sheet:
    """Every contender and every prompt, turn by turn."""
    title = f"warm turns on the real CLI, median of {scale.turns}"
    samples: Samples = defaultdict(list)
    try:
        with _contenders(stage) as take_turn:
            for number in range(WARM_UP + scale.turns):
                for kind, name, prompt in _order(stage.home, number):
                    took = take_turn[name](prompt)
                    if number >= WARM_UP:
                        samples[kind, name].append(took)
    except NotMeasured as why:
        return Sheet(name="warm", title=title, why=str(why))
    return _sheet(title, samples)


def _order(home: Path, number: int) -> Iterator[tuple[str, str, str]]:
    """Prompt by prompt, each time with another contender first."""
    names = (RAW, OURS, LONG)
    for kind, prompt in _prompts(home).items():
        for place in range(len(names)):
            yield kind, names[(place + number) % len(names)], prompt


def _prompts(home: Path) -> dict[str, str]:
    """A plain answer, and one after a file was read twice."""
    read = tool("Read", {"file_path": str(home / "notes.txt")})
    return {"an answer": script(PROSE), "two calls of a tool": script(read, read, PROSE)}


# ------------------------------------------------------------------------------------------------- contenders


@contextmanager
def _contenders(stage: Stage) -> Iterator[dict[str, Callable[[str], Turn]]]:
    """All of them running, each with a CLI of its own; nothing of them is left afterwards."""
    (stage.home / "notes.txt").write_text(PROSE)
    with ExitStack() as stack:
        api = stack.enter_context(ScriptedMessages.start())
        environment = _environment(stage, api)
        argvs = {
            RAW: module("raw_turns"),
            OURS: module("session_turns", str(_folder(stage, "ours")), "0"),
            LONG: module("session_turns", str(_folder(stage, "long")), str(ITEMS)),
        }
        yield {name: stack.enter_context(running_turns(argv, environment, stage.home)) for name, argv in argvs.items()}


def _environment(stage: Stage, api: ScriptedMessages) -> dict[str, str]:
    tools = stage.home / "bin"
    tools.mkdir()
    try:
        (tools / "claude").symlink_to(claude_binary(ROOT / "tests" / "agents", "new"))
    except FileNotFoundError as missing:
        raise NotMeasured(str(missing)) from missing
    closed = closed_environment(stage.home, base_url=api.url_for("warm"), path=f"{tools}:{MINIMAL_PATH}")
    return {**closed, "PYTHONPATH": stage.environment["PYTHONPATH"]}


def _folder(stage: Stage, name: str) -> Path:
    folder = stage.home / f"data-{name}"
    folder.mkdir()
    return folder


@contextmanager
def running_turns(argv: tuple[str, ...], environment: dict[str, str], home: Path) -> Iterator[Callable[[str], Turn]]:
    """The contender as a function: a prompt in, what the turn took out."""
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, env=environment, cwd=home, stdin=pipe, stdout=pipe, bufsize=0) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        stdin, stdout = child.stdin, child.stdout

        def take_turn(prompt: str) -> Turn:
            try:
                stdin.write(msgspec.json.encode(prompt) + b"\n")
            except BrokenPipeError as gone:
                raise NotMeasured(f"{argv[2]} has ended") from gone
            if not (line := stdout.readline()):
                raise NotMeasured(f"{argv[2]} ended in the middle of a turn")
            return msgspec.json.decode(line, type=Turn)

        try:
            yield take_turn
        finally:
            stdin.close()
            _see_out(child)


def _see_out(child: subprocess.Popen[bytes]) -> None:
    """It ends when no prompt comes any more; SIGTERM is for one that does not."""
    try:
        child.wait(10)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGTERM)


# -------------------------------------------------------------------------------------------------- the sheet


def _sheet(title: str, samples: Samples) -> Sheet:
    over = {
        (kind, name): list(map(sub, _cpu(turns), _cpu(samples[kind, RAW])))
        for (kind, name), turns in samples.items()
        if name != RAW
    }
    return Sheet(
        name="warm",
        title=title,
        head=HEAD,
        rows=tuple(
            _cells(f"{kind}: {name}", turns, over.get((kind, name))) for (kind, name), turns in _sorted(samples)
        ),
        samples={f"{kind}: {name}, CPU ms": _cpu(turns) for (kind, name), turns in samples.items()},
        goals=tuple(
            below(f"warm: {name}, {kind}, less than {GOAL_MS:g} ms of CPU over the raw CLI", found, GOAL_MS, " ms")
            for (kind, name), found in sorted(over.items())
        ),
    )


def _sorted(samples: Samples) -> list[tuple[tuple[str, str], list[Turn]]]:
    places = (RAW, OURS, LONG)
    return sorted(samples.items(), key=lambda item: (item[0][0], places.index(item[0][1])))


def _cpu(turns: list[Turn]) -> list[float]:
    return [turn.cpu_ms for turn in turns]


def _cells(name: str, turns: list[Turn], over: list[float] | None) -> tuple[str, ...]:
    cpu = _cpu(turns)
    more = ("-", "-") if over is None else (middle(over, ".2f"), spread(over, ".2f"))
    return (name, middle(cpu, ".2f"), spread(cpu, ".2f"), *more, middle([turn.wall_ms for turn in turns], ".0f"))
