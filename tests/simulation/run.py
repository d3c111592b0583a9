"""The command: `python -m tests.simulation --seeds A:B [--minutes N] [--jobs 2] [--replay plan.json] [--shrink]`.

Prints a summary; of each kind of failure the first seed, its plan made smaller and saved, and what happened in it.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.simulation.door_plans import make_door_plan
from tests.simulation.plan import Plan, make_plan
from tests.simulation.shrink import shrink
from tests.simulation.world import Outcome, bury, run_plan

CHUNK = 20
PROGRESS = 500
"""After how many seeds a line says how far it is."""
_only: list[str] = [""]
"""The one transport that plans have, where one is asked for; processes that are forked have it, too."""


def _plan(seed: int) -> Plan:
    return make_door_plan(seed, _only[0]) if _only[0] else make_plan(seed)


class Totals(msgspec.Struct):
    """What all runs gave together."""

    seeds: int = 0
    steps: int = 0
    virtual_s: float = 0.0
    crashes: int = 0
    events: int = 0
    crc: int = 0
    failures: list[Outcome] = []
    counts: dict[str, int] = {}
    slowest: tuple[float, int] = (0.0, 0)

    def add(self, outcome: Outcome, took: float) -> None:
        """Count one run."""
        self.seeds += 1
        self.steps += outcome.steps
        self.virtual_s += outcome.virtual_s
        self.crashes += outcome.crashes
        self.events += outcome.events
        self.crc ^= outcome.crc
        self.slowest = max(self.slowest, (took, outcome.seed))
        for name, count in outcome.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        if outcome.oracle:
            self.failures.append(outcome)

    def join(self, other: Totals) -> None:
        """Count what another process did."""
        self.seeds += other.seeds
        self.steps += other.steps
        self.virtual_s += other.virtual_s
        self.crashes += other.crashes
        self.events += other.events
        self.crc ^= other.crc
        self.slowest = max(self.slowest, other.slowest)
        for name, count in other.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        self.failures += other.failures


def run_range(bounds: tuple[int, int]) -> bytes:
    """Run the seeds from the first to before the last; the totals, encoded for the way between processes."""
    totals = Totals()
    for seed in range(*bounds):
        begun = time.perf_counter()
        outcome = run_plan(_plan(seed))
        outcome.yes = {}
        totals.add(outcome, time.perf_counter() - begun)
    bury()
    return msgspec.json.encode(totals)


def run_seeds(
    first: int, last: int, *, jobs: int = 1, minutes: float | None = None, stop: int = 0, progress: bool = False
) -> Totals:
    """Run the seeds in so many processes; `stop` after so many failures, or after so many minutes."""
    begun = time.monotonic()
    until = None if minutes is None else time.monotonic() + minutes * 60
    totals = Totals()
    gc.collect()
    gc.freeze()
    for part in _parts(first, last, jobs):
        totals.join(msgspec.json.decode(part, type=Totals))
        if progress and totals.seeds % PROGRESS == 0:
            rate = totals.seeds / (time.monotonic() - begun)
            text = f"{totals.seeds} of {last - first} seeds, {len(totals.failures)} failed, {rate:.1f} per second"
            print(text, file=sys.stderr, flush=True)
        if (until is not None and time.monotonic() > until) or (stop and len(totals.failures) >= stop):
            break
    gc.unfreeze()
    totals.failures.sort(key=lambda each: each.seed)
    return totals


def _parts(first: int, last: int, jobs: int) -> Iterator[bytes]:
    chunks = [(at, min(at + CHUNK, last)) for at in range(first, last, CHUNK)]
    if jobs <= 1:
        yield from map(run_range, chunks)
        return
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        yield from pool.imap(run_range, chunks)


def report(totals: Totals, took: float, *, folder: Path | None = None, make_smaller: bool = True) -> None:
    """Print the summary, and of each kind of failure its first seed with a smaller plan."""
    kinds: dict[str, list[Outcome]] = {}
    for outcome in totals.failures:
        kinds.setdefault(outcome.oracle, []).append(outcome)
    for oracle, outcomes in kinds.items():
        first = outcomes[0]
        print(f"\n{oracle}: {len(outcomes)} seeds, first {first.seed}: {first.text}")
        print(f"  seeds: {', '.join(str(each.seed) for each in outcomes[:12])}")
        if make_smaller:
            plan = shrink(_plan(first.seed), oracle)
            folder = folder or Path(os.environ.get("TMPDIR", "/tmp"))
            path = folder / f"plan-{oracle}-{first.seed}.json"
            plan.save(path)
            print(f"  smaller plan: {path}; run it with --replay")
            print("\n".join(f"    {line}" for line in run_plan(plan, trace=True).trace[-60:]))
    print(
        f"\nseeds {totals.seeds}, failed {len(totals.failures)}, virtual hours {totals.virtual_s / 3600:.2f}, "
        f"crashes {totals.crashes}, events checked {totals.events}, steps {totals.steps}, "
        f"seeds per second {totals.seeds / took:.1f} (slowest {totals.slowest[0]:.2f} s, seed {totals.slowest[1]}), "
        f"crc {totals.crc:08x}"
    )
    if totals.counts:
        print("  " + ", ".join(f"{name} {count}" for name, count in sorted(totals.counts.items())))


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seeds", default="0:1000", help="A:B, or the first seed alone")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--stop", type=int, default=0, help="after so many failures")
    parser.add_argument("--replay", type=Path, help="a saved plan")
    parser.add_argument("--trace", action="store_true", help="what happens in one seed")
    parser.add_argument("--shrink", action="store_true", help="make failing plans smaller")
    parser.add_argument("--only", default="", choices=("", "acp", "chat"), help="plans with this transport alone")
    given = parser.parse_args()
    _only[0] = given.only
    first, _, last = given.seeds.partition(":")
    if given.replay is not None or given.trace:
        plan = Plan.load(given.replay) if given.replay is not None else _plan(int(first))
        outcome = run_plan(plan, trace=True)
        if outcome.oracle and given.shrink:
            smaller = shrink(plan, outcome.oracle)
            outcome = run_plan(smaller, trace=True)
            print(msgspec.json.format(msgspec.json.encode(smaller), indent=1).decode())
        print("\n".join(outcome.trace))
        print(f"{outcome.oracle or 'clean'} {outcome.text} (crc {outcome.crc:08x}, {outcome.steps} steps)")
        bury()
        return 1 if outcome.oracle else 0
    begun = time.monotonic()
    begin, end = int(first), int(last or int(first) + 1)
    totals = run_seeds(begin, end, jobs=given.jobs, minutes=given.minutes, stop=given.stop, progress=True)
    report(totals, time.monotonic() - begun, make_smaller=given.shrink)
    bury()
    return 1 if totals.failures else 0


if __name__ == "__main__":
    sys.exit(main())
