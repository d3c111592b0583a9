"""The output of a process: the last bytes of it, in numbered pieces, and a bell for those who follow it."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, Literal

import msgspec

from footplate.host.raw import Stream

OVERHEAD: Final = 160
"""What a piece costs beside its bytes: a process that writes byte by byte must not make us hold millions of them."""

NEAR: Final = 1024

Wanted = Literal["stdout", "stderr", "combined", "pty"]


class Piece(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Some output. Numbers are dense from 1; what was cut is known by the numbers that are missing."""

    sequence: int
    stream: Stream
    timestamp_ms: int
    data: bytes
    encoding: Literal["base64"] = "base64"


class Output:
    """The last `limit` bytes that a process wrote."""

    def __init__(self, limit: int) -> None:
        self.last = 0
        self.closed = False
        self._limit = limit
        self._pieces: deque[Piece] = deque()
        self._size = 0
        self._bells: set[asyncio.Event] = set()

    @property
    def first(self) -> int:
        """The number of the oldest piece that is kept; one more than the last when there is none."""
        return self._pieces[0].sequence if self._pieces else self.last + 1

    def add(self, stream: Stream, data: bytes, at_ms: int) -> Piece:
        """More output has come."""
        piece = Piece(self.last + 1, stream, at_ms, data)
        self._hold(piece)
        self._ring()
        return piece

    def restore(self, pieces: Iterable[Piece]) -> None:
        """What an earlier service has heard of it; the numbers go on from there."""
        for piece in pieces:
            self._hold(piece)

    def _hold(self, piece: Piece) -> None:
        self.last = piece.sequence
        self._pieces.append(piece)
        self._size += len(piece.data) + OVERHEAD
        while self._size > self._limit and len(self._pieces) > 1:
            self._size -= len(self._pieces.popleft().data) + OVERHEAD

    def close(self) -> None:
        """No more will come."""
        self.closed = True
        self._ring()

    def after(self, sequence: int, wanted: Wanted = "combined") -> Sequence[Piece]:
        """The pieces after a number that are kept."""
        count = min(self.last - sequence, len(self._pieces))
        if count > NEAR:
            pieces = list(itertools.islice(self._pieces, len(self._pieces) - count, None))
        else:
            pieces = [self._pieces[at] for at in range(-count, 0)]  # what is near the end of a deque is found at once
        return pieces if wanted == "combined" else [piece for piece in pieces if piece.stream == wanted]

    def follow(self) -> asyncio.Event:
        """A bell that is rung whenever there is something new; give it back with `leave`."""
        bell = asyncio.Event()
        self._bells.add(bell)
        return bell

    def leave(self, bell: asyncio.Event) -> None:
        """The bell is not needed any more."""
        self._bells.discard(bell)

    def _ring(self) -> None:
        for bell in self._bells:
            bell.set()
