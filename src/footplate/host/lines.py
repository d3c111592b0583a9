"""Lines: bytes in, whole lines and frames out. No I/O, no clock, no asyncio.

A `LineSplitter` turns chunks as they come from a pipe into blocks of whole lines; `decode_block` turns
a block into frames. Any chunking of the same bytes gives the same frames. What cannot be decoded, and
what is too long to keep, is handed on as `BadLine` and `Oversize`: nothing is dropped unseen.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Final, TypeVar

import msgspec

CEILING: Final = 64 * 1024 * 1024
HEAD: Final = 256
BLANK: Final = b" \t\r\n"
HEAD_SEARCH: Final = 4096
MEMBER: Final = re.compile(rb'\s*+"([^"\\]*+)"\s*+:\s*+("(?:[^"\\]++|\\.)*+"|[-+.\w]*+)\s*+(,?)')

T = TypeVar("T")


class Oversize(msgspec.Struct, frozen=True, gc=False):
    """A line beyond the ceiling: its size without the newline, and how it began."""

    size: int
    head: bytes

    @property
    def text(self) -> str:
        """What is said of it, on every surface in the same words."""
        return f"a line of {self.size} bytes is above the limit of {CEILING} and was left out"


class Block(msgspec.Struct, frozen=True):
    """Whole newline-terminated lines in order, and the lines between them that were too long."""

    lines: bytes = b""
    oversize: tuple[Oversize, ...] = ()


class BadLine(msgspec.Struct, frozen=True, gc=False):
    """A line that is not a frame, without its newline, and why."""

    raw: bytes
    reason: str


NOTHING: Final = Block()


class LineSplitter:
    """Cuts a stream of chunks into blocks of whole lines.

    Fragments of an unfinished line wait in a list and are joined once, so a long line costs what its
    bytes cost. A line beyond the ceiling is counted and forgotten but for its head.
    """

    def __init__(self, *, ceiling: int = CEILING) -> None:
        self._ceiling = ceiling
        self._fragments: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Block:
        """Take the next bytes; give back every line they complete."""
        end = chunk.rfind(b"\n") + 1
        if end == 0:
            self._keep(chunk)
            return NOTHING
        whole = chunk if end == len(chunk) else chunk[:end]
        block = self._complete(whole) if self._size else self._judge(whole)
        if end < len(chunk):
            self._keep(chunk[end:])
        return block

    def finish(self) -> Block:
        """Take the end of the stream; a last line without a newline counts."""
        return self._complete(b"\n") if self._size else NOTHING

    def pending(self) -> bytes:
        """The line that is not finished, as far as it has come; of one beyond the ceiling only its head."""
        return b"".join(self._fragments)

    def _keep(self, fragment: bytes) -> None:
        if not fragment:
            return
        self._size += len(fragment)
        if self._size <= self._ceiling:
            self._fragments.append(fragment)
        else:
            self._fragments = [self._head(fragment)]

    def _head(self, last: bytes) -> bytes:
        head = b""
        for fragment in (*self._fragments, last):
            head += fragment[: HEAD - len(head)]
            if len(head) == HEAD:
                break
        return head

    def _complete(self, whole: bytes) -> Block:
        """Join what waits with `whole`, whose first newline ends the waiting line."""
        first = whole.find(b"\n")
        fragments, size = self._fragments, self._size + first
        if size <= self._ceiling:
            self._fragments, self._size = [], 0
            fragments.append(whole)
            return self._judge(b"".join(fragments))
        found = Oversize(size, self._head(whole[: min(first, HEAD)]))
        self._fragments, self._size = [], 0
        rest = self._judge(whole[first + 1 :])
        return Block(rest.lines, (found, *rest.oversize))

    def _judge(self, whole: bytes) -> Block:
        """Sort whole lines by the ceiling; only a block longer than the ceiling can hold an oversize one."""
        if len(whole) <= self._ceiling:
            return Block(whole)
        kept: list[bytes] = []
        oversize: list[Oversize] = []
        for line in _each_line(whole):
            if len(line) - 1 > self._ceiling:
                oversize.append(Oversize(len(line) - 1, line[:-1][:HEAD]))
            else:
                kept.append(line)
        return Block(b"".join(kept), tuple(oversize))


def decode_block(decoder: msgspec.json.Decoder[T], lines: bytes) -> list[T | BadLine]:
    """Decode each line of a block; blank lines vanish, a line that fails becomes a `BadLine`.

    The lines are cut and decoded without a step of ours per line. `decode_lines` would be quicker still, but it reads
    values, not lines: it takes `{\\n}` for one value and `{}{}` for two, and to rule that out costs what it saves.
    The bytes are checked to be UTF-8 first: the decoder skips over the parts that it leaves raw, and who decodes or
    stores those later would fail.
    """
    try:
        if not lines.isascii():
            lines.decode()
        return list(map(decoder.decode, io.BytesIO(lines)))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _decode_each(decoder, lines)


def _decode_each(decoder: msgspec.json.Decoder[T], lines: bytes) -> list[T | BadLine]:
    frames: list[T | BadLine] = []
    for line in lines.split(b"\n"):
        if not line.strip(BLANK):
            continue
        try:
            line.decode()
            frames.append(decoder.decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            frames.append(BadLine(line, str(error)))
    return frames


def read_head(line: bytes) -> dict[str, bytes]:
    """The first members of a JSON object that cannot be decoded, up to the first one that is not a plain value.

    That one is named as well, with no value. Programs write the id of a message first, so this tells what to answer
    although the rest is nested too deep, broken, or too long to be kept.
    """
    head: dict[str, bytes] = {}
    begun = line[:HEAD_SEARCH].lstrip(BLANK)
    place = 1 if begun.startswith(b"{") else len(begun)
    while found := MEMBER.match(begun, place):
        name, value, comma = found.groups()
        head.setdefault(name.decode("utf-8", "replace"), value)
        place = found.end() if comma else len(begun)
    return head


def _each_line(whole: bytes) -> Iterator[bytes]:
    begin = 0
    while begin < len(whole):
        end = whole.index(b"\n", begin) + 1
        yield whole[begin:end]
        begin = end
