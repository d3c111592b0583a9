"""`footplate acp` beside claude-agent-acp, for an editor that uses Claude: the same CLI and scripted model, in one run.

Starts are measured one after the other, each in a new process. Then all of them run, and the raw CLI's own pipe with
them, and take prompts in turn, so that a busy machine is busy for all.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from bench import setup
from bench.acp_pipe import Pipe
from bench.goals import Verdict
from bench.recorded import PROSE
from bench.roster import module
from bench.sheet import Sheet, middle, spread
from bench.stage import ROOT, NotMeasured, Stage
from bench.warm import running_turns
from footplate.testing.agents import claude_binary
from footplate.testing.closed import MINIMAL_PATH, closed_environment
from footplate.testing.messages import ScriptedMessages, say, script

RAW, OURS, THEIRS = "raw CLI", "footplate acp", "claude-agent-acp"
INITIALIZE, NEW = "spawn to initialize, ms", "session/new, ms"
MEMORY, SHARE = "resident in use, MB", "all its processes (PSS), MB"
PROMPT, PROMPT_CPU = "a prompt, ms", "CPU per prompt, ms"
FLOOD, FLOOD_CPU = "a turn of many deltas, ms", "its CPU, ms"
WHATS: Final = (INITIALIZE, NEW, PROMPT, PROMPT_CPU, FLOOD, FLOOD_CPU, MEMORY, SHARE)
RAW_LIMIT: Final = 1.15
FLOOD_LIMIT: Final = 1 / 3
MEMORY_MB: Final = 45.0
CHUNK: Final = 6
WARM_UP: Final = 2
HEAD: Final = ("what", "who", "median", "lowest-highest", "ratio to", "lowest-highest")


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured."""

    starts: int = 7
    turns: int = 40
    floods: int = 5
    deltas: int = 4000


QUICK: Final = Scale(starts=1, turns=2, floods=1, deltas=200)
Samples = defaultdict[tuple[str, str], list[float]]
RawTurn = Callable[[str], float]


class Place:
    """Where they run: one CLI, one scripted model, a home for each."""

    def __init__(self, stage: Stage, api: ScriptedMessages) -> None:
        self._stage = stage
        self._api = api
        try:
            self.cli = claude_binary(ROOT / "tests" / "agents", "new")
        except FileNotFoundError as missing:
            raise NotMeasured(str(missing)) from missing
        self.argvs = {OURS: (sys.executable, "-m", "footplate", "acp", "claude"), THEIRS: setup.editor_adapter()}

    def environment(self, name: str) -> dict[str, str]:
        """A home and the variables of its own."""
        home = self._stage.home / name.replace(" ", "-")
        tools = home / "bin"
        tools.mkdir(parents=True, exist_ok=True)
        if not (tools / "claude").exists():
            (tools / "claude").symlink_to(self.cli)
        closed = closed_environment(home, base_url=self._api.url_for(name), path=f"{tools}:{MINIMAL_PATH}")
        return {
            **closed,
            "PYTHONPATH": self._stage.environment["PYTHONPATH"],
            "CLAUDE_CODE_EXECUTABLE": str(self.cli),
            "FOOTPLATE_DATA_DIR": str(home / "data"),
        }

    def pipe(self, name: str) -> Pipe:
        """The contender, started."""
        environment = self.environment(name)
        return Pipe(name, self.argvs[name], environment, Path(environment["HOME"]), self.cli)


def measure_editors(stage: Stage, scale: Scale) -> Sheet:
    """Everything about all of them."""
    title = f"an editor's agent on the real CLI, {scale.starts} starts, {scale.turns} prompts, {scale.deltas} deltas"
    samples: Samples = defaultdict(list)
    try:
        with ScriptedMessages.start() as api:
            place = Place(stage, api)
            for number in range(scale.starts):
                for name in (OURS, THEIRS) if number % 2 == 0 else (THEIRS, OURS):
                    _start(place, name, samples)
            _take_prompts(place, scale, samples)
    except NotMeasured as why:
        return Sheet(name="editors", title=title, why=str(why))
    return _sheet(title, samples, scale)


def _start(place: Place, name: str, samples: Samples) -> None:
    began = time.perf_counter()
    with closing(place.pipe(name)) as pipe:
        pipe.initialize()
        samples[INITIALIZE, name].append((time.perf_counter() - began) * 1000)
        began = time.perf_counter()
        pipe.open()
        samples[NEW, name].append((time.perf_counter() - began) * 1000)


