"""The values that go into a store and come out of it."""

from __future__ import annotations

from typing import Final, Generic, Literal, TypeVar, final

import msgspec

from footplate.events.codec import ReadEnvelope, decode_envelope, encode
from footplate.events.ids import EngineSessionId, RequestId, SessionId
from footplate.events.model import Envelope, SessionState
from footplate.events.requests import RequestKind, RequestState

T = TypeVar("T")

ARCHIVED: Final = "archived"
"""The namespace of the documents whose keys are the archived sessions; the index follows it."""


SESSION_DOCUMENTS: Final = ("sessions", ARCHIVED)
"""The namespaces whose documents belong to the session of the same key, and are deleted with it."""


@final
class Encoded(msgspec.Struct, frozen=True, gc=False):
    """An envelope together with its JSON, so that it is encoded once for the log and for every reader."""

    envelope: Envelope
    body: bytes

    @classmethod
    def of(cls, envelope: Envelope) -> Encoded:
        """Encode it."""
        return cls(envelope, encode(envelope))


class Stored(msgspec.Struct, frozen=True, gc=False):
    """One event as the log has it: `body` is the envelope's JSON in schema `version`."""

    session: SessionId
    seq: int
    version: int
    body: bytes

    def envelope(self) -> ReadEnvelope:
        """Decode it; an event of a type this version does not know is kept as `Unknown`."""
        return decode_envelope(self.body)


class Lease(msgspec.Struct, frozen=True, gc=False):
    """The right to write a session: appends carry its epoch, the first one expects `last_seq`."""

    session: SessionId
    epoch: int
    last_seq: int


Direction = Literal["in", "out", "err", "gap"]
"""Where a raw line came from: the agent's stdout, its stdin, its stderr; `gap` says that lines are missing."""


class RawLines(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Whole lines of an agent that were read or written at once, each with its newline.

    `seq` is the number of the session's last event at that time. `size` is the length of a line that was cut: then
    `lines` is the beginning of that one line.
    """

    direction: Direction
    time: float
    seq: int
    lines: bytes
    size: int = 0


class Frame(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One raw line as it is read back, without its newline, under its own dense number in the session.

    `size` is larger than `raw` when the line was cut.
    """

    number: int
    seq: int
    time: float
    direction: Direction
    size: int
    raw: bytes


class FrameQuery(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Which raw lines to read: those after one number and before another; no directions means all of them."""

    after: int = 0
    before: int | None = None
    limit: int = 500
    directions: tuple[Direction, ...] = ()
    newest: bool = False
    """Newest first: the next page is read with `before`, not with `after`."""


class FramePage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Raw lines in the order of the query.

    `cursor` is the number of the last line that was looked at: the next page goes on there while there is `more`.
    `first` is the number of the oldest line that is still stored (`last + 1` when there is none), `last` the number of
    the newest that was ever stored.
    """

    frames: tuple[Frame, ...]
    first: int
    last: int
    cursor: int
    more: bool


class JournalEntry(msgspec.Struct, frozen=True, gc=False):
    """One message that was sent, under its number."""

    number: int
    time: float
    body: bytes


class JournalPage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Entries in order. `lost` names the numbers that were asked for and are cut: from, to (both included)."""

    entries: tuple[JournalEntry, ...]
    last: int
    lost: tuple[int, int] | None = None


class JournalRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One journal in a list: the number of its last entry, and when that was written (None: it is cut)."""

    name: str
    last: int
    time: float | None = None


class Document(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A value under a key. `version` rises with each change and is never used twice, also after a deletion."""

    key: str
    version: int
    body: bytes
    time: float


class Message(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message of a queue as it was handed out for the `attempts`-th time; that number is its receipt."""

    id: int
    body: bytes
    attempts: int
    key: str | None = None
    lane: str = ""


class Put(msgspec.Struct, frozen=True, gc=False):
    """What became of a message: its id, and whether it is new (False: its key was there already)."""

    id: int
    added: bool


class Page(msgspec.Struct, Generic[T], frozen=True):
    """Some of the items. `after` is where the next page begins; None when there is no more."""

    items: tuple[T, ...]
    after: str | None = None


class SessionFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which sessions to list; what is empty does not matter."""

    states: tuple[SessionState, ...] = ()
    engine: str = ""
    engine_session: EngineSessionId | None = None
    cwd: str = ""
    asking: bool = False
    """Only those with an open request."""
    archived: bool | None = None
    """Only those that are archived, or only those that are not."""
    text: str = ""
    """Only those with this in title, folder or id, whatever the case."""


class RequestFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which requests to list; what is empty does not matter."""

    session: SessionId | None = None
    request: RequestId | None = None
    states: tuple[RequestState, ...] = ()
    kinds: tuple[RequestKind, ...] = ()
    detached: bool | None = None


class RetentionPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What may go. None keeps it for ever; session logs are kept unless the operator says otherwise."""

    frames_age_s: float | None = 7 * 86_400.0
    frames_bytes: int | None = 256 * 1024 * 1024
    """As they are stored, that is compressed; of all sessions together."""
    journal_age_s: float | None = 86_400.0
    journal_bytes: int | None = 16 * 1024 * 1024
    """Of each journal."""
    closed_sessions_age_s: float | None = None
    queue_done_age_s: float | None = 86_400.0
    """How long the key of a message that is done still keeps its like away."""


class Retained(msgspec.Struct, frozen=True, kw_only=True):
    """What one step of retention removed. `more`: the budget ran out first, call again."""

    sessions: int = 0
    events: int = 0
    frames: int = 0
    journal: int = 0
    messages: int = 0
    pages: int = 0
    more: bool = False
