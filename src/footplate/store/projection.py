"""The index as a pure fold: events in, rows of sessions and requests out.

A store folds events in the transaction that appends them and keeps the rows; it may fold the log again at any time and
must get the same rows. Only what lists need is here; the whole state of a session is `events.reduce`, and where the two
tell the same thing they agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar, cast

import msgspec
from msgspec.structs import replace

from footplate.events import model as m
from footplate.events.codec import ReadEnvelope
from footplate.events.ids import EngineSessionId, PromptId, RequestId, SessionId, TurnId
from footplate.events.model import Envelope, SessionState, WaitingFor
from footplate.events.requests import RequestKind, RequestState
from footplate.store.paging import write_mark

Stamp = Envelope | ReadEnvelope
_E = TypeVar("_E")


class SessionRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One session in a list. `cost_usd` is the sum over its turns, None until one told its cost."""

    session: SessionId
    epoch: int = 0
    last_seq: int = 0
    state: SessionState = "starting"
    waiting_for: WaitingFor = ""
    until: float | None = None
    title: str = ""
    engine: str = ""
    engine_session_id: EngineSessionId | None = None
    cwd: str = ""
    model: str = ""
    mode: str = ""
    effort: str = ""
    created_at: float | None = None
    updated_at: float = 0.0
    attached: bool = False
    turn: TurnId | None = None
    turns: int = 0
    failed: bool = False
    """The last turn failed and nothing was begun since. A turn that somebody stopped did not fail."""
    cost_usd: float | None = None
    open_requests: int = 0
    waiting_prompts: tuple[PromptId, ...] = ()
    unfinished: bool = False
    """Not closed, and a service that starts has something to do for it: see `Projections.unfinished`."""
    archived: bool = False
    """Whether a document of the namespace `archived` names it; not told by events."""
    forked_from: SessionId | None = None
    closed_reason: str = ""


class RequestRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One request in a list. The whole of it is the event numbered `seq`; `detached`: no process waits for it now."""

    id: RequestId
    session: SessionId
    kind: RequestKind
    seq: int
    opened_at: float
    title: str = ""
    tool: str = ""
    turn: TurnId | None = None
    state: RequestState = "open"
    detached: bool = False
    answer_seq: int = 0
    """The event that answered it; 0 when none did, or when an older version folded it."""
    answered_by: str = ""
    answered_from: str = ""
    answered_at: float | None = None
    ended_at: float | None = None
    reason: str = ""


class Index(msgspec.Struct, frozen=True):
    """What folding goes on from: a session's row, and those of its requests that have not ended."""

    session: SessionRow
    pending: tuple[RequestRow, ...] = ()


class Change(msgspec.Struct, frozen=True):
    """The index after some events, and each request's row that they changed, those that ended too."""

    index: Index
    requests: tuple[RequestRow, ...] = ()


def mark_of(row: SessionRow) -> str:
    """Where a list of sessions goes on after this one."""
    return write_mark((row.updated_at, row.session, ""))


def search_text(row: SessionRow) -> str:
    """What a search looks in: title, folder and id, with a character between them that nobody types."""
    return "\x1f".join((row.title, row.cwd, row.session)).casefold()


def fold(index: Index, envelopes: Iterable[Stamp]) -> Change:
    """The index after these events of its session, which follow those that it was made of."""
    draft: _Draft | None = None
    last: Stamp | None = None
    for last in envelopes:
        handler = _TABLE.get(type(last.event))
        if handler is not None:
            draft = draft or _Draft(index)
            handler(draft, last.event, last)
    if last is None:
        return Change(index)
    if draft is not None:
        return draft.finish(last)
    row = replace(index.session, epoch=last.epoch, last_seq=last.seq, updated_at=last.time)
    return Change(Index(row, index.pending))


class Folding:
    """A whole log on its way into an index: feed it in pieces, then take the rows."""

    def __init__(self, session: SessionId) -> None:
        self.index = Index(SessionRow(session=session))
        self._requests: dict[RequestId, RequestRow] = {}

    def add(self, envelopes: Iterable[Stamp]) -> None:
        """Fold the next piece."""
        change = fold(self.index, envelopes)
        self.index = change.index
        self._requests.update((request.id, request) for request in change.requests)

    @property
    def last_seq(self) -> int:
        """How far it got."""
        return self.index.session.last_seq

    @property
    def requests(self) -> tuple[RequestRow, ...]:
        """Every request of the log, in the order in which they were opened first."""
        return tuple(self._requests.values())


