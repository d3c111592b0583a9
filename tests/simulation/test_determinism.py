"""The same plan gives the same steps: twice in a process, in another order, and under another hash seed."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.simulation.plan import make_plan
from tests.simulation.world import run_plan

SEEDS = range(40, 64)
CODE = """
import sys
from tests.simulation.plan import make_plan
from tests.simulation.world import bury, run_plan
for seed in map(int, sys.argv[1:]):
    print(run_plan(make_plan(seed)).crc)
bury()
"""


def test_a_seed_gives_the_same_steps_again() -> None:
    first = {seed: run_plan(make_plan(seed)).crc for seed in SEEDS}
    second = {seed: run_plan(make_plan(seed)).crc for seed in reversed(SEEDS)}
    assert first == second


def test_a_seed_gives_the_same_steps_under_another_hash_seed() -> None:
    here = [run_plan(make_plan(seed)).crc for seed in SEEDS]
    for hash_seed in ("1", "4711"):
        ran = subprocess.run(
            [sys.executable, "-c", CODE, *map(str, SEEDS)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"src{os.pathsep}."},
            capture_output=True,
            text=True,
            check=True,
        )
        assert [int(line) for line in ran.stdout.split()] == here
