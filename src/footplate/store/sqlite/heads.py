"""The ends of the logs that were written lately: what an append is checked against and folded on to."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

import msgspec

from footplate.events.ids import SessionId
from footplate.store.bells import session_bell
from footplate.store.projection import Index, RequestRow, SessionRow

KEPT = 2_048

_session_decoder = msgspec.json.Decoder(SessionRow)
_request_decoder = msgspec.json.Decoder(RequestRow)


class Head:
    """The end of one log: its row number, owner, last event, and its index; `listed`: the session has a row.

    What the index says of place and time is as old as that row; `log_ends` has them as of the last event.
    """

    __slots__ = ("bell", "epoch", "index", "last_seq", "listed", "num", "settled", "stored")

    def __init__(self, num: int, epoch: int, last_seq: int, index: Index) -> None:
        self.bell = session_bell(index.session.session)
        self.num = num
        self.epoch = epoch
        self.last_seq = last_seq
        self.index = index
        self.listed = last_seq > 0
        self.stored = index.session if last_seq else None
        """The session's row as the file has it, but for place and time."""
        self.settled = True
        """Whether the log may be missing in `unsettled`, where an append must note it."""


class Heads:
    """Heads by session, some of them in memory. For whoever writes just now."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._kept: dict[SessionId, Head] = {}

    def get(self, session: SessionId) -> Head | None:
        """The head of a session that was claimed; None when it never was."""
        head = self._kept.get(session)
        if head is not None:
            return head
        found = self._connection.execute("SELECT num, epoch FROM logs WHERE session = ?", (session,)).fetchone()
        if found is None:
            return None
        num, epoch = found
        last_seq = find_last_seq(self._connection, num)
        return self.put(session, Head(num, epoch, last_seq, load_index(self._connection, num, session)))

    def put(self, session: SessionId, head: Head) -> Head:
        """Keep a head."""
        self._kept[session] = head
        return head

    def trim(self) -> None:
        """Let go of those that came first, if there are too many. Between groups: within one the file is behind."""
        while len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]

    def drop(self, session: SessionId) -> None:
        """Forget one."""
        self._kept.pop(session, None)

    def settle(self, nums: Collection[int]) -> None:
        """These logs are not in `unsettled` any more."""
        for head in self._kept.values():
            if head.num in nums:
                head.settled = True

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
