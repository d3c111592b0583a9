"""A thousand seeds, and every plan that once failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.plan import FAULTS, Plan, make_plan
from tests.simulation.run import run_seeds
from tests.simulation.world import run_plan

CORPUS = sorted(Path(__file__).with_name("corpus").glob("*.json"))


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_a_plan_that_once_failed_is_clean(path: Path) -> None:
    outcome = run_plan(Plan.load(path))
    assert not outcome.oracle, f"{outcome.oracle}: {outcome.text}"


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_thousand_seeds_are_clean() -> None:
    totals = run_seeds(0, 1000, jobs=2)
    found = [f"seed {each.seed}: {each.oracle}: {each.text}" for each in totals.failures]
    assert not found, "\n".join(found[:20])
    assert totals.crashes > 500
    assert totals.counts["reattached"] > 10


def test_every_fault_changes_plans() -> None:
    seen = {fault for seed in range(200) for fault in make_plan(seed).faults}
    assert seen == set(FAULTS)


def test_a_plan_survives_its_file(tmp_path: Path) -> None:
    plan = make_plan(17)
    plan.save(tmp_path / "plan.json")
    assert Plan.load(tmp_path / "plan.json") == plan
