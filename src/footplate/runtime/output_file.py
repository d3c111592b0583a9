"""The output of a process on disk, so that it is there after the service was killed: two files, the older one full."""

from __future__ import annotations

import logging
import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from footplate.host.raw import Stream
from footplate.runtime.output import Piece

STREAMS: Final[tuple[Stream, ...]] = ("stdout", "stderr", "pty")
HEAD: Final = struct.Struct("<QQBI")
"""Before the bytes of each piece: its number, its time, its stream, its length."""

log = logging.getLogger(__name__)


class OutputFile:
    """The last pieces of one process, at least `limit` bytes of them. A disk that takes no more is told once."""

    def __init__(self, folder: Path, name: str, limit: int) -> None:
        self._path = folder / f"{name}.out"
        self._full = folder / f"{name}.full"
        self._limit = limit
        self._fd = -1
        self._size = 0
        self._broken = False

    def read(self) -> list[Piece]:
        """What is there, in order and without a gap: what stands before one is left out, and a torn end cut off."""
        pieces: list[Piece] = []
        for path in (self._full, self._path):
            data = path.read_bytes() if path.exists() else b""
            end = 0
            for piece, end in _pieces(data):  # noqa: B007  the last one counts
                if pieces and piece.sequence != pieces[-1].sequence + 1:
                    pieces = []
                pieces.append(piece)
            if end < len(data):
                os.truncate(path, end)
        return pieces

    def add(self, piece: Piece) -> None:
        """Write a piece; it survives us from here on."""
        if self._broken:
            return
        try:
            self._write(
                HEAD.pack(piece.sequence, piece.timestamp_ms, STREAMS.index(piece.stream), len(piece.data)) + piece.data
            )
        except OSError as problem:
            self._broken = True
            log.warning("%s: the output is kept in memory only from here on: %s", self._path, problem.strerror)

    def _write(self, data: bytes) -> None:
        if self._fd < 0:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            self._size = os.fstat(self._fd).st_size
        elif self._size > self._limit:
            self.close()
            self._path.replace(self._full)
            self._write(data)
            return
        self._size += len(data)
        while data:
            data = data[os.write(self._fd, data) :]

    def close(self) -> None:
        """Nothing more is written."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def remove(self) -> None:
        """Remove it from the disk."""
        self.close()
        self._broken = True
        self._path.unlink(missing_ok=True)
        self._full.unlink(missing_ok=True)


def _pieces(data: bytes) -> Iterator[tuple[Piece, int]]:
    """The whole pieces, each with where it ends."""
    at = 0
    while at + HEAD.size <= len(data):
        number, time, stream, length = HEAD.unpack_from(data, at)
        begin, at = at + HEAD.size, at + HEAD.size + length
        if at > len(data) or stream >= len(STREAMS):
            return
        yield Piece(number, STREAMS[stream], time, data[begin:at]), at


def remove_strangers(folder: Path, known: Iterable[str]) -> None:
    """Remove the output of processes that nobody knows any more."""
    names = set(known)
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.suffix in (".out", ".full") and path.stem not in names:
            path.unlink(missing_ok=True)
