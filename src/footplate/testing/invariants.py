"""The numbered invariants of a session's log, as sentences and as checks; those of a run are in `promises.py`.

`check_invariants` judges a list of events (one engine's output, say), `check_log` a list of envelopes on top of that,
`check_run` what a run gave out. Each returns its findings as text, "I5: ..."; an empty list is a clean bill.
`docs/reference/invariants.md` lists the sentences; a test keeps both in step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from footplate.events import model as m
from footplate.events.codec import ReadEnvelope
from footplate.events.model import Envelope, Event, Unknown, is_ephemeral
from footplate.testing.ledger import REQUEST_STATES, Ledger, part_of
from footplate.testing.promises import PROMISES, Invariant, check_run

__all__ = ["INVARIANTS", "PROMISES", "End", "Invariant", "check_invariants", "check_log", "check_run"]


class End(msgspec.Struct, frozen=True):
    """Stands after the last event of a log that is complete: what is open now stays open."""


_Check = Callable[[Ledger, Event | End], Iterator[str]]
_checks: list[tuple[Invariant, _Check]] = []

_RequestMove = m.RequestAnswered | m.RequestApplied | m.RequestRejected | m.RequestWithdrawn | m.RequestUnanswered
_Spoken = m.UserMessage | m.MessageDelta | m.Message | m.ThoughtDelta | m.Thought | m.ToolStarted | m.PlanChanged


def _invariant(number: int, sentence: str) -> Callable[[_Check], _Check]:
    def enlist(check: _Check) -> _Check:
        _checks.append((Invariant(number=f"I{number}", sentence=sentence), check))
        return check

    return enlist


# -------------------------------------------------------------------------------------------------- turns


@_invariant(1, "A turn starts once, and only while no other turn runs.")
def _turns_start(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if isinstance(event, m.TurnStarted):
        if ledger.turn is not None:
            yield f"turn {event.turn} starts while {ledger.turn} runs"
        if event.turn in ledger.turns:
            yield f"turn {event.turn} starts a second time"


@_invariant(2, "A turn that started ends exactly once, and only the running turn ends.")
def _turns_end(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if isinstance(event, m.TurnEnded) and event.turn != ledger.turn:
        yield f"turn {event.turn} ends while {ledger.turn or 'no turn'} runs"
    if isinstance(event, End) and ledger.turn is not None:
        yield f"turn {ledger.turn} never ends"


@_invariant(
    3,
    "`TurnEnded` is the last event of its turn: messages, thoughts, calls and plans outside a turn come only from "
    "sub-agents.",
)
def _turns_are_closed(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if ledger.turn is not None:
        return
    if isinstance(event, _Spoken) and event.parent is None:
        yield f"{_name(event)} outside a turn"
    if isinstance(event, m.ToolUpdated | m.ToolEnded):
        call = ledger.calls.get(event.call)
        if call is not None and call.parent is None:
            yield f"{_name(event)} of {event.call} outside a turn"


@_invariant(4, "When a turn ends, no tool call is open but those of sub-agents that run in the background.")
def _turns_close_calls(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if isinstance(event, m.TurnEnded):
        for call in ledger.open_calls():
            if not ledger.in_background(ledger.calls[call].parent):
                yield f"call {call} is open at the end of turn {event.turn}"


# ------------------------------------------------------------------------------------------------- things


@_invariant(
    5,
    "A tool call starts once; it is updated and ended only after that, nothing is said of it after its end, and one "
    "that has a result is not asked about again.",
)
def _calls_in_order(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if isinstance(event, m.ToolStarted) and event.call in ledger.calls:
        yield f"call {event.call} starts a second time"
    if isinstance(event, m.ToolUpdated | m.ToolEnded):
        call = ledger.calls.get(event.call)
        if call is None:
            yield f"{_name(event)} of {event.call}, which never started"
        elif not call.open:
            yield f"{_name(event)} of {event.call} after its end"
    if isinstance(event, m.RequestOpened):
        asked = ledger.calls.get(event.request.call) if event.request.call else None
        if asked is not None and asked.has_result:
            yield f"call {event.request.call} is asked about after its result"


@_invariant(6, "Every tool call that started ends, also when the agent dies.")
def _calls_end(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if isinstance(event, End):
        yield from (f"call {call} never ends" for call in ledger.open_calls())


@_invariant(
    7,
    "A request is opened once, and again only by another process while it has no end; it is answered at most once, "
    "while it is open, and sent only once it is answered.",
)
def _requests_open(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if isinstance(event, m.RequestOpened) and event.request.id in ledger.requests:
        before = ledger.requests[event.request.id]
        if not before.open or not before.detached:
            yield f"request {event.request.id} is opened a second time"
    if isinstance(event, m.RequestSent):
        sent = ledger.requests.get(event.request)
        if sent is None or sent.state != "answered":
            yield f"request {event.request} is sent when it is {sent.state if sent is not None else 'unknown'}"
    if isinstance(event, m.RequestAnswered):
        request = ledger.requests.get(event.request)
        if request is not None and request.state != "open":
            yield f"request {event.request} is answered when it is {request.state}"


@_invariant(
    8,
    "A request ends in exactly one of applied, rejected, withdrawn, unanswered; the first two follow an answer, the "
    "last never does.",
)
def _requests_end(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if isinstance(event, _RequestMove):
        request = ledger.requests.get(event.request)
        if request is None:
            yield f"{_name(event)} of {event.request}, which was never opened"
        elif not request.open:
            yield f"request {event.request} is {REQUEST_STATES[type(event)]} after it was {request.state}"
        elif isinstance(event, m.RequestApplied | m.RequestRejected) and request.state == "open":
            yield f"request {event.request} is {REQUEST_STATES[type(event)]} without an answer"
        elif isinstance(event, m.RequestUnanswered) and request.state == "answered":
            yield f"request {event.request} is unanswered after its answer"
    if isinstance(event, End):
        yield from (f"request {request} never ends" for request in ledger.open_requests())


@_invariant(
    9,
    "When a turn ends, no request of it is open, unless the turn was lost or a sub-agent in the background asks; a "
    "question about a limit is the session's.",
)
def _turns_close_requests(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if isinstance(event, m.TurnEnded) and event.stop_reason != "lost":
        for request in ledger.open_requests():
            entry = ledger.requests[request]
            if entry.turn == event.turn and not ledger.in_background(entry.parent):
                yield f"request {request} is open at the end of turn {event.turn}"


@_invariant(10, "A task starts once, is updated and ended only while it runs, and ends.")
def _tasks_in_order(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if isinstance(event, m.TaskStarted) and event.task in ledger.tasks:
        yield f"task {event.task} starts a second time"
    if isinstance(event, m.TaskUpdated | m.TaskEnded):
        task = ledger.tasks.get(event.task)
        if task is None:
            yield f"{_name(event)} of {event.task}, which never started"
        elif not task.open:
            yield f"{_name(event)} of {event.task} after its end"
    if isinstance(event, m.TaskEnded) and event.status == "running":
        yield f"task {event.task} ends as running"
    if isinstance(event, End):
        yield from (f"task {task} never ends" for task in ledger.open_tasks())


# --------------------------------------------------------------------------------------------------- text


@_invariant(11, "A part of a message or thought is finished once, and its deltas come before that.")
def _parts_in_order(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if isinstance(event, m.MessageDelta | m.ThoughtDelta | m.Message | m.Thought) and part_of(event) in ledger.parts:
        yield f"{_name(event)} of {event.message}/{event.part} after that part was finished"


@_invariant(12, "The text of a finished part is that of its deltas, when there were any and it is not redacted.")
def _parts_agree(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if isinstance(event, m.Message | m.Thought) and not (isinstance(event, m.Thought) and event.redacted):
        streamed = ledger.streams.get(part_of(event))
        if streamed is not None and streamed != event.text:
            yield f"{_name(event)} {event.message}/{event.part} is {event.text!r}, its deltas were {streamed!r}"


@_invariant(13, "What was streamed is kept: every part that had text in its deltas is finished by a durable event.")
def _parts_finish(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if isinstance(event, End):
        for (kind, message, part), text in ledger.streams.items():
            if text:
                yield f"the {kind} {message}/{part} was streamed and never finished"


# ------------------------------------------------------------------------------------------------- engine


@_invariant(14, "A compaction that started ends, one at a time.")
def _compactions_pair(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if isinstance(event, m.CompactionStarted) and ledger.compacting:
        yield "a compaction starts within another"
    if isinstance(event, m.CompactionEnded) and not ledger.compacting:
        yield "a compaction ends that never started"
    if isinstance(event, End) and ledger.compacting:
        yield "a compaction never ends"


@_invariant(
    15,
    "The agent's words, calls, tasks and requests, and a turn that ends well, come only while an engine is attached; "
    "what the session itself asks needs none.",
)
def _engine_attached(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if ledger.attached:
        return
    spoken = isinstance(event, _Spoken) and not isinstance(event, m.UserMessage)
    asked = isinstance(event, m.RequestOpened) and not event.request.limit
    if spoken or asked or isinstance(event, m.TaskStarted):
        yield f"{_name(event)} while no engine is attached"
    if isinstance(event, m.TurnEnded) and event.ok:
        yield f"turn {event.turn} ends well while no engine is attached"


@_invariant(
    16,
    "`EngineDetached` leaves no turn, call, task or compaction open, but for the turn and the calls of a request that "
    "can still be answered.",
)
def _detached_is_tidy(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if isinstance(event, m.EngineDetached):
        waiting = ledger.waiting_calls()
        if ledger.turn is not None and not waiting:
            yield f"turn {ledger.turn} is open when the engine is detached"
        left = (call for call in ledger.open_calls() if call not in waiting)
        yield from (f"call {call} is open when the engine is detached" for call in left)
        yield from (f"task {task} is open when the engine is detached" for task in ledger.open_tasks())
        if ledger.compacting:
            yield "a compaction is open when the engine is detached"


@_invariant(17, "`parent` names a tool call that started before.")
def _parents_known(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if isinstance(event, _Spoken | m.RequestOpened) and event.parent is not None and event.parent not in ledger.calls:
        yield f"{_name(event)} names the parent {event.parent}, which never started"


@_invariant(18, "A turn has an error exactly when it is not ok; a call is ok exactly when it completed.")
def _verdicts_agree(_ledger: Ledger, event: Event | End) -> Iterator[str]:
    if isinstance(event, m.TurnEnded) and event.ok == bool(event.error):
        yield f"turn {event.turn} ends with ok={event.ok} and error {event.error!r}"
    if isinstance(event, m.ToolEnded) and event.ok != (event.outcome == "completed"):
        yield f"call {event.call} ends with ok={event.ok} and outcome {event.outcome}"


@_invariant(19, "A turn's resume token is the conversation that was attached last; it is absent only when none was.")
def _resume_is_attached(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if isinstance(event, m.TurnEnded):
        value = event.resume.value if event.resume else None
        if value != ledger.engine_session:
            yield f"turn {event.turn} resumes {value!r}, attached is {ledger.engine_session!r}"


@_invariant(20, "A prompt leaves the queue once, and is not queued after that.")
def _prompts_in_order(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if isinstance(event, m.PromptQueued) and event.prompt in ledger.prompts - ledger.queued:
        yield f"prompt {event.prompt} is queued after it left the queue"
    left: tuple[str, ...] = ()
    if isinstance(event, m.TurnStarted):
        left = tuple(prompt for prompt in event.prompts if prompt in ledger.prompts)
    elif isinstance(event, m.PromptWithdrawn | m.PromptSteered):
        left = (event.prompt,)
    yield from (f"prompt {p} leaves the queue and is not in it" for p in left if p not in ledger.queued)


@_invariant(21, "`SessionOpened` is the first event of a session and `SessionClosed` the last.")
def _session_frames(ledger: Ledger, event: Event | End) -> Iterator[str]:
    if isinstance(event, m.SessionOpened) and ledger.count > 0:
        yield f"SessionOpened after {ledger.count} events"
    if ledger.closed and not isinstance(event, End):
        yield f"{_name(event)} after SessionClosed"


def _name(event: Event | End) -> str:
    return type(event).__name__


# ---------------------------------------------------------------------------------------------------- log

_DENSE = Invariant(
    number="I22",
    sentence="Sequence numbers of a log are dense from 1; an ephemeral event carries the last durable number.",
)
_ONE_LOG = Invariant(
    number="I23",
    sentence="A log begins with `SessionOpened`, is of one session, its epochs never fall, and an envelope names only "
    "a turn that has started.",
)

INVARIANTS: tuple[Invariant, ...] = (*(invariant for invariant, _ in _checks), _DENSE, _ONE_LOG)
"""What holds of every log, in order of their numbers."""


def check_invariants(events: Sequence[Event], *, finished: bool) -> list[str]:
    """What the events break. `finished`: nothing more will come, so nothing may be left open."""
    ledger = Ledger()
    found: list[str] = []
    for event in (*events, *((End(),) if finished else ())):
        for invariant, check in _checks:
            found.extend(f"{invariant.number}: {finding}" for finding in check(ledger, event))
        if not isinstance(event, End):
            ledger.take(event)
    return found


def check_log(envelopes: Sequence[Envelope | ReadEnvelope], *, finished: bool = False) -> list[str]:
    """What a log (with or without its ephemeral events) breaks, its events' invariants included."""
    events = [envelope.event for envelope in envelopes if not isinstance(envelope.event, Unknown)]
    return [
        *check_invariants(events, finished=finished),
        *(f"{_DENSE.number}: {finding}" for finding in _misnumbered(envelopes)),
        *(f"{_ONE_LOG.number}: {finding}" for finding in _mixed(envelopes)),
    ]


