"""Raw lines in SQL: compressed blocks, see `footplate.store.frames`."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

import msgspec

from footplate.errors import WrongEpoch
from footplate.events.ids import SessionId
from footplate.store.frames import PageMaker, count_lines, make_blocks, mask_of, pack, split_block, unpack
from footplate.store.sqlite.logs import find_log
from footplate.store.sqlite.transaction import Transaction
from footplate.store.values import FramePage, FrameQuery, RawLines

EVERY: Final = 15
"""The bits of all directions."""

_INSERT = "INSERT INTO frame_blocks (log, first, last, time, directions, size, body) VALUES (?, ?, ?, ?, ?, ?, ?)"
# The body of a block without the wanted directions is not read.
_COLUMNS = "SELECT first, last, size, CASE WHEN directions & ?2 THEN body END FROM frame_blocks"
_OLDEST = f"""{_COLUMNS} WHERE log = ?1 AND first < ?4
AND first >= coalesce((SELECT max(first) FROM frame_blocks WHERE log = ?1 AND first <= ?3 + 1), 0) ORDER BY first"""
_NEWEST = f"{_COLUMNS} WHERE log = ?1 AND first < ?4 AND last > ?3 ORDER BY first DESC"


class Packed(msgspec.Struct, frozen=True, gc=False):
    """A block that is ready to be written."""

    body: bytes
    count: int
    directions: int
    time: float


def pack_all(chunks: Sequence[RawLines]) -> list[Packed]:
    """The blocks of these chunks. Takes about 4 ms for a megabyte."""
    return [
        Packed(pack(block), count_lines(block), mask_of(chunk.direction for chunk in block), block[-1].time)
        for block in make_blocks(chunks)
    ]


def append(tx: Transaction, session: SessionId, blocks: Sequence[Packed]) -> int:
    """Add blocks to a session that was claimed; the number of the last line."""
    head = tx.heads.get(session)
    if head is None:
        raise WrongEpoch(session, 0, 0)
    (number,) = tx.connection.execute("SELECT frames FROM logs WHERE num = ?", (head.num,)).fetchone()
    last = int(number)
    for block in blocks:
        size = len(block.body)
        row = (head.num, last + 1, last + block.count, block.time, block.directions, size, block.body)
        tx.connection.execute(_INSERT, row)
        last += block.count
        if tx.frames_size is not None:
            tx.frames_size += size
    tx.connection.execute("UPDATE logs SET frames = ? WHERE num = ?", (last, head.num))
    return last


def read(connection: sqlite3.Connection, session: SessionId, query: FrameQuery) -> FramePage:
    """A page of raw lines."""
    num, _ = find_log(connection, session)
    row = connection.execute(
        "SELECT frames, (SELECT min(first) FROM frame_blocks WHERE log = ?1) FROM logs WHERE num = ?1", (num,)
    ).fetchone()
    last, first = row or (0, None)
    page = PageMaker(query, first=last + 1 if first is None else first, last=last)
    end = last + 1 if query.before is None else query.before
    mask = mask_of(query.directions) or EVERY
    rows = connection.execute(_NEWEST if query.newest else _OLDEST, (num, mask, query.after, end))
    for first_of_block, last_of_block, size, body in rows:
        if body is None:
            page.skip(first_of_block if query.newest else last_of_block, size)
        else:
            frames = split_block(first_of_block, unpack(body))
            page.add_all(reversed(list(frames)) if query.newest else frames)
        if page.full:
            break
    rows.close()
    return page.finish()