class _Draft:
    def __init__(self, index: Index) -> None:
        self.row = index.session
        self.pending = {request.id: request for request in index.pending}
        self.changed: dict[RequestId, RequestRow] = {}

    def set(self, request: RequestRow, *, ended: bool = False) -> None:
        self.changed[request.id] = request
        if ended:
            self.pending.pop(request.id, None)
        else:
            self.pending[request.id] = request

    def leave_queue(self, prompts: tuple[PromptId, ...]) -> None:
        waiting = self.row.waiting_prompts
        if waiting and prompts:
            left = tuple(prompt for prompt in waiting if prompt not in prompts)
            self.row = replace(self.row, waiting_prompts=left)

    def finish(self, last: Stamp) -> Change:
        row = replace(
            self.row,
            epoch=last.epoch,
            last_seq=last.seq,
            updated_at=last.time,
            open_requests=sum(request.state == "open" for request in self.pending.values()),
        )
        row = replace(row, unfinished=self._is_unfinished(row))
        return Change(Index(row, tuple(self.pending.values())), tuple(self.changed.values()))

    def _is_unfinished(self, row: SessionRow) -> bool:
        if row.state == "closed":
            return False
        if (
            row.attached
            or row.waiting_prompts
            or row.until is not None
            or (row.turn is not None and not row.open_requests)
        ):
            return True
        # One of several requests may be answered while another is still open: that answer is to be applied.
        return any(request.state == "answered" for request in self.pending.values())


_Handler = Callable[[_Draft, object, Stamp], None]


# ------------------------------------------------------------------------------------------------ sessions


def _session_opened(draft: _Draft, event: m.SessionOpened, at: Stamp) -> None:
    draft.row = replace(
        draft.row,
        created_at=at.time,
        engine=event.engine,
        cwd=event.cwd,
        title=event.title,
        model=event.model,
        mode=event.mode,
        effort=event.effort,
        engine_session_id=event.resumed.value if event.resumed else None,
        forked_from=event.forked_from,
    )


def _engine_attached(draft: _Draft, event: m.EngineAttached, _at: Stamp) -> None:
    before = draft.row
    draft.row = replace(
        before,
        attached=True,
        engine=event.engine,
        engine_session_id=event.engine_session_id,
        model=event.model or before.model,
        mode=event.mode or before.mode,
        cwd=event.cwd or before.cwd,
    )


def _engine_detached(draft: _Draft, _event: m.EngineDetached, _at: Stamp) -> None:
    draft.row = replace(draft.row, attached=False)
    for request in tuple(draft.pending.values()):
        if not request.detached:
            draft.set(replace(request, detached=True))


def _state_changed(draft: _Draft, event: m.StateChanged, _at: Stamp) -> None:
    """The state that follows `Parked` need not repeat until when; any other state ends the waiting."""
    until = event.until
    if until is None and event.state == "parked":
        until = draft.row.until
    draft.row = replace(draft.row, state=event.state, waiting_for=event.waiting_for, until=until)


def _parked(draft: _Draft, event: m.Parked, _at: Stamp) -> None:
    draft.row = replace(draft.row, state="parked", until=event.until)


def _mode_changed(draft: _Draft, event: m.ModeChanged, _at: Stamp) -> None:
    draft.row = replace(draft.row, mode=event.mode)


def _model_changed(draft: _Draft, event: m.ModelChanged, _at: Stamp) -> None:
    draft.row = replace(draft.row, model=event.model)


def _effort_changed(draft: _Draft, event: m.EffortChanged, _at: Stamp) -> None:
    draft.row = replace(draft.row, effort=event.effort)


def _title_changed(draft: _Draft, event: m.TitleChanged, _at: Stamp) -> None:
    draft.row = replace(draft.row, title=event.title)


def _session_closed(draft: _Draft, event: m.SessionClosed, _at: Stamp) -> None:
    draft.row = replace(
        draft.row, state="closed", waiting_for="", until=None, attached=False, closed_reason=event.reason
    )


def _turn_started(draft: _Draft, event: m.TurnStarted, _at: Stamp) -> None:
    draft.row = replace(draft.row, turn=event.turn, failed=False)
    draft.leave_queue(event.prompts)


def _turn_ended(draft: _Draft, event: m.TurnEnded, _at: Stamp) -> None:
    """The log has one of these for each turn, so each turn is counted once."""
    before, told = draft.row, event.usage.cost_usd if event.usage else None
    draft.row = replace(
        before,
        turn=None if before.turn == event.turn else before.turn,
        turns=before.turns + 1,
        failed=not event.ok and event.stop_reason != "interrupted",
        cost_usd=before.cost_usd if told is None else told + (before.cost_usd or 0.0),
        engine_session_id=event.resume.value if event.resume else before.engine_session_id,
    )
    draft.leave_queue(event.prompts)


