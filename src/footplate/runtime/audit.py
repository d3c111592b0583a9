"""The audit log: who did what, from where, and what exactly was allowed.

A record is written before an act takes effect, or with it in one transaction, and survives a power cut: nothing of what
is listed here happens without one. `store.chain` says how records are chained and verified.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pwd
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec

from footplate.events.base import OptionalRaw
from footplate.events.content import ContentBlock
from footplate.events.ids import SessionId
from footplate.events.requests import Allow, Answer, Choose, Deny, Request, RequestOption, Suggestion
from footplate.events.rules import SessionRule, lasting_option, meaning, taken_suggestion
from footplate.events.tools import FileChange, FileChangeDetail
from footplate.runtime.surroundings import Surroundings
from footplate.store.base import AuditTrail
from footplate.store.chain import UNREADABLE, AuditRow
from footplate.store.projection import SessionRow

Act = Literal[
    "answer",
    "rule.revoke",
    "token.create",
    "token.revoke",
    "login",
    "login.failed",
    "settings.change",
    "config.write",
    "config.delete",
    "session.mode",
    "session.limits",
    "session.route",
    "session.delete",
    "request.expire",
    "file.delete",
    "file.replace",
    "process.limits",
    "project.add",
    "project.remove",
    "worktree.remove",
    "agent.install",
    "agent.remove",
    "agent.check",
    "agent.logout",
    "store.import",
    "store.tidy",
    "store.vacuum",
    "checkpoint",
]
"""What is recorded. docs/reference/audit.md describes each."""

log = logging.getLogger(__name__)

Detail = Mapping[str, object]
DAY_S: Final = 86_400.0
EXPIRED: Final = {"reason": "retention.closed_sessions_days"}
"""Why retention deletes a session: the setting that says so."""


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """Who acts: the name of a person or token, the surface, and where it is (an address, a chat, a terminal).

    `token` is the id of a token that was issued: anybody who may issue one can give it any name.
    """

    by: str = ""
    surface: str = ""
    origin: str = ""
    token: str = ""


TEXTS: Final = 32
"""Up to so many texts of changes are looked for in an input; more are recorded beside it."""

POLICY: Final = "policy"
"""The surface from which rules answer."""

SURFACE_CHARS: Final = 40
RESERVED: Final = frozenset({POLICY, "service", "file", "telegram", "acp", "editor"})
"""The surfaces that Footplate itself names: no client can call itself so."""


def claimed_surface(name: str, default: str) -> str:
    """What a client calls itself; the default where that is empty, reserved, or not printable ASCII.

    Only letters and digits are compared: a name that differs from a reserved one in case or punctuation reads the same.
    """
    shown = name.strip()[:SURFACE_CHARS]
    plain = "".join(char for char in shown.lower() if char.isalnum())
    return shown if plain and shown.isascii() and shown.isprintable() and plain not in RESERVED else default


LOCAL: Final = "local"
"""The origin of calls over a local socket, which only the account of the service reaches."""

SERVICE: Final = Principal(by="footplate", surface="service")
"""The service itself."""


def account_name() -> str:
    """The account that this process runs as: nobody else reaches its local socket, or its data folder."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One act. `target` is what it was done to; `detail` depends on the act."""

    time: float
    act: Act
    by: str = ""
    surface: str = ""
    origin: str = ""
    token: str = ""
    session: str = ""
    target: str = ""
    detail: Detail = {}


class AnswerRecord(AuditRecord, frozen=True, kw_only=True, omit_defaults=True):
    """An answer to a request, with what was answered.

    `input` is what was allowed or denied, `input_sha256` the hash of exactly these bytes. `asked_input` is what the
    agent had asked for, where the person has changed it. `changes` and `content` are what the agent showed beside the
    input: changes of files whose text is not in it, links, pictures, files. `chosen` is the label of the option that
    the answer names, and `option` is that option; `rules` is what the answer allows beyond the one call. `suggestion`
    is the lasting change that the agent makes by itself because of the answer (a rule in its settings, another mode):
    no rule of ours stands for each of them.
    """

    kind: str = ""
    tool: str = ""
    title: str = ""
    answer: Answer | None = None
    chosen: str = ""
    option: RequestOption | None = None
    input: OptionalRaw = None
    input_sha256: str = ""
    asked_input: OptionalRaw = None
    changes: tuple[FileChange, ...] = ()
    content: tuple[ContentBlock, ...] = ()
    plan: str = ""
    rules: tuple[str, ...] = ()
    suggestion: Suggestion | None = None


class CheckpointRecord(AuditRecord, frozen=True, kw_only=True):
    """Retention has removed the records up to `through`; `hash` is that of the last of them."""

    through: int
    hash: str


def record_answer(
    time: float,
    session: SessionId,
    request: Request,
    answer: Answer,
    principal: Principal,
    rules: Iterable[SessionRule] = (),
) -> bytes:
    """The record of an answer, encoded."""
    asked = _seen_input(request)
    given = asked
    if isinstance(answer, Allow) and answer.updated_input is not None:
        given = answer.updated_input
        answer = msgspec.structs.replace(answer, updated_input=None)
    option = _chosen(request, answer)
    return msgspec.json.encode(
        AnswerRecord(
            time=time,
            act="answer",
            by=principal.by,
            surface=principal.surface,
            origin=principal.origin,
            token=principal.token,
            session=session,
            target=request.id,
            kind=request.kind,
            tool=request.tool,
            title=request.title,
            answer=answer,
            chosen=option.label if option is not None else "",
            option=option,
            input=given,
            input_sha256="" if given is None else hashlib.sha256(given).hexdigest(),
            asked_input=None if given is asked else asked,
            changes=_changes_beside(request),
            content=request.content,
            plan=request.plan if given is None else "",
            rules=tuple(rule.label for rule in rules),
            suggestion=_suggestion(request, answer),
        )
    )


