"""The ends of the logs that were written lately: what an append is checked against and folded on to."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict

import msgspec

from footplate.events.ids import SessionId
from footplate.store.projection import Index, RequestRow, SessionRow

KEPT = 2_048

_session_decoder = msgspec.json.Decoder(SessionRow)
_request_decoder = msgspec.json.Decoder(RequestRow)


class Head:
    """The end of one log: its row number, owner, last event, and the index folded up to there."""

    __slots__ = ("epoch", "index", "last_seq", "num")

    def __init__(self, num: int, epoch: int, last_seq: int, index: Index) -> None:
        self.num = num
        self.epoch = epoch
        self.last_seq = last_seq
        self.index = index


class Heads:
    """Heads by session, the latest used ones in memory. Writer's thread only."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._kept: OrderedDict[SessionId, Head] = OrderedDict()

    def get(self, session: SessionId) -> Head | None:
        """The head of a session that was claimed; None when it never was."""
        head = self._kept.get(session)
        if head is not None:
            self._kept.move_to_end(session)
            return head
        found = self._connection.execute("SELECT num, epoch FROM logs WHERE session = ?", (session,)).fetchone()
        if found is None:
            return None
        num, epoch = found
        last_seq = find_last_seq(self._connection, num)
        return self.put(session, Head(num, epoch, last_seq, load_index(self._connection, num, session)))

    def put(self, session: SessionId, head: Head) -> Head:
        """Keep a head, and let go of the one that was used longest ago."""
        self._kept[session] = head
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return head

    def drop(self, session: SessionId) -> None:
        """Forget one."""
        self._kept.pop(session, None)

    def clear(self) -> None:
        """Forget all: what is in memory may not be what is in the file."""
        self._kept.clear()


def find_last_seq(connection: sqlite3.Connection, num: int) -> int:
    """The number of a log's last event."""
    (last,) = connection.execute("SELECT max(seq) FROM events WHERE log = ?", (num,)).fetchone()
    return last or 0


def load_index(connection: sqlite3.Connection, num: int, session: SessionId) -> Index:
    """The index of a log as its rows have it."""
    found = connection.execute("SELECT row FROM session_rows WHERE log = ?", (num,)).fetchone()
    if found is None:
        return Index(SessionRow(session=session))
    requests = connection.execute(
        "SELECT row FROM request_rows WHERE log = ? AND state IN ('open', 'answered') ORDER BY rowid", (num,)
    )
    pending = tuple(_request_decoder.decode(row) for (row,) in requests)
    return Index(_session_decoder.decode(found[0]), pending)
