"""Hidden characters are shown: the service's function and the page's twin on the same table."""

from __future__ import annotations

import itertools
import json
import sys
import time
import unicodedata
from pathlib import Path

import pytest

from footplate.events.visible import HIDDEN, show_exact, show_hidden
from tests.page_program import bundle_function, call_page

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "events" / "visible.json").read_text())
STAYS = {"\t", "\n", "\r", " "}
EVERY = [chr(code) for code in range(sys.maxunicode + 1)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's function."""
    imported = 'import { showExact, showHidden } from "../src/ui/visible";'
    call = "given.exact === undefined ? showHidden(given) : showExact(given.exact)"
    return bundle_function("visible", imported, call, tmp_path_factory.mktemp("visible"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_each_case_of_the_table(case: dict[str, str]) -> None:
    assert show_hidden(case["text"]) == case["shown"]
    assert show_hidden(case["shown"]) == case["shown"]


EXACT = [
    (case["text"], case.get("exact", case["shown"])) for case in CASES if "exact" in case or "\n" not in case["text"]
]
BLANKS = {" ": "⟨U+0020⟩", "  ": "⟨U+0020⟩⟨U+0020⟩", "\t": "⟨U+0009⟩", "a b": "a b", "a ": "a⟨U+0020⟩"}


@pytest.mark.parametrize(("text", "shown"), [*EXACT, *BLANKS.items()])
def test_a_path_or_a_label_shows_every_blank(text: str, shown: str) -> None:
    assert show_exact(text) == shown
    assert show_exact(shown) == shown


def test_the_page_shows_the_same(program: Path) -> None:
    assert call_page(program, [case["text"] for case in CASES]) == [case["shown"] for case in CASES]
    given = [{"exact": text} for text, _ in (*EXACT, *BLANKS.items())]
    assert call_page(program, given) == [shown for _, shown in (*EXACT, *BLANKS.items())]


def test_the_page_shows_the_same_for_every_code_point(program: Path) -> None:
    lines = ["x".join(EVERY[start : start + 4096]) for start in range(0, len(EVERY), 4096)]
    assert call_page(program, lines) == [show_hidden(line) for line in lines]


def test_every_format_control_space_and_surrogate_that_python_knows_is_in_the_table() -> None:
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"}
    missed = [char for char in EVERY if unicodedata.category(char) in hidden and show_hidden(char) == char]
    assert set(missed) <= STAYS - {"\r"}


def test_no_letter_digit_mark_or_symbol_of_a_script_is_taken_for_hidden() -> None:
    shown = [char for char in EVERY if unicodedata.category(char)[0] in "LNPS" and show_hidden(char) != char]
    blanks = {"115F", "1160", "3164", "FFA0", "2800", "FFFC", "1D159"}
    later = {"13441", "13442"}  # of a newer Unicode than some Python knows
    assert {f"{ord(char):04X}" for char in shown} - later == blanks


def test_the_ranges_are_in_order_and_do_not_overlap() -> None:
    flat = [code for pair in HIDDEN for code in pair]
    assert flat == sorted(flat)
    assert all(before[1] < after[0] for before, after in itertools.pairwise(HIDDEN))


def test_five_megabytes_are_cheap() -> None:
    text = "print('hello, world')\n" * 240_000
    began = time.perf_counter()
    assert show_hidden(text) is text
    assert time.perf_counter() - began < 0.5