def _take_prompts(place: Place, scale: Scale, samples: Samples) -> None:
    hello = script(PROSE)
    flood = script(say("a few " * scale.deltas, chunk=CHUNK))
    with ExitStack() as stack:
        raw = stack.enter_context(_raw(place))
        pipes = {name: stack.enter_context(closing(place.pipe(name))) for name in (OURS, THEIRS)}
        sessions = {name: _open(pipe) for name, pipe in pipes.items()}
        for what, cpu, prompt, rounds in (
            (PROMPT, PROMPT_CPU, hello, scale.turns),
            (FLOOD, FLOOD_CPU, flood, scale.floods),
        ):
            takers: dict[str, RawTurn] = {
                RAW: raw,
                **{name: partial(pipes[name].prompt, sessions[name]) for name in pipes},
            }
            for _ in range(WARM_UP):
                for take in takers.values():
                    take(prompt)
            before = {name: pipe.cpu_ms() for name, pipe in pipes.items()}
            for number in range(rounds):
                for name in _order(number):
                    samples[what, name].append(takers[name](prompt))
            for name, pipe in pipes.items():
                samples[cpu, name] = [(pipe.cpu_ms() - before[name]) / rounds]
        for name, pipe in pipes.items():
            samples[MEMORY, name] = [pipe.rss_mb()]
            samples[SHARE, name] = [pipe.pss_mb()]


def _open(pipe: Pipe) -> str:
    pipe.initialize()
    return pipe.open()


def _order(number: int) -> Iterator[str]:
    names = (RAW, OURS, THEIRS)
    for place in range(len(names)):
        yield names[(place + number) % len(names)]


@contextmanager
def _raw(place: Place) -> Iterator[RawTurn]:
    environment = place.environment(RAW)
    with running_turns(module("raw_turns"), environment, Path(environment["HOME"])) as take_turn:
        yield lambda prompt: take_turn(prompt).wall_ms


# -------------------------------------------------------------------------------------------------- the sheet


def _sheet(title: str, samples: Samples, scale: Scale) -> Sheet:
    rows = []
    for what in WHATS:
        for name in (RAW, OURS, THEIRS):
            found = samples.get((what, name))
            if found:
                base = RAW if what in (PROMPT, FLOOD) else THEIRS
                rows.append(
                    (what, name, middle(found, ".1f"), spread(found, ".1f"), *_ratio(samples, what, name, base))
                )
    over_raw = _ratios(samples, PROMPT, OURS, RAW)
    flood = _ratios(samples, FLOOD_CPU, OURS, THEIRS)
    return Sheet(
        name="editors",
        title=title,
        head=HEAD,
        rows=tuple(rows),
        samples={f"{what}: {name}": found for (what, name), found in samples.items()},
        goals=(
            _at_most(f"editors: a prompt at most {RAW_LIMIT:g}x the raw CLI", over_raw, RAW_LIMIT, "x"),
            _at_most(f"editors: {scale.deltas} deltas for a third of the adapter's CPU", flood, FLOOD_LIMIT, "x"),
            _at_most(f"editors: under {MEMORY_MB:g} MB resident", samples[MEMORY, OURS], MEMORY_MB, " MB"),
            _at_most(f"editors: under {MEMORY_MB:g} MB with its keeper", samples[SHARE, OURS], MEMORY_MB, " MB"),
        ),
    )


def _ratios(samples: Samples, what: str, name: str, base: str) -> list[float]:
    """Round by round; what was measured in one go is divided as it is."""
    pairs = zip(samples[what, name], samples[what, base], strict=True)
    return [mine / theirs for mine, theirs in pairs if theirs]


def _ratio(samples: Samples, what: str, name: str, base: str) -> tuple[str, str]:
    if name == base or not samples.get((what, base)):
        return "-", "-"
    found = _ratios(samples, what, name, base)
    return (f"{middle(found, '.2f')}x {base}", spread(found, ".2f")) if found else ("-", "-")


def _at_most(goal: str, found: list[float], limit: float, unit: str) -> Verdict:
    if not found:
        return Verdict(goal=goal, found="not measured", met=None)
    return Verdict(goal=goal, found=f"{middle(found, '.2f')}{unit}", met=statistics.median(found) <= limit)
