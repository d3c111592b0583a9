"""Raw lines: how they are packed into blocks, split into frames, and read a page at a time. Pure.

An agent writes thousands of short lines in a turn. A row for each of them costs two to three times the CPU of a
compressed block of a few hundred (10 ms/MB against 4.5 ms/MB, measured), and ten times the disk space. So a store keeps
blocks; the numbers of the lines in a block follow from the number of its first line.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from footplate.errors import InvalidValue
from footplate.store.entries import check_range
from footplate.store.values import Direction, Frame, FramePage, FrameQuery, RawLines

BLOCK_BYTES: Final = 256 * 1024
"""The size of a block before compression. A larger group of lines is a block by itself."""

PAGE_BYTES: Final = 8 * 1024 * 1024
"""A page ends after this many bytes, whatever its limit."""

SEARCH_BYTES: Final = 64 * 1024 * 1024
"""A read that finds nothing ends after it has looked through this many bytes, and gives the place where it stopped."""

LEVEL: Final = 1
"""Of zlib: level 6 takes three times the CPU for a fifth less space."""

BITS: Final[dict[Direction, int]] = {"in": 1, "out": 2, "err": 4, "gap": 8}

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[RawLines])


def check_lines(chunks: Sequence[RawLines]) -> None:
    """Raise `InvalidValue` for a chunk that is not made of whole lines."""
    for chunk in chunks:
        if not chunk.lines.endswith(b"\n"):
            raise InvalidValue("lines", chunk.lines[-80:], "whole lines, each with its newline")
        if chunk.size and chunk.lines.count(b"\n") != 1:
            raise InvalidValue("size", chunk.size, "none, unless there is one line and it was cut")


def make_blocks(chunks: Iterable[RawLines]) -> Iterator[list[RawLines]]:
    """Group chunks into blocks."""
    block: list[RawLines] = []
    size = 0
    for chunk in chunks:
        if block and size + len(chunk.lines) > BLOCK_BYTES:
            yield block
            block, size = [], 0
        block.append(chunk)
        size += len(chunk.lines)
    if block:
        yield block


def pack(block: Sequence[RawLines]) -> bytes:
    """The block as a store keeps it."""
    return zlib.compress(_encoder.encode(block), LEVEL)


def unpack(body: bytes) -> list[RawLines]:
    """The chunks of a block."""
    return _decoder.decode(zlib.decompress(body))


def count_lines(block: Iterable[RawLines]) -> int:
    """The number of lines in a block."""
    return b"".join([chunk.lines for chunk in block]).count(b"\n")


def mask_of(directions: Iterable[Direction]) -> int:
    """Directions as bits, so that a block without the wanted ones need not be unpacked."""
    mask = 0
    for direction in directions:
        mask |= BITS[direction]
    return mask


def split_block(first: int, block: Iterable[RawLines]) -> Iterator[Frame]:
    """The lines of a block whose first line has this number."""
    number = first
    for chunk in block:
        for line in chunk.lines.split(b"\n")[:-1]:
            yield Frame(
                number=number,
                seq=chunk.seq,
                time=chunk.time,
                direction=chunk.direction,
                size=chunk.size or len(line),
                raw=line,
            )
            number += 1


def check_query(query: FrameQuery) -> None:
    """Raise `InvalidValue` for a query that cannot be answered."""
    check_range(query.after, query.limit)
    if query.before is not None and query.before < 1:
        raise InvalidValue("before", query.before, "the number of a line, at least 1")


class PageMaker:
    """Collects the frames of a page. Feed it frames in the order of the query until it is `full`."""

    def __init__(self, query: FrameQuery, *, first: int, last: int) -> None:
        """`first` and `last` are the numbers of the oldest line that is stored and of the newest there ever was."""
        self._query = query
        self._first = first
        self._last = last
        self._end = last + 1 if query.before is None else min(query.before, last + 1)
        self._frames: list[Frame] = []
        self._size = 0
        self._searched = 0
        self._cursor = self._end if query.newest else query.after

    @property
    def full(self) -> bool:
        """Whether the page takes nothing more."""
        full = len(self._frames) >= self._query.limit or self._size >= PAGE_BYTES
        return full or self._searched >= SEARCH_BYTES

    def add_all(self, frames: Iterable[Frame]) -> None:
        """Add those that the query asks for, as far as there is room."""
        query = self._query
        for frame in frames:
            if self.full:
                return
            if query.after < frame.number < self._end:
                self._cursor = frame.number
                self._searched += len(frame.raw)
                if not query.directions or frame.direction in query.directions:
                    self._frames.append(frame)
                    self._size += len(frame.raw)

    def skip(self, cursor: int, size: int) -> None:
        """Pass over a block that has nothing for the query; `cursor` is its last line in the order of the query."""
        self._searched += size
        self._cursor = max(cursor, self._query.after + 1) if self._query.newest else min(cursor, self._end - 1)

    def finish(self) -> FramePage:
        """The page."""
        after = self._query.after if self._query.newest else self._cursor
        end = self._cursor if self._query.newest else self._end
        return FramePage(
            frames=tuple(self._frames),
            first=self._first,
            last=self._last,
            cursor=self._cursor,
            more=max(after + 1, self._first) < end,
        )
