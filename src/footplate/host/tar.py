"""Reading a tar archive as it comes: bytes in, members and their contents out. Pure: it touches no file.

Knows ustar, GNU (long names, holes) and pax (long names, sizes, holes of version 1.0). What a header claims is believed
only as far as memory is concerned: no part of an archive makes us hold more than `HEADER_LIMIT`.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from typing import Final, Literal

import msgspec

from footplate.errors import ArchiveRefused

BLOCK: Final = 512
HEADER_LIMIT: Final = 1024 * 1024
"""The most that names, pax records or a map of holes may take."""

Kind = Literal["file", "folder", "link", "hardlink", "other"]
KINDS: Final[dict[bytes, Kind]] = {
    tarfile.REGTYPE: "file",
    tarfile.AREGTYPE: "file",
    tarfile.CONTTYPE: "file",
    tarfile.GNUTYPE_SPARSE: "file",
    tarfile.DIRTYPE: "folder",
    tarfile.SYMTYPE: "link",
    tarfile.LNKTYPE: "hardlink",
}
Segment = tuple[int, int]


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """The head of a member. `size` is that of the file it becomes; `sparse` tells that it has holes."""

    name: str
    kind: Kind
    size: int
    mode: int
    mtime: float
    target: str = ""
    sparse: bool = False


class Piece(msgspec.Struct, frozen=True):
    """Some of the contents of the last member, and where in the file they belong."""

    offset: int
    data: memoryview


class MemberEnd(msgspec.Struct, frozen=True):
    """The last member, a file, is whole."""


Item = Member | Piece | MemberEnd


class TarReader:
    """Feed it an archive in any pieces; it gives what they tell. Raises `ArchiveRefused`."""

    def __init__(self) -> None:
        self.over = False
        self._held = bytearray()
        self._wanted = BLOCK
        self._then: Callable[[bytes], Iterator[Item]] = self._on_header
        self._skip = 0
        self._begun = False
        self._extra: dict[str, str] = {}
        self._info = tarfile.TarInfo()
        self._stored = 0  # bytes of the file's contents that the archive has and that have not come yet
        self._segments: list[Segment] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[Item]:
        """Take the next bytes."""
        left = memoryview(data)
        while left and not self.over:
            if self._stored:
                piece, left = self._cut(left)
                yield piece
                if not self._stored:
                    yield MemberEnd()
            elif self._skip:
                count = min(self._skip, len(left))
                self._skip, left = self._skip - count, left[count:]
            else:
                count = self._wanted - len(self._held)
                self._held += left[:count]
                left = left[count:]
                if len(self._held) == self._wanted:
                    block = bytes(self._held)
                    self._held.clear()
                    yield from self._then(block)

    def finish(self) -> None:
        """Say that no more will come. An archive without its last empty blocks is fine, half a member is not."""
        if not self.over and (self._stored or self._held or self._begun):
            raise ArchiveRefused("the archive ends too early; send it again, whole")

    def _cut(self, left: memoryview) -> tuple[Piece, memoryview]:
        offset, room = self._segments[0]
        count = min(room, len(left))
        self._stored -= count
        if count == room:
            self._segments.pop(0)
        else:
            self._segments[0] = (offset + count, room - count)
        return Piece(offset, left[:count]), left[count:]

    def _want(self, count: int, then: Callable[[bytes], Iterator[Item]]) -> None:
        if count > HEADER_LIMIT:
            raise ArchiveRefused(f"a header of the archive claims {count} bytes; the most is {HEADER_LIMIT}")
        self._wanted, self._then = count, then

    def _on_header(self, block: bytes) -> Iterator[Item]:
        if not any(block):
            self.over = True
            return
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as problem:
            raise ArchiveRefused(f"not a tar archive, or a damaged one: {problem}") from problem
        if info.size < 0:
            raise ArchiveRefused(f"{info.name!r} in the archive claims a size of {info.size}")
        self._begun = True
        if info.type in (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK):
            key = "path" if info.type == tarfile.GNUTYPE_LONGNAME else "linkpath"
            self._want_extra(info.size, lambda data: {key: _text(data.split(b"\0", 1)[0])})
        elif info.type in (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE):
            self._want_extra(info.size, _pax_records)
        elif info.type == tarfile.XGLTYPE:
            self._want_extra(info.size, lambda data: _pax_records(data) and {})
        else:
            self._info = info
            yield from self._begin(block)

    def _want_extra(self, size: int, read: Callable[[bytes], dict[str, str]]) -> None:
        def on_extra(data: bytes) -> Iterator[Item]:
            self._extra |= read(data[:size])
            self._want(BLOCK, self._on_header)
            yield from ()

        self._want(_padded(size) or BLOCK, on_extra)
        if not size:
            self._want(BLOCK, self._on_header)

    def _begin(self, block: bytes) -> Iterator[Item]:
        """All that comes before the member is known: give it, unless its map of holes is still to come."""
        info, extra = self._info, self._extra
        self._size = _number(extra.get("size"), info.size)
        info.name = extra.get("GNU.sparse.name") or extra.get("path") or info.name
        info.linkname = extra.get("linkpath") or info.linkname
        info.mtime = _number(extra.get("mtime"), info.mtime)
        if "GNU.sparse.major" in extra:
            if (extra["GNU.sparse.major"], extra.get("GNU.sparse.minor")) != ("1", "0"):
                raise ArchiveRefused(f"{info.name!r} has holes of an unknown form; pack it without --sparse")
            self._map = bytearray()
            self._want(BLOCK, self._on_map)
        elif any(key.startswith("GNU.sparse.") for key in extra):
            raise ArchiveRefused(f"{info.name!r} has holes of an old pax form; pack it without --sparse")
        elif info.type == tarfile.GNUTYPE_SPARSE:
            self._segments = []
            yield from self._on_gnu_map(block[386:482], more=block[482], real=_octal(block[483:495]))
        else:
            whole = self._size if KINDS.get(info.type) == "file" else 0
            yield from self._give([(0, whole)] if whole else [], whole, stored=whole)

    def _on_gnu_map(self, structs: bytes, *, more: int, real: int) -> Iterator[Item]:
        """Holes as GNU tar writes them: four segments in the header, then blocks of 21."""
        for at in range(0, len(structs) - 23, 24):
            offset, length = _octal(structs[at : at + 12]), _octal(structs[at + 12 : at + 24])
            if length:
                self._segments.append((offset, length))
        if len(self._segments) * 24 > HEADER_LIMIT:
            raise ArchiveRefused(f"{self._info.name!r} has too many holes")
        if more:
            self._want(BLOCK, lambda block: self._on_gnu_map(block[:504], more=block[504], real=real))
            return
        yield from self._give(self._segments, real, stored=self._size)

    def _on_map(self, block: bytes) -> Iterator[Item]:
        """Holes as pax 1.0 has them: numbers on lines before the contents."""
        self._map += block
        if len(self._map) > HEADER_LIMIT:
            raise ArchiveRefused(f"{self._info.name!r} has too many holes")
        lines = bytes(self._map).split(b"\n")[:-1]
        try:
            numbers = [int(line) for line in lines if line.isdigit()]
            whole = bool(numbers) and len(numbers) > 2 * numbers[0]
        except ValueError as problem:
            raise ArchiveRefused(f"{self._info.name!r} has a damaged map of holes") from problem
        if not whole:
            if not numbers and len(self._map) >= BLOCK:
                raise ArchiveRefused(f"{self._info.name!r} has a damaged map of holes")
            return
        pairs = numbers[1 : 1 + 2 * numbers[0]]
        segments = [(pairs[at], pairs[at + 1]) for at in range(0, len(pairs), 2) if pairs[at + 1]]
        real = _number(self._extra.get("GNU.sparse.realsize"), 0)
        yield from self._give(segments, real, stored=self._size - len(self._map))

    def _give(self, segments: list[Segment], size: int, *, stored: int) -> Iterator[Item]:
        info, sparse = self._info, segments != [(0, size)] and size > 0
        if stored != sum(length for _, length in segments) or any(
            offset < 0 or offset + length > size for offset, length in segments
        ):
            raise ArchiveRefused(f"{info.name!r} has a damaged map of holes")
        kind = KINDS.get(info.type, "other")
        yield Member(
            name=info.name,
            kind=kind,
            size=size,
            mode=info.mode,
            mtime=info.mtime,
            target=info.linkname,
            sparse=sparse,
        )
        self._segments, self._stored, self._skip = segments, stored, _padded(stored) - stored
        if kind == "other":
            self._stored, self._skip = 0, _padded(self._size)
        self._extra, self._begun = {}, False
        self._want(BLOCK, self._on_header)
        if kind == "file" and not self._stored:
            yield MemberEnd()


def _padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _number(text: str | None, default: float) -> int:
    if text is None:
        return int(default)
    try:
        value = int(float(text)) if "." in text else int(text)
    except (ValueError, OverflowError) as problem:
        raise ArchiveRefused(f"{text!r} in the archive is not a number") from problem
    if value < 0:
        raise ArchiveRefused(f"{text!r} in the archive cannot be below zero")
    return value


def _octal(field: bytes) -> int:
    if field[:1] >= b"\x80":
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    text = field.split(b"\0", 1)[0].strip()
    try:
        return int(text or b"0", 8)
    except ValueError as problem:
        raise ArchiveRefused(f"{field!r} in the archive is not a number") from problem


def _pax_records(data: bytes) -> dict[str, str]:
    """`12 path=name\\n` and so on."""
    found: dict[str, str] = {}
    while data.rstrip(b"\0"):
        length, space, _ = data.partition(b" ")
        count = int(length) if length.isdigit() and len(length) < 9 else 0
        record = data[len(length) + 1 : count]
        key, equals, value = record.partition(b"=")
        if not space or not equals or not value.endswith(b"\n"):
            raise ArchiveRefused("the archive has damaged pax records; pack it again")
        found[_text(key)] = _text(value[:-1])
        data = data[count:]
    return found
