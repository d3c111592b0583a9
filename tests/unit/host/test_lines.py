"""Lines: any chunking of the same bytes gives the same lines, the same frames, the same complaints."""

from __future__ import annotations

import itertools
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from footplate.host.lines import BadLine, Block, LineSplitter, Oversize, decode_block, read_head

ANYTHING: msgspec.json.Decoder[object] = msgspec.json.Decoder(object)


class Point(msgspec.Struct, frozen=True):
    x: int


def split(chunks: list[bytes], *, ceiling: int = 1 << 20) -> list[Block]:
    splitter = LineSplitter(ceiling=ceiling)
    return [*(splitter.feed(chunk) for chunk in chunks), splitter.finish()]


def joined(blocks: list[Block]) -> Block:
    lines = b"".join(block.lines for block in blocks)
    return Block(lines, tuple(found for block in blocks for found in block.oversize))


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[begin:end] for begin, end in itertools.pairwise(edges)]


def expected(data: bytes, ceiling: int) -> Block:
    """Say what a splitter must give, in the plainest way."""
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    kept = b"".join(line + b"\n" for line in lines if len(line) <= ceiling)
    return Block(kept, tuple(Oversize(len(line), line[:256]) for line in lines if len(line) > ceiling))


PIECES = st.sampled_from(
    [b"\n", b"\r\n", b" ", b"{", b"}", b"{}", b"[1,", b"2]", b'{"x":1}', b'"\xc3\xa4"', b"\xff", b"1 2", b"a" * 9]
)
JSONISH = st.lists(PIECES, max_size=30).map(b"".join)
CUTS = st.lists(st.integers(min_value=0), max_size=12)


@given(data=st.one_of(st.binary(max_size=80), JSONISH), cuts=CUTS, ceiling=st.integers(0, 20))
def test_any_chunking_gives_the_same_lines_and_the_same_oversize(data: bytes, cuts: list[int], ceiling: int) -> None:
    assert joined(split(cut(data, cuts), ceiling=ceiling)) == expected(data, ceiling)


@given(data=JSONISH, cuts=CUTS)
def test_any_chunking_gives_the_same_frames(data: bytes, cuts: list[int]) -> None:
    whole = [frame for block in split([data]) for frame in decode_block(ANYTHING, block.lines)]
    pieces = [frame for block in split(cut(data, cuts)) for frame in decode_block(ANYTHING, block.lines)]
    by_line = [frame for line in data.split(b"\n") if line.strip() for frame in decode_block(ANYTHING, line + b"\n")]
    assert whole == pieces == by_line


def test_a_chunk_of_whole_lines_is_handed_on_without_a_copy() -> None:
    chunk = b'{"a":1}\n{"b":2}\n'
    assert LineSplitter().feed(chunk).lines is chunk


def test_an_unfinished_line_waits_for_its_end() -> None:
    assert split([b"a\nb", b"c", b"", b"d\ne\n"]) == [
        Block(b"a\n"),
        Block(),
        Block(),
        Block(b"bcd\ne\n"),
        Block(),
    ]


def test_a_last_line_without_newline_counts() -> None:
    assert split([b"a\nb"]) == [Block(b"a\n"), Block(b"b\n")]


def test_an_oversize_line_is_told_once_and_the_stream_goes_on() -> None:
    long = bytes(range(97, 117)) * 50
    blocks = split([b"a\n" + long[:600], long[600:], b"\nb\n"], ceiling=500)
    assert blocks == [Block(b"a\n"), Block(), Block(b"b\n", (Oversize(1000, long[:256]),)), Block()]


def test_an_oversize_line_at_the_end_is_told_too() -> None:
    assert split([b"x" * 9, b"y" * 9], ceiling=10)[-1] == Block(b"", (Oversize(18, b"x" * 9 + b"y" * 9),))


def test_a_line_as_long_as_the_ceiling_is_kept() -> None:
    assert joined(split([b"x" * 10 + b"\n" + b"y" * 11 + b"\n"], ceiling=10)) == Block(
        b"x" * 10 + b"\n", (Oversize(11, b"y" * 11),)
    )


def test_an_oversize_line_does_not_fill_memory() -> None:
    splitter = LineSplitter(ceiling=1 << 20)
    for _ in range(256):
        splitter.feed(bytes(64 * 1024))
    assert sum(len(fragment) for fragment in splitter._fragments) == 256
    assert splitter.feed(b"\n").oversize[0].size == 16 << 20


