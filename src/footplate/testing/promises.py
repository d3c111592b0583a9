"""The promises of a run that its events can show, as sentences and as checks, under the numbers of the run contract."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from footplate.events.base import ResumeToken
from footplate.events.run_events import SessionNote
from footplate.events.runs import Action, Completed, RunEvent, Started


class Invariant(msgspec.Struct, frozen=True, kw_only=True):
    """One promise: its number and its sentence."""

    number: str
    sentence: str


PROMISES: tuple[Invariant, ...] = (
    Invariant(
        number="R1",
        sentence="At most one `Started`; exactly one `Completed`, and last; its resume token is that of `Started`, or "
        "of the note that announced another.",
    ),
    Invariant(
        number="R2",
        sentence="An action's id stands for one kind and title; it is started at most once, completed exactly once, "
        "and then no more is said of it.",
    ),
    Invariant(number="R3", sentence="Only warnings come before `Started`."),
    Invariant(number="R8", sentence="A run has an error exactly when it is not ok."),
)
"""What a list of run events can show of the promises of a run, under their numbers."""


def check_run(events: Sequence[RunEvent]) -> list[str]:
    """What a finished run breaks of its promises."""
    return [
        *(f"R1: {finding}" for finding in _frame(events)),
        *(f"R2: {finding}" for finding in _actions(events)),
        *(f"R3: {finding}" for finding in _early(events)),
        *(f"R8: {finding}" for finding in _verdicts(events)),
    ]


def _frame(events: Sequence[RunEvent]) -> Iterator[str]:
    started = [event for event in events if isinstance(event, Started)]
    completed = [event for event in events if isinstance(event, Completed)]
    if len(started) > 1:
        yield f"{len(started)} times Started"
    if len(completed) != 1:
        yield f"{len(completed)} times Completed"
    elif not isinstance(events[-1], Completed):
        yield f"{type(events[-1]).__name__} after Completed"
    token: ResumeToken | None = None
    for event in events:
        if isinstance(event, Started):
            token = event.resume
        elif isinstance(event, Action) and isinstance(event.detail, SessionNote):
            token = event.detail.resume
        elif isinstance(event, Completed) and started and event.resume != token:
            yield f"Completed resumes {event.resume}, Started {token}"


def _actions(events: Sequence[RunEvent]) -> Iterator[str]:
    latest: dict[str, Action] = {}
    for event in events:
        if not isinstance(event, Action):
            continue
        before = latest.get(event.id)
        latest[event.id] = event
        if (event.ok is not None) != (event.phase == "completed"):
            yield f"action {event.id} is {event.phase} with ok={event.ok}"
        if before is None:
            if event.phase == "updated":
                yield f"action {event.id} is updated and never started"
            continue
        if before.phase == "completed" or event.phase == "started":
            yield f"action {event.id} is {event.phase} after it was {before.phase}"
        if (before.kind, before.title) != (event.kind, event.title):
            yield f"action {event.id} changes from {before.kind} {before.title!r} to {event.kind} {event.title!r}"
    yield from (f"action {name} never completes" for name, last in latest.items() if last.phase != "completed")


def _early(events: Sequence[RunEvent]) -> Iterator[str]:
    names = [type(event).__name__ for event in events]
    if "Started" in names:
        for event in events[: names.index("Started")]:
            if isinstance(event, Action) and event.kind != "warning":
                yield f"{event.kind} {event.id} comes before Started"


def _verdicts(events: Sequence[RunEvent]) -> Iterator[str]:
    for event in events:
        if isinstance(event, Completed) and event.ok == bool(event.error):
            yield f"the run ends with ok={event.ok} and error {event.error!r}"
