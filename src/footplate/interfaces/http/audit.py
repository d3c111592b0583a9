"""The audit log: who did what, from where, and what exactly was allowed."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from footplate.errors import PermissionDenied
from footplate.events.base import OptionalRaw
from footplate.interfaces.http.call import MB, Call
from footplate.interfaces.http.routing import Routes
from footplate.runtime.audit_head import read_heads
from footplate.store.chain import UNREADABLE, AuditHead, AuditRow

routes = Routes("audit")
SCANNED: Final = 10_000
"""How many records one call reads at most: a search for something rare continues with the next page."""

PAGE: Final = 500
PAGE_BYTES: Final = MB
"""A page ends with the record that reaches this size: the service and its client hold a whole page in memory."""


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Records after a number, oldest first, or the newest `tail` of them; only those of a session, an act, a person."""

    after: Annotated[int, Meta(ge=0)] = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    tail: Annotated[int, Meta(ge=0, le=1000)] = 0
    session: str = ""
    act: tuple[str, ...] = ()
    by: str = ""


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One record. `hash` is the SHA-256 of exactly the bytes of `record`.

    A record that was changed so that it is no longer JSON is given in `damaged`, as base64.
    """

    number: int
    hash: str
    record: OptionalRaw = None
    damaged: bytes = b""

    @classmethod
    def of(cls, row: AuditRow) -> AuditEntry:
        """The record as it is sent: its bytes must arrive as they are, or its hash would not be theirs."""
        if _is_json(row.body) and row.body.strip() == row.body:
            return cls(number=row.number, hash=row.hash, record=msgspec.Raw(row.body))
        return cls(number=row.number, hash=row.hash, damaged=row.body)


def _is_json(body: bytes) -> bool:
    """Whether it is JSON, without building its values, which may take many times the memory of a large record."""
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
        return body.isascii() or bool(body.decode())
    except UNREADABLE:
        return False


class AuditPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some records, oldest first.

    `after` is where the next page begins, if there is one; a page may have fewer records than asked for, or none, and
    not be the last: where records are filtered, or large. `head` is the newest record, `noted` what was noted of the
    newest record outside of the store, and `damaged` names the files of such notes that cannot be read.
    `compared` is false where the service found records and no note of the newest one when it started.
    """

    records: tuple[AuditEntry, ...]
    after: int | None
    head: AuditHead
    noted: tuple[AuditHead, ...]
    damaged: tuple[str, ...]
    compared: bool


class _Fields(msgspec.Struct, frozen=True):
    act: str = ""
    by: str = ""
    session: str = ""


_decoder = msgspec.json.Decoder(_Fields)


@routes.get(
    "/api/audit",
    scope="admin",
    summary="The audit log, page by page: answers, rules, tokens, logins, settings, deletions, acts of administrators",
    answer=AuditPage,
)
async def list_audit(call: Call, query: AuditQuery) -> AuditPage:
    if call.grant.limited:
        raise PermissionDenied(f"the token {call.grant.name!r} is limited; it does not read the audit log")
    trail = call.api.store.audit
    # First: what is noted after the records were read may be newer than they are, and would look like a cut end.
    in_files = await call.api.services.surroundings.blocking(read_heads, call.api.data)
    keeper = call.api.services.audit_head
    noted = {*filter(None, in_files.values()), *((keeper.noted,) if keeper is not None else ())}
    head = await trail.head()
    after = max(query.after, head.number - query.tail) if query.tail else query.after
    chosen: list[AuditRow] = []
    scanned = size = 0
    while len(chosen) < query.limit and scanned < SCANNED and size < PAGE_BYTES:
        rows = await trail.read(after, min(PAGE, query.limit) if not _filters(query) else PAGE)
        if not rows:
            break
        for row in rows:
            after, scanned = row.number, scanned + 1
            if _fits(row, query):
                chosen.append(row)
                size += len(row.body)
            if len(chosen) == query.limit or size >= PAGE_BYTES:
                break
    return AuditPage(
        records=tuple(map(AuditEntry.of, chosen)),
        after=after if after < head.number else None,
        head=head,
        noted=tuple(sorted((note for note in noted if note.number), key=lambda note: (note.number, note.hash))),
        damaged=tuple(path.name for path, note in in_files.items() if note is None),
        compared=keeper is None or keeper.compared,
    )


def _filters(query: AuditQuery) -> bool:
    return bool(query.session or query.act or query.by)


def _fits(row: AuditRow, query: AuditQuery) -> bool:
    if not _filters(query):
        return True
    try:
        fields = _decoder.decode(row.body)
    except UNREADABLE:
        return False  # `audit verify` reports it
    if query.act and fields.act not in query.act:
        return False
    return query.session in ("", fields.session) and query.by in ("", fields.by)