def _seen_input(request: Request) -> OptionalRaw:
    """The input of the call. Some agents (Gemini CLI) send a diff instead: then the call as it was shown."""
    if request.input is None and request.detail is not None:
        return msgspec.Raw(msgspec.json.encode(request.detail))
    return request.input


def _changes_beside(request: Request) -> tuple[FileChange, ...]:
    """The changes of files as they were shown, unless each of their texts is in the input."""
    if request.input is None or not isinstance(request.detail, FileChangeDetail):
        return ()
    changes = request.detail.changes
    texts = [text for change in changes for text in _texts(change)]
    # Each text is looked for in an input of perhaps megabytes, on the event loop.
    covered = len(texts) <= TEXTS and all(msgspec.json.encode(text)[1:-1] in bytes(request.input) for text in texts)
    return () if covered else changes


def _texts(change: FileChange) -> Iterable[str]:
    yield from filter(None, (change.path, change.old_text, change.new_text, change.moved_to))
    yield from ("\n".join(hunk.lines) for hunk in change.hunks)


def _suggestion(request: Request, answer: Answer) -> Suggestion | None:
    full = meaning(request, answer)
    return taken_suggestion(request, full) if isinstance(full, Allow | Deny) else None


def _chosen(request: Request, answer: Answer) -> RequestOption | None:
    """The engine's option that was chosen, also by an "always" that stands for one."""
    if isinstance(answer, Allow) and answer.scope == "always":
        return lasting_option(request)
    if not isinstance(answer, Choose):
        return None
    return next((option for option in request.options if option.id == answer.option), None)


def describe_session(row: SessionRow | None) -> Detail:
    """What the record of a deleted session says of it."""
    return {} if row is None else {"title": row.title, "engine": row.engine, "cwd": row.cwd}


class _Dated(msgspec.Struct, frozen=True):
    time: float = 0.0


def _time_of(row: AuditRow) -> float:
    """When the record says that it was written."""
    try:
        return msgspec.json.decode(row.body, type=_Dated).time
    except UNREADABLE:
        return 0.0


class Audit:
    """Writes to the audit log of one service."""

    def __init__(self, trail: AuditTrail, surroundings: Surroundings) -> None:
        self.trail = trail
        self._surroundings = surroundings
        self._cut_through: int | None = None

    def answer(
        self,
        session: SessionId,
        request: Request,
        answer: Answer,
        principal: Principal,
        rules: Iterable[SessionRule] = (),
    ) -> bytes:
        """The record of an answer, for the append that stores it."""
        return record_answer(self._surroundings.time(), session, request, answer, principal, rules)

    def act(
        self, act: Act, principal: Principal, *, session: str = "", target: str = "", detail: Detail | None = None
    ) -> bytes:
        """The record of an act, for the append that stores it."""
        return msgspec.json.encode(
            AuditRecord(
                time=self._surroundings.time(),
                act=act,
                by=principal.by,
                surface=principal.surface,
                origin=principal.origin,
                token=principal.token,
                session=session,
                target=target,
                detail=detail or {},
            )
        )

    def expired_session(self, row: SessionRow) -> bytes:
        """The record of a session that retention deletes, for the step that deletes it."""
        return self.act("session.delete", SERVICE, session=row.session, detail={**describe_session(row), **EXPIRED})

    async def record(
        self, act: Act, principal: Principal, *, session: str = "", target: str = "", detail: Detail | None = None
    ) -> None:
        """Write a record, durably. Raises `StoreError`: then the act must not take place."""
        await self.trail.append([self.act(act, principal, session=session, target=target, detail=detail)])

    async def tidy(self, keep_s: float, budget: int) -> int:
        """Remove records that are older than that, at most `budget`; how many, and 0 when none is left.

        A checkpoint says what is removed. It begins only once the oldest is a day older than that: otherwise each step
        would leave a checkpoint.
        """
        now = self._surroundings.time()
        if self._cut_through is None:
            last = await self.trail.find_last(now - keep_s)
            if last is None or await self.trail.find_last(now - keep_s - DAY_S) is None:
                await self._look_at_oldest(now, keep_s)
                return 0
            if _time_of(last) >= now - keep_s:  # the store's own note of the time is in no hash
                log.error("the audit log was changed: record %d is newer than the store says", last.number)
                return 0
            checkpoint = CheckpointRecord(
                time=now,
                act="checkpoint",
                by=SERVICE.by,
                surface=SERVICE.surface,
                through=last.number,
                hash=last.hash,
            )
            await self.trail.append([msgspec.json.encode(checkpoint)])
            self._cut_through = last.number
        removed = await self.trail.cut(self._cut_through, budget)
        if not removed:
            self._cut_through = None
        return removed

    async def _look_at_oldest(self, now: float, keep_s: float) -> None:
        """Say so where nothing is removed because of the oldest record: no later one is looked at."""
        rows = await self.trail.read(0, 1)
        written = _time_of(rows[0]) if rows else now
        if written < now - keep_s - DAY_S:
            text = "the audit log was changed: record %d is older than the store says, and no record is removed"
            log.error(text, rows[0].number)
        elif written > now + DAY_S:
            text = "record %d of the audit log was written in the future (%.0f): no record is removed before then"
            log.error(text, rows[0].number, written)
