"""What a terminal shows again: its last output, in the state in which that began, without questions."""

from __future__ import annotations

import pytest

from footplate.host.pty import Modes, Replay


def shown(limit: int, *chunks: bytes) -> bytes:
    replay = Replay(limit)
    for chunk in chunks:
        replay.feed(chunk)
    return replay.show()


def test_short_output_is_given_back_as_it_came() -> None:
    assert shown(100, b"one\r\n", b"\x1b[31mtwo\x1b[0m") == b"one\r\n\x1b[31mtwo\x1b[0m"


def test_only_the_last_bytes_are_kept_also_of_one_large_piece() -> None:
    assert shown(4, b"abcdef", b"gh") == b"efgh"
    assert shown(3, b"abcdef") == b"def"


@pytest.mark.parametrize(
    ("before", "restored"),
    [
        (b"\x1b[?1049h\x1b[?25l\x1b[2J", b"\x1b[?1049h\x1b[?25l"),
        (b"\x1b[?25l\x1b[?1049h", b"\x1b[?1049h\x1b[?25l"),
        (b"\x1b[?1000;1006h", b"\x1b[?1000h\x1b[?1006h"),
        (b"\x1b[?1049h text \x1b[?1049l", b"\x1b[?1049l"),
        (b"\x1b[1m\x1b[31mred", b"\x1b[1m\x1b[31m"),
        (b"\x1b[1mbold\x1b[0m", b""),
        (b"\x1b[1mbold\x1b[m", b""),
        (b"\x1b[2;20r\x1b[4 q\x1b=", b"\x1b[2;20r\x1b[4 q\x1b="),
        (b"\x1b]0;title\x07\x1b]2;other\x1b\\", b"\x1b]2;other\x1b\\"),
        (b"\x1b]0;first\x07", b"\x1b]0;first\x07"),
        (b"\x1b(0lqk\x0e", b"\x1b(0\x0e"),
        (b"\x1b[?1049h\x1bc", b""),
        (b"\x1b[?1h\x1b[!p", b""),
    ],
)
def test_the_modes_that_were_cut_off_are_restored(before: bytes, restored: bytes) -> None:
    for split in range(len(before) + 1):
        modes = Modes()
        modes.feed(before[:split])
        modes.feed(before[split:])
        assert modes.restore() == restored, split


@pytest.mark.parametrize(
    "whole", [b"\x1b[38;5;12m", b"\x1b]0;title\x07", "grün".encode(), "日本".encode(), "🙂".encode()]
)
def test_a_cut_in_the_middle_of_a_sequence_or_a_character_is_mended(whole: bytes) -> None:
    for kept in range(1, len(whole)):
        assert shown(kept, b"x" + whole).endswith(whole[-kept:])
        modes = Modes()
        modes.feed(whole[:-kept])
        assert (modes.restore() + whole[-kept:]).decode().endswith(whole[-1:].decode(errors="ignore"))
        assert b"\xef\xbf\xbd" not in (modes.restore() + whole[-kept:]).decode(errors="replace").encode()


@pytest.mark.parametrize(
    "question",
    [
        b"\x1b[6n",
        b"\x1b[c",
        b"\x1b[>c",
        b"\x1b[>0q",
        b"\x1b[?2026$p",
        b"\x1b]11;?\x07",
        b"\x1b]4;1;?\x1b\\",
        b"\x1bP+q544e\x1b\\",
        b"\x1b[?u",
    ],
)
def test_questions_to_the_terminal_are_not_asked_again(question: bytes) -> None:
    assert shown(1000, b"a" + question + b"b") == b"ab"


def test_it_is_known_whether_a_program_has_the_whole_screen() -> None:
    replay = Replay(8)
    replay.feed(b"\x1b[?1049h")
    replay.feed(b"0123456789abcdef")
    assert replay.other_screen()
    replay.feed(b"\x1b[?1049l")
    assert not replay.other_screen()


def test_nonsense_is_no_error_and_is_not_held_for_ever() -> None:
    modes = Modes()
    modes.feed(b"\x1b]0;" + b"x" * 10_000)
    modes.feed(bytes(range(256)) * 10)
    assert len(modes.restore()) < 5000