def _misnumbered(envelopes: Sequence[Envelope | ReadEnvelope]) -> Iterator[str]:
    last = 0
    for envelope in envelopes:
        if not isinstance(envelope.event, Unknown) and is_ephemeral(envelope.event):
            if envelope.seq != last:
                yield f"an ephemeral event carries {envelope.seq}, the last durable number is {last}"
        else:
            if envelope.seq != last + 1:
                yield f"number {envelope.seq} follows {last}"
            last = envelope.seq


def _mixed(envelopes: Sequence[Envelope | ReadEnvelope]) -> Iterator[str]:
    if envelopes and not isinstance(envelopes[0].event, m.SessionOpened):
        yield "the log does not begin with SessionOpened"
    turns: set[str] = set()
    for before, envelope in zip((None, *envelopes[:-1]), envelopes, strict=True):
        if isinstance(envelope.event, m.TurnStarted):
            turns.add(envelope.event.turn)
        if envelope.turn is not None and envelope.turn not in turns:
            yield f"number {envelope.seq} names turn {envelope.turn}, which never started"
        if before is not None and envelope.session != before.session:
            yield f"number {envelope.seq} is of session {envelope.session}, not {before.session}"
        if before is not None and envelope.epoch < before.epoch:
            yield f"number {envelope.seq} is of epoch {envelope.epoch} after {before.epoch}"
