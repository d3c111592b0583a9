"""Plans with ACP clients and with people in chats: they can be repeated, and something happens in them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.simulation.door_plans import make_door_plan
from tests.simulation.world import run_plan

SEEDS = range(300, 312)
CODE = """
import sys
from tests.simulation.door_plans import make_door_plan
from tests.simulation.world import bury, run_plan
for seed in map(int, sys.argv[2:]):
    print(run_plan(make_door_plan(seed, sys.argv[1])).crc)
bury()
"""


@pytest.mark.parametrize(("door", "count"), [("acp", "acp_messages"), ("chat", "agents")])
def test_a_seed_gives_the_same_steps_under_another_hash_seed(door: str, count: str) -> None:
    here = [run_plan(make_door_plan(seed, door)) for seed in SEEDS]
    assert sum(each.counts.get(count, 0) for each in here) > len(SEEDS)
    ran = subprocess.run(
        [sys.executable, "-c", CODE, door, *map(str, reversed(SEEDS))],
        env={**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": f"src{os.pathsep}."},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [int(line) for line in ran.stdout.split()] == [each.crc for each in reversed(here)]
