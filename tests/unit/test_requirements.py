"""The requirement manifest: every promise is held by tests that exist, every contract and e2e test holds a promise."""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
SERVING = ("contract", "e2e", "chat")
TEST = re.compile(r"^[ ]*(?:async )?def (test_\w+)\(", re.MULTILINE)


def _promises() -> dict[str, list[str]]:
    manifest = tomllib.loads((TESTS / "requirements.toml").read_text())
    return {name: promise["tests"] for name, promise in manifest["promises"].items()}


@functools.cache
def _tests_in(path: Path) -> frozenset[str]:
    return frozenset(TEST.findall(path.read_text()))


def test_every_promise_is_held_by_tests_that_exist() -> None:
    missing = []
    for promise, tests in _promises().items():
        if not tests:
            missing.append(f"{promise}: no test")
        for test in tests:
            path, _, name = test.partition("::")
            file = TESTS / path
            if not file.is_file() or (name and name not in _tests_in(file)):
                missing.append(f"{promise}: {test}")
    assert not missing


def test_every_contract_and_end_to_end_test_holds_a_promise() -> None:
    named = {test for tests in _promises().values() for test in tests}
    loose = []
    for folder in SERVING:
        for path in sorted((TESTS / folder).glob("test_*.py")):
            file = path.relative_to(TESTS).as_posix()
            loose += [f"{file}::{name}" for name in sorted(_tests_in(path)) if not named & {file, f"{file}::{name}"}]
    assert not loose


def test_every_fault_of_the_server_that_was_before_us_names_tests_of_its_own() -> None:
    named = {name: tests for name, tests in _promises().items() if name[0] == "F"}
    assert set(named) == {f"F{number}" for number in range(1, 19)}
    assert all("::" in test for tests in named.values() for test in tests)


EDITOR_ROWS = {"M": 21, "T": 6, "P": 3, "S": 12}
"""What claude-agent-acp does, by letter: messages, tools, permissions, sessions."""

ROWS = {"E": 8, "R": 14, "G": 8, "C": 9, "S": 7, "P": 7, "T": 25, "O": 9, "X": 20}
"""The rows of the chat contract, by letter."""


@pytest.mark.parametrize(("table", "counts"), [("chat", ROWS), ("editor", EDITOR_ROWS)])
def test_every_row_of_a_contract_names_tests_that_exist(table: str, counts: dict[str, int]) -> None:
    rows = tomllib.loads((TESTS / "requirements.toml").read_text())[table]
    wanted = {f"{letter}{number}" for letter, count in counts.items() for number in range(1, count + 1)}
    assert wanted - set(rows) == set()
    missing = []
    for row, promise in rows.items():
        for test in promise["tests"] or ["no test"]:
            path, _, name = test.partition("::")
            file = TESTS / path
            if not file.exists() or (name and name not in _tests_in(file)):
                missing.append(f"{row}: {test}")
    assert not missing
