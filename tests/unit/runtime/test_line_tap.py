"""The way of raw lines out of a runner: early lines are kept, long ones are cut, nothing is copied without need."""

from __future__ import annotations

from footplate.runtime import line_tap
from footplate.runtime.line_tap import LINE_BYTES, LineTap, cut_lines
from footplate.store.values import Direction


class Notes:
    """A sink that writes down what it gets."""

    def __init__(self) -> None:
        self.lines: list[tuple[Direction, bytes, int]] = []
        self.ages: list[float] = []
        self.lost: list[tuple[int, int]] = []
        self.finished = 0

    def record(self, direction: Direction, lines: bytes, *, size: int = 0, age_s: float = 0.0) -> None:
        self.lines.append((direction, lines, size))
        self.ages.append(age_s)

    def lose(self, lines: int, size: int) -> None:
        self.lost.append((lines, size))

    def finish(self) -> None:
        self.finished += 1


async def test_lines_from_before_the_session_is_known_come_first_and_with_their_age() -> None:
    tap, notes = LineTap(), Notes()
    tap.record("out", b"initialize\n")
    tap.record("in", b"")
    tap.connect(notes)
    tap.record("in", b"answer\n")
    tap.finish()
    assert notes.lines == [("out", b"initialize\n", 0), ("in", b"answer\n", 0)]
    assert notes.ages[0] > 0.0 == notes.ages[1]
    assert notes.finished == 1


async def test_lines_are_handed_over_without_a_copy() -> None:
    tap, notes = LineTap(), Notes()
    tap.connect(notes)
    lines = b"one\ntwo\n"
    tap.record("in", lines)
    assert notes.lines[0][1] is lines


async def test_too_many_early_lines_are_counted_and_not_kept(monkeypatch: object) -> None:
    tap, notes = LineTap(), Notes()
    tap.record("in", b"x" * 100 + b"\n")
    for _ in range(3):
        tap.record("in", b"y" * (line_tap.EARLY_BYTES // 2 - 20) + b"\n")
    tap.connect(notes)
    assert [size for _, _, size in notes.lines] == [0, 0]
    assert notes.lost == [(2, 2 * (line_tap.EARLY_BYTES // 2 - 19))]


async def test_without_a_sink_nothing_is_kept() -> None:
    tap = LineTap()
    tap.record("in", b"early\n")
    tap.connect(None)
    tap.record("in", b"later\n")
    tap.finish()
    assert tap._early == []


async def test_a_long_line_is_cut_and_the_lines_around_it_stay_whole() -> None:
    tap, notes = LineTap(), Notes()
    tap.connect(notes)
    long = b"z" * (LINE_BYTES + 5)
    tap.record("in", b"a\nb\n" + long + b"\nc\n")
    tap.record_cut("err", b"head\nof it", 99)
    assert notes.lines == [
        ("in", b"a\nb\n", 0),
        ("in", long[:LINE_BYTES] + b"\n", LINE_BYTES + 5),
        ("in", b"c\n", 0),
        ("err", b"head of it\n", 99),
    ]


async def test_nothing_that_an_engine_sends_can_fail_here() -> None:
    tap, notes = LineTap(), Notes()
    tap.connect(notes)
    tap.record("in", b"")
    tap.record("out", b"without a newline")
    tap.record("out", b"z" * (LINE_BYTES + 1))
    assert notes.lines == [
        ("out", b"without a newline\n", 0),
        ("out", b"z" * LINE_BYTES + b"\n", LINE_BYTES + 1),
    ]


def test_many_short_lines_are_given_in_groups_that_are_not_too_large() -> None:
    lines = b"".join(b"%d\n" % number for number in range(100_000))
    groups = list(cut_lines(lines))
    assert b"".join(group for group, _ in groups) == lines
    assert len(groups) > 1
    assert all(len(group) <= LINE_BYTES and group.endswith(b"\n") and size == 0 for group, size in groups)
