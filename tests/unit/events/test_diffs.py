"""A change as lines, and its counts: the service's function and the page's twin on the same table."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from footplate.events.diffs import MARKS, MOST_EDITS, DiffLine, count_changes, describe_change, diff_lines
from footplate.events.tools import FileChange
from tests.page_program import bundle_function, call_page

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "fixtures" / "events" / "diffs.json").read_text())
IMPORTED = """
import { countLines, describeChange, diffLines } from "../src/ui/conversation/diff_lines";

const counted = (change) => {
  const lines = diffLines(change);
  const { added, removed } = countLines(lines);
  return { counts: [added, removed], said: describeChange(change, lines), lines };
};
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's function."""
    return bundle_function("diffs", IMPORTED, "counted(given)", tmp_path_factory.mktemp("diffs"))


def _lines(change: dict[str, Any]) -> tuple[DiffLine, ...]:
    return diff_lines(msgspec.convert(change, FileChange))


def _texts(lines: tuple[DiffLine, ...]) -> list[str]:
    return [MARKS[line.kind] + line.text for line in lines]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_each_case_of_the_table(case: dict[str, Any]) -> None:
    lines = _lines(case["change"])
    said = describe_change(msgspec.convert(case["change"], FileChange), lines)
    assert (_texts(lines), list(count_changes(lines)), said) == (case["lines"], case["counts"], case["said"])


def test_the_page_draws_and_counts_the_same(program: Path) -> None:
    for case, theirs in zip(CASES, call_page(program, [case["change"] for case in CASES]), strict=True):
        ours = _lines(case["change"])
        lines = [msgspec.to_builtins(line) for line in ours]
        assert theirs == {"counts": case["counts"], "said": case["said"], "lines": lines}, case["name"]


def _random_changes() -> list[dict[str, str]]:
    dice = random.Random(15)

    def text() -> str:
        return "".join(f"{dice.choice('abcd')}\n" for _ in range(dice.randrange(14)))

    return [{"path": "f", "old_text": text(), "new_text": text()} for _ in range(300)]


def test_random_changes_are_whole_shortest_and_counted_the_same_on_the_page(program: Path) -> None:
    changes = _random_changes()
    for change, theirs in zip(changes, call_page(program, changes), strict=True):
        old, new = change["old_text"].splitlines(), change["new_text"].splitlines()
        added, removed = count_changes(_lines(change))
        assert isinstance(theirs, dict)
        assert theirs["counts"] == [added, removed]
        assert removed == len(old) - _longest_common(old, new)
        assert added == len(new) - _longest_common(old, new)


def _longest_common(one: list[str], other: list[str]) -> int:
    before = [0] * (len(other) + 1)
    for mine in one:
        row = [0]
        for place, yours in enumerate(other):
            row.append(before[place] + 1 if mine == yours else max(row[-1], before[place + 1]))
        before = row
    return before[-1]


def test_texts_that_differ_in_too_many_lines_are_told_whole_on_both_sides(program: Path) -> None:
    old = "".join(f"old {number}\n" if number % 2 else "same\n" for number in range(3 * MOST_EDITS))
    change = {"path": "f", "old_text": old, "new_text": old.replace("old", "new")}
    ours = _lines(change)
    assert count_changes(ours) == (3 * MOST_EDITS - 1, 3 * MOST_EDITS - 1)
    assert [line.text for line in ours if line.kind != "added"] == old.splitlines()
    (theirs,) = call_page(program, [change])
    assert isinstance(theirs, dict)
    assert theirs["counts"] == [3 * MOST_EDITS - 1, 3 * MOST_EDITS - 1]


def test_a_file_of_five_megabytes_is_cheap() -> None:
    text = "print('hello, world')\n" * 240_000
    began = time.perf_counter()
    assert count_changes(diff_lines(FileChange(path="f", new_text=text))) == (240_000, 0)
    assert time.perf_counter() - began < 3
