"""The audit log as a chain of records, and how it is verified. Pure.

A record is a JSON object. The store puts two fields before its own: `number`, dense from 1, and `previous`, the hash of
the record before. Its hash is the SHA-256 of exactly the bytes that are stored. So no record can be changed, removed or
moved without a break that names it, except at the end: a chain that is cut there, or written again from some record on,
is sound in itself. Only a hash that was kept elsewhere (the head file, a line of the service log) shows that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final, Literal

import msgspec

START: Final = "0" * 64
"""What the first record names as the hash before it."""

CHECKPOINT: Final = "checkpoint"
"""The act of the record that retention leaves: records up to `through` were removed, the last had `hash`.

Whoever can append a record can append this one. So what a checkpoint explains is no break, but it is reported.
"""


UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are not the JSON that is expected: invalid UTF-8 is no `MsgspecError`."""


class AuditHead(msgspec.Struct, frozen=True, kw_only=True):
    """The newest record: its number and hash. Zero records have the number 0."""

    number: int = 0
    hash: str = START


class AuditRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One record as it is stored: `body` is the JSON that was hashed."""

    number: int
    hash: str
    body: bytes

    @property
    def head(self) -> AuditHead:
        """This record as the newest."""
        return AuditHead(number=self.number, hash=self.hash)

    def names(self, head: AuditHead) -> bool:
        """Whether this record was written directly after that one."""
        fields = _read(self)
        return fields is not None and (fields.number, fields.previous) == (head.number + 1, head.hash)


def link(head: AuditHead, record: bytes) -> AuditRow:
    """The record as the one after the head."""
    fields = record[1:] if record == b"{}" else b"," + record[1:]
    body = b'{"number":%d,"previous":"%s"%s' % (head.number + 1, head.hash.encode(), fields)
    return AuditRow(number=head.number + 1, hash=hashlib.sha256(body).hexdigest(), body=body)


class Break(msgspec.Struct, frozen=True, kw_only=True):
    """One place at which the chain does not hold."""

    kind: Literal["changed", "missing", "reordered", "cut", "damaged"]
    number: int
    text: str


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """Records that are not there because a checkpoint says so: its number, and when it was written."""

    first: int
    last: int
    checkpoint: int
    time: float


class _Fields(msgspec.Struct, frozen=True):
    number: int
    previous: str
    act: str = ""


class _Checkpoint(msgspec.Struct, frozen=True):
    number: int
    through: int
    hash: str
    time: float = 0.0


_decoder = msgspec.json.Decoder(_Fields)
_checkpoint_decoder = msgspec.json.Decoder(_Checkpoint)


class ChainCheck:
    """Verifies records that are fed page by page, in order of their numbers; `finish` ends it."""

    def __init__(
        self,
        expected: Iterable[AuditHead] = (),
        hashes: Iterable[str] = (),
        damaged: Iterable[str] = (),
        *,
        partial: bool = False,
    ) -> None:
        """`expected` are records that must be there, `hashes` are hashes that one record each must have.

        `damaged` names files in which expected records were noted and that cannot be read any more. `partial` records
        may begin anywhere.
        """
        self._damaged = tuple(damaged)
        self._noted = tuple(head for head in expected if head.number)
        self._expected: dict[int, set[str]] = {}
        for head in self._noted:
            self._expected.setdefault(head.number, set()).add(head.hash)
        self._hashes = set(hashes)
        self._partial = partial
        self._first: AuditRow | None = None
        self._last_holds = False
        self._checkpoints: list[_Checkpoint] = []
        self.count = 0
        self.head = AuditHead()
        """The newest record so far."""
        self.oldest = 0
        """The number of the oldest record after the last was read: retention may have removed those before it."""
        self.breaks: list[Break] = []
        self.removed: list[Removed] = []
        """What checkpoints say was removed, once all records were fed."""
        self._gaps: list[range] = []
        self._befores: dict[int, str] = {}
        """The hash before it that a record names which follows a gap."""

    @property
    def first(self) -> int:
        """The number of the oldest record; 0 when there is none."""
        return 0 if self._first is None else self._first.number

    @property
    def starts_late(self) -> bool:
        """Whether records begin somewhere and no checkpoint says why."""
        return self._partial and self.first > 1 and self._find_checkpoint(self.first - 1) is None

    @property
    def has_gaps(self) -> bool:
        """Whether records are missing behind the first one."""
        return any(self._gaps)

    def feed(self, rows: Iterable[AuditRow]) -> None:
        """Verify the next records."""
        for row in rows:
            self._check(row)

    def _check(self, row: AuditRow) -> None:
        fields = _read(row)
        whole = fields is not None and hashlib.sha256(row.body).hexdigest() == row.hash
        if self.count and row.number <= self.head.number:
            self._check_late(row, whole=whole)
            return
        adjoins = row.number == self.head.number + 1
        if self.count and not adjoins:
            self._gaps.append(range(self.head.number + 1, row.number))
        if fields is not None and fields.number != row.number:
            whole = False
            self._break("reordered", row.number, f"is out of order: it was written as number {fields.number}")
        elif not whole:
            self._break("changed", row.number, "was changed")
        elif fields is not None and adjoins and self._last_holds and fields.previous != self.head.hash:
            self._break("changed", self.head.number, f"was changed: record {row.number} was written after another one")
        elif not self._was_noted(row):
            self._break("changed", row.number, "was changed: it had another hash when it was the newest")
        if fields is not None and whole and not (self.count and adjoins):
            self._befores[row.number] = fields.previous
        self._take(row, fields, holds=whole)

    def _was_noted(self, row: AuditRow) -> bool:
        """Whether the record is what was noted of it, if anything was."""
        return self._expected.get(row.number, {row.hash}) == {row.hash}

    def _check_late(self, row: AuditRow, *, whole: bool) -> None:
        """A record behind one with a higher number. Only an exported file can have that."""
        if self._first is not None and row.number < self._first.number:
            self._gaps.append(range(row.number, self._first.number))
            self._first = row
        gap = next((gap for gap in self._gaps if row.number in gap), None)
        if gap is None:
            self._break("reordered", row.number, f"is there a second time, behind record {self.head.number}")
        else:
            self._gaps.remove(gap)
            self._gaps += [range(gap.start, row.number), range(row.number + 1, gap.stop)]
            self._break("reordered", row.number, f"is out of order: it is behind record {self.head.number}")
        if not whole or not self._was_noted(row):
            self._break("changed", row.number, "was changed")
        self.count += 1
        self._expected.pop(row.number, None)
        self._hashes.discard(row.hash)

    def _take(self, row: AuditRow, fields: _Fields | None, *, holds: bool) -> None:
        self._first = self._first or row
        self.count += 1
        self.head = row.head
        self._last_holds = holds
        self._expected.pop(row.number, None)
        self._hashes.discard(row.hash)
        if holds and fields is not None and fields.act == CHECKPOINT:
            self._take_checkpoint(row)

    def _take_checkpoint(self, row: AuditRow) -> None:
        try:
            found = _checkpoint_decoder.decode(row.body)
        except UNREADABLE:
            self._break("changed", row.number, "is no checkpoint: it does not say which records were removed")
            return
        if found.through >= found.number:
            self._break(
                "changed", row.number, f"is no checkpoint: it names records up to {found.through}, after itself"
            )
            return
        if any(head.number == found.through and head.hash != found.hash for head in self._noted):
            text = f"is no checkpoint: record {found.through} had another hash when it was the newest"
            self._break("changed", row.number, text)
            return
        self._checkpoints.append(found)

    def _find_checkpoint(self, last: int) -> _Checkpoint | None:
        """The first checkpoint that says why a record is not there."""
        return next((each for each in self._checkpoints if each.through >= last), None)

    def finish(self) -> list[Break]:
        """Everything that is wrong, once all records were fed."""
        if self._first is not None:
            self._check_start(self._first)
        for gap in filter(None, self._gaps):
            self._check_gap(gap)
        self.removed.sort(key=lambda removed: removed.first)
        self.breaks.sort(key=lambda broken: broken.number)
        removed = max(self.first - 1, 0)
        lost = max(self._expected, default=0)
        if lost > self.head.number:
            text = f"the end is cut off: record {lost} was written, and the newest is {self.head.number}"
            self.breaks.append(Break(kind="cut", number=self.head.number + 1, text=text))
        for digest in sorted(self._hashes - {each.hash for each in self._checkpoints}):
            text = f"no record has the hash {digest}: the end was cut off or written again"
            if removed:
                text += f", or it is among the {removed} records before the first"
            self.breaks.append(Break(kind="cut", number=self.head.number + 1, text=text))
        for name in self._damaged:
            text = f"the file {name} cannot be read: whether the end was cut off is unknown"
            self.breaks.append(Break(kind="damaged", number=self.head.number, text=text))
        return self.breaks

    def _check_start(self, first: AuditRow) -> None:
        """What is missing at the start must be what a checkpoint says was removed."""
        fields = _read(first)
        if self.starts_late:
            return
        if first.number > 1:
            self._check_gap(range(1, first.number))
        elif fields is not None and fields.previous != START:
            self._break("changed", first.number, "was changed: it names another hash before it")

    def _check_gap(self, gap: range) -> None:
        """Missing records, unless a checkpoint says that they were removed, and so were all before them."""
        last = gap.stop - 1
        checkpoint = self._find_checkpoint(last)
        if checkpoint is None or (gap.start > 1 and last >= self.oldest):
            self._miss(gap.start, last)
            return
        self.removed.append(Removed(first=gap.start, last=last, checkpoint=checkpoint.number, time=checkpoint.time))
        named = {each.hash for each in self._checkpoints if each.through == last}
        before = self._befores.get(gap.stop)
        if before is not None and named - {before}:
            self._break("changed", gap.stop, "was changed: it names another hash before it")

    def _break(self, kind: Literal["changed", "reordered"], number: int, text: str) -> None:
        self.breaks.append(Break(kind=kind, number=number, text=f"record {number} {text}"))

    def _miss(self, first: int, last: int) -> None:
        text = f"record {first} is missing" if first == last else f"records {first} to {last} are missing"
        self.breaks.append(Break(kind="missing", number=first, text=text))


def _read(row: AuditRow) -> _Fields | None:
    try:
        return _decoder.decode(row.body)
    except UNREADABLE:
        return None
