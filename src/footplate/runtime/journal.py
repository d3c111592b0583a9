"""The journal of a session's requests, which is its log: how far each one came, and what stays open for it. Pure.

    RequestOpened     open      nobody answered; the call has not run
    RequestAnswered   decided   stored for good, and no byte of it written; the call has not run
    RequestSent       sending   stored for good, then written: from here on only a result proves anything
    ToolEnded, ...    done      the request has its end

Each step is stored before it is taken. Where the agent waits for the answer, `RequestAnswered` and `RequestSent` are
one append and one flush to disk. That merges two points at which a crash may fall: "decided" does not exist there, and
a crash after the append and before the write leaves `sending`. That is honest, for nobody can tell it from a crash just
after the write, and it costs one question more: the person is asked whether the call is to be run (again). Where no
agent waits, the answer is stored by itself, and `RequestSent` once a process asks again.

A request whose process is gone keeps its call, the calls above that, and the turn open: the answer goes on with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from footplate.engines.parking import Pending, PendingState, Recorded
from footplate.events import model as m
from footplate.events.content import text_of
from footplate.events.ids import RequestId, ToolCallId
from footplate.events.model import Event
from footplate.events.requests import Allow, Choose, Deny
from footplate.events.view import RequestView, SessionView, ToolItem

REPORTED: Final = ("completed", "failed", "denied")
"""The outcomes of calls whose result the agent has reported."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What stays open although the process is gone."""

    requests: tuple[RequestView, ...] = ()
    calls: frozenset[ToolCallId] = frozenset()

    @property
    def ids(self) -> frozenset[RequestId]:
        """The ids of the requests."""
        return frozenset(held.request.id for held in self.requests)


NOTHING = Kept()


def kept_open(view: SessionView) -> Kept:
    """The requests of the open turn whose call, and every call above it, has not ended.

    One of an agent in the background is not among them: the call that started it has ended.
    """
    if view.turn is None:
        return NOTHING
    running = {item.id: item for item in view.items if isinstance(item, ToolItem) and item.ok is None}
    requests: list[RequestView] = []
    calls: set[ToolCallId] = set()
    for held in view.requests:
        chain = _chain(running, held)
        if chain and held.turn == view.turn and all(call in running for call in chain):
            requests.append(held)
            calls.update(chain)
    return Kept(requests=tuple(requests), calls=frozenset(calls))


def pending_of(view: SessionView, held: RequestView) -> Pending:
    """The request as the engine is told of it.

    One about a call that may have run already is, once it is answered by no, what it was before: allowed, and unknown.
    """
    running = {item.id: item for item in view.items if isinstance(item, ToolItem)}
    parents = tuple(_above(running, held))
    if held.request.rerun and held.answer is not None and refuses(held):
        return Pending(request=held.request, state="sending", answer=Allow(), parents=parents)
    return Pending(request=held.request, state=state_of(held), answer=held.answer, parents=parents)


def state_of(held: RequestView) -> PendingState:
    """How far we came."""
    if held.answer is None:
        return "open"
    return "sending" if held.sent else "decided"


def refuses(held: RequestView) -> bool:
    """Whether the answer is a no, by what it is or by the option that it names."""
    answer = held.answer
    if isinstance(answer, Choose):
        kinds = {option.id: option.kind for option in held.request.options}
        return kinds.get(answer.option, "other") in ("deny", "deny_and_stop")
    return isinstance(answer, Deny)


def results_in(view: SessionView, events: Sequence[Event] = ()) -> tuple[Recorded, ...]:
    """The results that calls of the open turn have had, or else of the last one, as text.

    `events` come after the view: their ends count as well.
    """
    turn = view.turn or (view.turns[-1].id if view.turns else None)
    calls = [item for item in view.items if isinstance(item, ToolItem) and item.turn == turn and item.parent is None]
    results = [
        Recorded(call=ToolCallId(item.id), text=text_of(item.content), is_error=not item.ok)
        for item in calls
        if item.status in REPORTED
    ]
    own = {item.id for item in calls if item.ok is None}
    for event in events:
        if isinstance(event, m.ToolStarted) and event.parent is None:
            own.add(event.call)
        elif isinstance(event, m.ToolEnded) and event.call in own and event.outcome in REPORTED:
            results.append(Recorded(call=event.call, text=text_of(event.content), is_error=not event.ok))
    return tuple(results)


def chain_of(view: SessionView, held: RequestView) -> tuple[ToolCallId, ...]:
    """The call that is asked about and those above it that have not ended, the nearest first."""
    running = {item.id: item for item in view.items if isinstance(item, ToolItem) and item.ok is None}
    return tuple(call for call in _chain(running, held) if call in running)


def _chain(running: dict[str, ToolItem], held: RequestView) -> list[ToolCallId]:
    return [held.request.call, *_above(running, held)] if held.request.call else []


def _above(calls: dict[str, ToolItem], held: RequestView) -> list[ToolCallId]:
    """The calls above the one that is asked about, the nearest first."""
    found: list[ToolCallId] = []
    call = calls.get(held.request.call or "")
    parent = held.parent or (call.parent if call is not None else None)
    while parent is not None and parent not in found:
        found.append(parent)
        above = calls.get(parent)
        parent = above.parent if above is not None else None
    return found
