"""The output of a process on disk: what was written is read again, at any length, torn or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from footplate.runtime.output import Output, Piece
from footplate.runtime.output_file import OutputFile, remove_strangers

Open = Callable[..., OutputFile]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    files: list[OutputFile] = []

    def make(limit: int = 5_000, name: str = "proc_1") -> OutputFile:
        files.append(OutputFile(tmp_path / "made", name, limit))
        return files[-1]

    yield make
    for file in files:
        file.close()


def pieces(first: int, last: int, data: bytes = b"x" * 100) -> list[Piece]:
    return [Piece(number, "stdout", 1000 + number, data) for number in range(first, last + 1)]


def test_what_was_written_is_read_by_the_next_service_and_goes_on(opened: Open) -> None:
    file = opened()
    written = [Piece(1, "stdout", 5, b"a\xff"), Piece(2, "stderr", 6, b"b"), Piece(3, "pty", 7, b"")]
    for piece in written:
        file.add(piece)
    file.close()
    again = opened()
    output = Output(10_000)
    output.restore(again.read())
    again.add(output.add("stdout", b"c", 8))
    assert opened().read() == [*written, Piece(4, "stdout", 8, b"c")]


def test_only_the_last_bytes_are_kept_and_they_are_dense(opened: Open) -> None:
    file = opened()
    for piece in pieces(1, 1000):
        file.add(piece)
    kept = opened().read()
    assert kept == pieces(kept[0].sequence, 1000)
    assert 5_000 <= sum(len(piece.data) for piece in kept) < 12_000


def test_a_torn_end_is_cut_off_and_a_gap_hides_what_stands_before_it(tmp_path: Path, opened: Open) -> None:
    file = opened()
    for piece in [*pieces(1, 3), *pieces(6, 8)]:
        file.add(piece)
    path = tmp_path / "made" / "proc_1.out"
    path.write_bytes(path.read_bytes()[:-7])
    again = opened()
    assert again.read() == pieces(6, 7)
    again.add(pieces(8, 8)[0])
    assert again.read() == pieces(6, 8)


def test_a_disk_that_takes_no_more_is_told_and_nothing_else_happens(
    tmp_path: Path, opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "made" / "proc_1.out").mkdir(parents=True)
    file = opened()
    for piece in pieces(1, 3):
        file.add(piece)
    assert caplog.text.count("in memory only") == 1


def test_output_of_processes_that_nobody_knows_is_removed(tmp_path: Path, opened: Open) -> None:
    for name in ("proc_1", "proc_2"):
        opened(name=name).add(pieces(1, 1)[0])
    remove_strangers(tmp_path / "made", ["proc_2"])
    remove_strangers(tmp_path / "none", [])
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["proc_2.out"]