def _prompt_queued(draft: _Draft, event: m.PromptQueued, _at: Stamp) -> None:
    """A prompt that waits already is only moved."""
    waiting = draft.row.waiting_prompts
    if event.prompt not in waiting:
        draft.row = replace(draft.row, waiting_prompts=(*waiting, event.prompt))


def _prompt_left(draft: _Draft, event: m.PromptWithdrawn | m.PromptSteered, _at: Stamp) -> None:
    draft.leave_queue((event.prompt,))


def _user_message(draft: _Draft, event: m.UserMessage, _at: Stamp) -> None:
    if event.prompt is not None:
        draft.leave_queue((event.prompt,))


# ------------------------------------------------------------------------------------------------ requests


def _request_opened(draft: _Draft, event: m.RequestOpened, at: Stamp) -> None:
    """A request that is asked again by a new process keeps its answer and when it was first asked."""
    asked = event.request
    held = draft.pending.get(asked.id)
    if held is not None:
        draft.set(replace(held, kind=asked.kind, title=asked.title, tool=asked.tool, seq=at.seq, detached=False))
        return
    draft.set(
        RequestRow(
            id=asked.id,
            session=draft.row.session,
            kind=asked.kind,
            seq=at.seq,
            opened_at=at.time,
            title=asked.title,
            tool=asked.tool,
            turn=at.turn if at.turn is not None else draft.row.turn,
        )
    )


def _request_answered(draft: _Draft, event: m.RequestAnswered, at: Stamp) -> None:
    """The first answer counts."""
    held = draft.pending.get(event.request)
    if held is not None and held.state == "open":
        who = {"answered_by": event.by, "answered_from": event.surface, "answered_at": at.time}
        draft.set(replace(held, state="answered", answer_seq=at.seq, **who))


def _request_applied(draft: _Draft, event: m.RequestApplied, at: Stamp) -> None:
    _end(draft, event.request, at, "applied", "")


def _request_rejected(draft: _Draft, event: m.RequestRejected, at: Stamp) -> None:
    _end(draft, event.request, at, "rejected", event.reason)


def _request_withdrawn(draft: _Draft, event: m.RequestWithdrawn, at: Stamp) -> None:
    _end(draft, event.request, at, "withdrawn", event.reason)


def _request_unanswered(draft: _Draft, event: m.RequestUnanswered, at: Stamp) -> None:
    _end(draft, event.request, at, "unanswered", event.reason)


def _end(draft: _Draft, request: RequestId, at: Stamp, state: RequestState, reason: str) -> None:
    held = draft.pending.get(request)
    if held is not None:
        draft.set(replace(held, state=state, reason=reason, detached=False, ended_at=at.time), ended=True)


def _on(kind: type[_E], handler: Callable[[_Draft, _E, Stamp], None]) -> tuple[type, _Handler]:
    """One line of the table; the handler must take events of that kind."""
    return kind, cast("_Handler", handler)


_TABLE: dict[type, _Handler] = dict(
    (
        _on(m.SessionOpened, _session_opened),
        _on(m.EngineAttached, _engine_attached),
        _on(m.EngineDetached, _engine_detached),
        _on(m.StateChanged, _state_changed),
        _on(m.Parked, _parked),
        _on(m.ModeChanged, _mode_changed),
        _on(m.ModelChanged, _model_changed),
        _on(m.EffortChanged, _effort_changed),
        _on(m.TitleChanged, _title_changed),
        _on(m.SessionClosed, _session_closed),
        _on(m.PromptQueued, _prompt_queued),
        _on(m.PromptWithdrawn, _prompt_left),
        _on(m.PromptSteered, _prompt_left),
        _on(m.UserMessage, _user_message),
        _on(m.TurnStarted, _turn_started),
        _on(m.TurnEnded, _turn_ended),
        _on(m.RequestOpened, _request_opened),
        _on(m.RequestAnswered, _request_answered),
        _on(m.RequestApplied, _request_applied),
        _on(m.RequestRejected, _request_rejected),
        _on(m.RequestWithdrawn, _request_withdrawn),
        _on(m.RequestUnanswered, _request_unanswered),
    )
)
"""What is not here changes only the place in the log and the time of the last activity."""

LISTED = frozenset(_TABLE)
"""The types of the events that change more than that."""
