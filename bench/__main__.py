"""Measure ours beside the bare limits and the SDKs in one run: `python -m bench [--quick] [--json FILE] [names...]`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from bench import (
    answers,
    appends,
    editors,
    fanout,
    files,
    idle,
    interrupt,
    journals,
    keeper,
    many,
    memory,
    prompts,
    recording,
    roster,
    rounds,
    serving,
    startup,
    streams,
    table,
    warm,
)
from bench.goals import Verdict, judge
from bench.servers import contestants
from bench.sheet import Sheet, render_sheet
from bench.stage import Report, Stage
from bench.streams import Stream

NAMES: Final = (
    *("deltas", "mixed", "results", "memory", "startup", "appends", "answers", "journals", "many"),
    *("warm", "recording", "idle", "interrupt", "keeper"),
    *("prompts", "fanout", "files", "serving", "editors"),
)


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured."""

    deltas: int = 200_000
    mixed: int = 200_000
    results: int = 2000
    memory: int = 1_000_000_000
    rounds: int = 5
    starts: int = 15
    appends: appends.Scale = appends.Scale()
    answers: answers.Scale = answers.Scale()
    journals: journals.Scale = journals.Scale()
    many: many.Scale = many.Scale()
    warm: warm.Scale = warm.Scale()
    recording: recording.Scale = recording.Scale()
    idle: idle.Scale = idle.Scale()
    interrupt: interrupt.Scale = interrupt.Scale()
    keeper: keeper.Scale = keeper.Scale()
    prompts: prompts.Scale = prompts.Scale()
    fanout: fanout.Scale = fanout.Scale()
    files: files.Scale = files.Scale()
    serving: serving.Scale = serving.Scale()
    editors: editors.Scale = editors.Scale()


QUICK: Final = Scale(
    deltas=10_000,
    mixed=10_000,
    results=100,
    memory=40_000_000,
    rounds=1,
    starts=3,
    appends=appends.QUICK,
    answers=answers.QUICK,
    journals=journals.QUICK,
    many=many.QUICK,
    warm=warm.QUICK,
    recording=recording.QUICK,
    idle=idle.QUICK,
    interrupt=interrupt.QUICK,
    keeper=keeper.QUICK,
    prompts=prompts.QUICK,
    fanout=fanout.QUICK,
    files=files.QUICK,
    serving=serving.QUICK,
    editors=editors.QUICK,
)


class Results(msgspec.Struct, kw_only=True):
    """Everything that was measured, as it is written with `--json`."""

    tables: list[rounds.Table] = []
    memory: memory.Memory | None = None
    startup: list[startup.Start] = []
    sheets: list[Sheet] = []
    goals: list[Verdict] = []


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for, print it, and write it down when asked."""
    asked = _parse(arguments)
    scale = QUICK if asked.quick else Scale()
    names = asked.names or list(NAMES)
    with tempfile.TemporaryDirectory(prefix="footplate-bench-") as folder:
        results = run(names, scale, Stage(Path(folder)), only=asked.only)
    print(render(results))
    if asked.json is not None:
        asked.json.write_bytes(msgspec.json.format(msgspec.json.encode(results)) + b"\n")
    return 0


def run(names: Sequence[str], scale: Scale, stage: Stage, *, only: Sequence[roster.Name] = ()) -> Results:
    """Measure what is named; `only` names the contenders, all of them when empty."""
    results = Results()
    chosen = [make() for name, make in _streams(scale).items() if name in names]
    if chosen:
        results.tables = _measure_streams(chosen, scale, stage, only or roster.NAMES)
        results.goals += [verdict for one in results.tables for verdict in judge(one)]
    if "memory" in names:
        results.memory = memory.measure_memory(stage, streams.mixed(size=scale.memory))
        results.goals.append(results.memory.judge())
    if "startup" in names:
        results.startup = startup.measure_startup(stage.environment, rounds=scale.starts)
        results.goals += [start.judge() for start in results.startup if start.command in startup.LIMITS]
    results.sheets = [measure() for name, measure in _sheets(scale, stage).items() if name in names]
    results.goals += [verdict for sheet in results.sheets for verdict in sheet.goals]
    return results


def render(results: Results) -> str:
    """All of it as text."""
    parts = [table.render_table(one) for one in results.tables]
    if results.memory is not None:
        parts.append(table.render_memory(results.memory))
    if results.startup:
        parts.append(table.render_startup(results.startup))
    parts += map(render_sheet, results.sheets)
    return "\n\n".join([*parts, table.render_goals(results.goals)])


def _streams(scale: Scale) -> dict[str, Callable[[], Stream]]:
    return {
        "deltas": lambda: streams.deltas(scale.deltas),
        "mixed": lambda: streams.mixed(lines=scale.mixed),
        "results": lambda: streams.results(scale.results),
    }


def _sheets(scale: Scale, stage: Stage) -> dict[str, Callable[[], Sheet]]:
    return {
        "appends": lambda: appends.measure_appends(stage, scale.appends),
        "answers": lambda: answers.measure_answers(stage, scale.answers),
        "journals": lambda: journals.measure_journals(stage, scale.journals),
        "many": lambda: many.measure_many(stage, scale.many),
        "warm": lambda: warm.measure_warm(stage, scale.warm),
        "recording": lambda: recording.measure_recording(stage, scale.recording),
        "idle": lambda: idle.measure_idle(stage, scale.idle),
        "interrupt": lambda: interrupt.measure_interrupt(stage, scale.interrupt),
        "keeper": lambda: keeper.measure_keeper(stage, scale.keeper),
        "prompts": lambda: prompts.measure_prompts(scale.prompts, contestants(stage)),
        "fanout": lambda: fanout.measure_fanout(scale.fanout, contestants(stage)),
        "files": lambda: files.measure_files(stage, scale.files, contestants(stage)),
        "serving": lambda: serving.measure_serving(scale.serving, contestants(stage)),
        "editors": lambda: editors.measure_editors(stage, scale.editors),
    }


def _measure_streams(
    chosen: list[Stream], scale: Scale, stage: Stage, names: Sequence[roster.Name]
) -> list[rounds.Table]:
    base = streams.empty()
    fakes = {stream.name: str(stage.fake_cli(stream)) for stream in (base, *chosen)}

    def once(contender: roster.Contender, stream: Stream) -> Report:
        return stage.run([*contender.argv, fakes[stream.name]])

    contenders = [roster.contender(name) for name in names]
    return rounds.measure(contenders, chosen, base, rounds=scale.rounds, run=once)


class _Asked(argparse.Namespace):
    quick: bool
    json: Path | None
    only: list[roster.Name]
    names: list[str]


def _parse(arguments: Sequence[str] | None) -> _Asked:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke test: few lines, one round")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    parser.add_argument("--only", nargs="+", choices=roster.NAMES, default=[], help="these contenders only")
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of {', '.join(NAMES)}; all without a name")
    asked = parser.parse_args(arguments, namespace=_Asked())
    if unknown := set(asked.names) - set(NAMES):
        parser.error(f"no such measurement: {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    return asked


if __name__ == "__main__":
    sys.exit(main())
