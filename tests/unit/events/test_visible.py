"""Hidden characters are shown: the service's function and the page's twin on the same table."""

from __future__ import annotations

import itertools
import json
import sys
import time
import unicodedata
from pathlib import Path

import pytest

from footplate.events.visible import HIDDEN, show_hidden
from tests.page_program import bundle_function, call_page

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "events" / "visible.json").read_text())
STAYS = {"\t", "\n", "\r", " "}
EVERY = [chr(code) for code in range(sys.maxunicode + 1)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's function."""
    imported = 'import { showHidden } from "../src/ui/visible";'
    return bundle_function("visible", imported, "showHidden(given)", tmp_path_factory.mktemp("visible"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_each_case_of_the_table(case: dict[str, str]) -> None:
    assert show_hidden(case["text"]) == case["shown"]
    assert show_hidden(case["shown"]) == case["shown"]


def test_the_page_shows_the_same(program: Path) -> None:
    assert call_page(program, [case["text"] for case in CASES]) == [case["shown"] for case in CASES]


def test_the_page_shows_the_same_for_every_code_point(program: Path) -> None:
    lines = ["x".join(EVERY[start : start + 4096]) for start in range(0, len(EVERY), 4096)]
    assert call_page(program, lines) == [show_hidden(line) for line in lines]


def test_every_format_control_space_and_surrogate_that_python_knows_is_in_the_table() -> None:
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"}
    missed = [char for char in EVERY if unicodedata.category(char) in hidden and show_hidden(char) == char]
    assert set(missed) <= STAYS - {"\r"}


def test_no_letter_digit_mark_or_symbol_of_a_script_is_taken_for_hidden() -> None:
    shown = [char for char in EVERY if unicodedata.category(char)[0] in "LNPS" and show_hidden(char) != char]
    assert {f"{ord(char):04X}" for char in shown} == {"115F", "1160", "3164", "FFA0", "2800", "1D159"}


def test_the_ranges_are_in_order_and_do_not_overlap() -> None:
    flat = [code for pair in HIDDEN for code in pair]
    assert flat == sorted(flat)
    assert all(before[1] < after[0] for before, after in itertools.pairwise(HIDDEN))


def test_five_megabytes_are_cheap() -> None:
    text = "print('hello, world')\n" * 240_000
    began = time.perf_counter()
    assert show_hidden(text) is text
    assert time.perf_counter() - began < 0.5
