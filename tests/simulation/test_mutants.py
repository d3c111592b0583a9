"""Every planted bug is found within its budget of seeds, and the seed that finds it is clean without the bug."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.mutants import transports  # noqa: F401 - enlists its own
from tests.simulation.mutants.planted import MUTANTS, Mutant, in_force
from tests.simulation.plan import make_plan
from tests.simulation.world import run_plan


def find(mutant: Mutant, *, first: int = 0) -> tuple[int, str]:
    """The first seed from there on that finds it, and by which check."""
    for seed in range(first, first + mutant.budget):
        with in_force(mutant):
            outcome = run_plan(make_plan(seed, mutant.faults))
        if outcome.oracle in mutant.oracles:
            return seed, outcome.oracle
    return -1, ""


def test_the_page_lists_every_planted_bug() -> None:
    page = (Path(__file__).parents[2] / "docs/explanation/simulation.md").read_text(encoding="utf-8")
    assert [mutant.name for mutant in MUTANTS if f"| {mutant.name} |" not in page] == []


@pytest.mark.long
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_bug_is_found(mutant: Mutant) -> None:
    seed, oracle = find(mutant)
    assert oracle, f"{mutant.name} survived {mutant.budget} seeds"
    clean = run_plan(make_plan(seed, mutant.faults))
    assert clean.oracle not in mutant.oracles, f"seed {seed} fails without the bug, too: {clean.oracle}: {clean.text}"