def test_fragments_are_kept_as_they_came_and_joined_once() -> None:
    splitter = LineSplitter()
    fragments = [bytes([65 + n]) * 64 * 1024 for n in range(16)]
    for fragment in fragments:
        splitter.feed(fragment)
    assert all(kept is given for kept, given in zip(splitter._fragments, fragments, strict=True))


def test_a_line_of_64_megabytes_costs_what_its_bytes_cost() -> None:
    chunk = b"x" * 64 * 1024
    begin = time.process_time()
    assert len(b"".join([chunk] * 1024)) == 64 << 20
    one_copy = time.process_time() - begin
    splitter = LineSplitter()
    begin = time.process_time()
    for _ in range(1023):
        splitter.feed(chunk)
    assert len(splitter.feed(chunk[:-1] + b"\n").lines) == 64 << 20
    assert time.process_time() - begin < 20 * max(one_copy, 0.005)  # `tail + chunk` would make 512 copies


def test_a_block_of_good_lines_becomes_frames() -> None:
    assert decode_block(msgspec.json.Decoder(Point), b'{"x":1}\n{"x":2}\n') == [Point(1), Point(2)]


def test_a_bad_line_spoils_neither_its_neighbours_nor_the_order() -> None:
    frames = decode_block(msgspec.json.Decoder(Point), b'{"x":1}\n{"x":"?"}\nnot json\n{"x":4}\n')
    assert [frame if isinstance(frame, Point) else frame.raw for frame in frames] == [
        Point(1),
        b'{"x":"?"}',
        b"not json",
        Point(4),
    ]
    reasons = [frame.reason for frame in frames if isinstance(frame, BadLine)]
    assert reasons[0] == "Expected `int`, got `str` - at `$.x`"
    assert "malformed" in reasons[1]


@pytest.mark.parametrize("line", [b'{"x":"\xff"}', b"[" * 100_000, b'{"x":1}{"x":2}', b"{"])
def test_what_is_not_one_value_is_a_bad_line(line: bytes) -> None:
    [frame] = decode_block(ANYTHING, line + b"\n")
    assert isinstance(frame, BadLine)
    assert frame.raw == line
    assert frame.reason


def test_a_line_that_is_not_utf_8_is_a_bad_line_also_where_the_decoder_leaves_the_bytes_alone() -> None:
    raw: msgspec.json.Decoder[msgspec.Raw] = msgspec.json.Decoder(msgspec.Raw)
    [bad, good] = decode_block(raw, b'{"x":"\xff"}\n{"x":"\xc3\xa4"}\n')
    assert isinstance(bad, BadLine)
    assert not isinstance(good, BadLine)
    assert bytes(good) == b'{"x":"\xc3\xa4"}'


DEEP = b"[" * 100_000


@pytest.mark.parametrize(
    ("line", "head"),
    [
        (b'{"id":5,"method":"m","params":' + DEEP, {"id": b"5", "method": b'"m"', "params": b""}),
        (b' {"id" : "a\\"b" , "x":{"id":7}}', {"id": b'"a\\"b"', "x": b""}),
        (b'{"id":5,"result":"\\ud800"}', {"id": b"5", "result": b'"\\ud800"'}),
        (b'{"params":{"id":5},"id":6}', {"params": b""}),
        (b'{"id":5,"id":6}', {"id": b"5"}),
        (b'{"id":', {"id": b""}),
        (b'{"text":"' + b"x" * 10_000, {"text": b""}),
        (b'say "id":5', {}),
        (b'[{"id":5}]', {}),
        (b"{}", {}),
        (b"", {}),
    ],
)
def test_the_head_of_a_line_that_cannot_be_decoded_is_read_up_to_the_first_nested_value(
    line: bytes, head: dict[str, bytes]
) -> None:
    assert read_head(line) == head


def test_a_value_broken_over_two_lines_is_two_bad_lines() -> None:
    frames = decode_block(ANYTHING, b"1 2\n{\n}\n")
    assert [type(frame) for frame in frames] == [BadLine] * 3


def test_blank_lines_vanish() -> None:
    assert decode_block(ANYTHING, b'\n{"a":1}\r\n   \n\r\n\t\n{"b":2}\n\n') == [{"a": 1}, {"b": 2}]


def test_an_empty_block_has_no_frames() -> None:
    assert decode_block(ANYTHING, b"") == []
