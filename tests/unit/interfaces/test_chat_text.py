"""Text for a terminal: nothing of an agent's can fool it, and columns are counted as a terminal counts them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footplate.interfaces.cli.chat.text import Line, clean, cut, fit, flat, lines_of, rows_of, shorten, width_of, wrap


@pytest.mark.parametrize(
    ("hostile", "harmless"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]52;c;aGk=\x1b\\text", "text"),
        ("\x1b[2J\x1b[Hgone", "gone"),
        ("\x1bc reset", " reset"),
        ("one\x08\x08\x08two", "one\ufffd\ufffd\ufffdtwo"),
        ("a\u202eb\u200bc", "abc"),
        ("c1 \x9b31m", "c1 \ufffd31m"),
        ("over\rwritten", "overwritten"),
        ("a\tb\u00a0c", "a    b c"),
        ("keeps\nlines", "keeps\nlines"),
        ("日本 e\u0301", "日本 e\u0301"),
    ],
)
def test_what_could_fool_a_terminal_is_taken_out(hostile: str, harmless: str) -> None:
    assert clean(hostile) == harmless


@given(st.text())
def test_no_text_at_all_leaves_anything_but_printable_characters(text: str) -> None:
    assert clean(text).replace("\n", "").isprintable()
    assert flat(text).isprintable()


def test_wide_and_combining_characters_are_counted_as_a_terminal_does() -> None:
    assert width_of("abc") == 3
    assert width_of("日本") == 4
    assert width_of("e\u0301") == 1
    assert cut("日本語", 5) == ("日本", "語")
    assert fit("日本語", 5) == "日本…"
    assert fit("abc", 3) == "abc"


def test_lines_are_broken_between_words_and_between_wide_characters() -> None:
    assert wrap("one two three", 8) == ["one two", "three"]
    assert wrap("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    assert wrap("mock: 日本語の", 10) == ["mock: 日本", "語の"]
    assert wrap("", 10) == [""]


@given(st.text(alphabet="ab 日-", max_size=60), st.integers(4, 20))
def test_no_row_is_too_wide_and_no_word_is_lost(text: str, columns: int) -> None:
    rows = wrap(text, columns)
    assert all(width_of(row) <= columns for row in rows)
    assert "".join(rows).replace(" ", "") == text.replace(" ", "")


@given(st.text(alphabet="ab 日", max_size=60), st.integers(4, 20), st.integers(0, 60))
def test_rows_but_the_last_stay_the_same_when_the_text_goes_on(text: str, columns: int, at: int) -> None:
    begun = wrap(text[:at], columns)[:-1]
    assert wrap(text, columns)[: len(begun)] == begun


def test_a_line_becomes_indented_painted_rows() -> None:
    line = Line("one two three", "ok", 1)
    assert rows_of(line, 10, color=False) == ["  one two", "  three"]
    assert rows_of(line, None, color=True) == ["  \x1b[32mone two three\x1b[0m"]


def test_many_lines_are_shortened_and_it_is_told() -> None:
    assert shorten(lines_of("1\n2\n3\n4"), 3) == [Line("1"), Line("2"), Line("… 2 more lines", "dim")]
