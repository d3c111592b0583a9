"""The words and events for requests whose process is gone: kept, replaced, brought to an end. Pure."""

from __future__ import annotations

from typing import Final, Literal

from msgspec.structs import replace

from footplate.engines.parking import Recorded, Way
from footplate.events import model as m
from footplate.events.content import TextBlock
from footplate.events.ids import RequestId, ToolCallId
from footplate.events.model import Event
from footplate.events.requests import RequestOption
from footplate.events.tools import ToolOutcome
from footplate.events.view import RequestView, SessionView
from footplate.runtime.journal import Kept, chain_of, refuses
from footplate.runtime.recovery import close_calls

UNKNOWN: Final = (
    "Approved, but the process ended before the result was recorded. It may or may not have run. "
    "Check, then choose: run it again, or go on without."
)
DROPPED: Final = "{count} further calls were cancelled by the restart; the agent may ask again"
OTHER_CALL: Final = "the agent was started again and asks for something else now"
NOT_ASKED: Final = "the agent was started again, and the turn ended without this call"
NO_RECORD: Final = "the agent has no record of the conversation, and the log none of a prompt to begin it anew"
MADE_AGAIN: Final = "the agent is asked to make this call again"
NOT_RUN: Final = "This call was cancelled before it was answered. It has not run."
MAY_HAVE_RUN: Final = "Whether this call took effect is unknown. Check before you repeat it."


def ask_about_rerun(held: RequestView, name: RequestId) -> list[Event]:
    """Nobody knows whether the call ran: the person is told, and asked whether to run it (again)."""
    old = held.request
    request = replace(
        old,
        id=name,
        replaces=old.id,
        rerun=True,
        reason=UNKNOWN,
        reason_type="unknown outcome",
        options=tuple(_choices(old.options)),
        suggestions=(),
        engine_request="",
    )
    return [
        m.RequestWithdrawn(request=old.id, reason=UNKNOWN),
        m.Notice(level="warning", text=f"{old.title}: {UNKNOWN}", code="outcome_unknown", call=old.call),
        m.RequestOpened(request=request, parent=held.parent),
    ]


def _choices(options: tuple[RequestOption, ...]) -> list[RequestOption]:
    """The plain yes and the plain no, in words that fit."""
    words = {"allow_once": "Run it again", "deny": "Go on without running it again"}
    return [replace(option, label=words[option.kind]) for option in options if option.kind in words]


def settled(view: SessionView, held: RequestView, way: Way) -> list[Event]:
    """The engine has the result: the call is over, and the answer was used."""
    outcome: ToolOutcome = "denied" if refuses(held) else ("failed" if way.is_error else "completed")
    return [*_sent(held), m.RequestApplied(request=held.request.id), *_end_chain(view, held, outcome, way.text)]


def before_process(view: SessionView, held: RequestView, way: Way) -> list[Event]:
    """What is to be stored before a new process is started that way."""
    events: list[Event] = []
    if way.dropped:
        events.append(m.Notice(level="warning", text=DROPPED.format(count=way.dropped), code="calls_dropped"))
    if way.kind == "ask":
        if way.restarts and held.request.call is not None:
            events.append(_ended(held.request.call, "lost", note="the sub-agent begins anew"))
        return events
    if way.kind == "anew" or way.again:
        return [*events, *_end_chain(view, held, "lost", note=MADE_AGAIN)]
    if way.unknown and not held.request.rerun:
        told = m.Notice(level="warning", text=f"{held.request.title}: {UNKNOWN}", code="outcome_unknown")
        withdrawn = m.RequestWithdrawn(request=held.request.id, reason="the agent cannot be brought to ask again")
        return [*events, withdrawn, told, *_end_chain(view, held, "lost", way.text)]
    outcome: ToolOutcome = "lost" if way.unknown else ("denied" if refuses(held) else _outcome(way))
    applied = m.RequestApplied(request=held.request.id)
    return [*events, *_sent(held), applied, *_end_chain(view, held, outcome, way.text)]


def is_waiting(held: RequestView) -> bool:
    """Whether the agent waits for an answer to it. A question about a limit is asked by us, and has no deadline."""
    return held.state == "open" and not held.request.limit


def end_turn(
    view: SessionView,
    reason: str,
    *,
    stop: m.StopReason,
    request: Literal["withdrawn", "unanswered"] = "withdrawn",
) -> list[Event]:
    """The turn is over although no process is there to end it; everything of it closes."""
    events: list[Event] = [
        m.RequestUnanswered(request=held.request.id, reason=reason)
        if request == "unanswered" and is_waiting(held)
        else m.RequestWithdrawn(request=held.request.id, reason=reason)
        for held in view.requests
        if held.turn == view.turn and not held.request.limit
    ]
    doomed = [held for held in view.requests if held.turn == view.turn and not (held.sent or held.request.rerun)]
    not_run = tuple(dict.fromkeys(call for held in doomed for call in chain_of(view, held)))
    events += [_ended(call, "cancelled", note=reason) for call in not_run]
    events += close_calls(view, Kept(requests=view.requests, calls=frozenset(not_run)), reason)
    if view.turn is not None:
        error = reason if stop == "lost" else stop
        events.append(
            m.TurnEnded(turn=view.turn, ok=False, error=error, error_kind=stop, stop_reason=stop, resume=view.resume)
        )
    return events


def left_at_end(view: SessionView) -> list[Event]:
    """Requests of a process that is gone which the turn ended without."""
    return [
        m.RequestWithdrawn(request=held.request.id, reason=NOT_ASKED)
        for held in view.requests
        if held.detached and held.turn == view.turn and not held.request.limit
    ]


def cancelled(view: SessionView) -> tuple[Recorded, ...]:
    """What the conversation's own file is to say of calls that nobody will answer any more."""
    return tuple(
        Recorded(call=chain[-1], text=MAY_HAVE_RUN if held.request.rerun or held.sent else NOT_RUN, is_error=True)
        for held in view.requests
        if (chain := chain_of(view, held))
    )


def _sent(held: RequestView) -> list[Event]:
    return [] if held.sent else [m.RequestSent(request=held.request.id)]


def _outcome(way: Way) -> ToolOutcome:
    return "failed" if way.is_error else "completed"


def _end_chain(
    view: SessionView, held: RequestView, outcome: ToolOutcome, text: str = "", note: str = ""
) -> list[Event]:
    """The call and those above it are over: of a sub-agent's call the result is that of the topmost."""
    chain = chain_of(view, held)
    below: list[Event] = [_ended(call, "lost") for call in chain[:-1]]
    return [*below, *(_ended(call, outcome, text=text, note=note) for call in chain[-1:])]


def _ended(call: ToolCallId, outcome: ToolOutcome, *, text: str = "", note: str = "") -> m.ToolEnded:
    content = (TextBlock(text=text),) if text else ()
    return m.ToolEnded(call=call, ok=outcome == "completed", outcome=outcome, content=content, note=note)
