"""What holds of the reducer whatever the events are, on logs drawn at random from the whole union."""

from __future__ import annotations

from typing import cast, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplate.events.codec import decode_envelope, encode
from footplate.events.model import Event, is_ephemeral
from footplate.events.reduce import SessionReducer, fold
from footplate.events.view import SessionView
from tests.unit.events.examples import examples, structs
from tests.unit.events.log import Log, log

EVENTS: tuple[type, ...] = get_args(Event)
LOGS = st.lists(st.one_of([structs(kind) for kind in EVENTS]), max_size=30).map(
    lambda events: log_of(cast("list[Event]", events))
)
quickly = settings(max_examples=40, deadline=None, database=None, derandomize=True)


def log_of(events: list[Event]) -> Log:
    return Log(events)


def without_live(view: SessionView) -> SessionView:
    return msgspec.structs.replace(view, live=())


@quickly
@given(LOGS)
def test_looking_on_the_way_changes_nothing(script: Log) -> None:
    reducer = SessionReducer()
    for envelope in script:
        reducer.apply(envelope)
        reducer.view()
    assert reducer.view() == script.view()


@quickly
@given(LOGS, st.integers(min_value=0, max_value=30))
def test_a_stored_view_goes_on_where_it_stopped(script: Log, cut: int) -> None:
    stored = msgspec.json.decode(msgspec.json.encode(fold(script.envelopes[:cut])), type=SessionView)
    assert fold(script.envelopes[cut:], stored) == script.view()


@quickly
@given(LOGS, st.integers(min_value=0, max_value=30), st.integers(min_value=0, max_value=30))
def test_delivered_twice_is_seen_once(script: Log, cut: int, again: int) -> None:
    seen = script.envelopes[:cut]
    last = max((envelope.seq for envelope in seen), default=0)
    redelivered = [e for e in seen[:again] if not is_ephemeral(e.event) or e.seq < last]
    assert fold([*seen, *redelivered, *script.envelopes[cut:]]) == script.view()


@quickly
@given(LOGS)
def test_deltas_leave_no_trace_but_live_text(script: Log) -> None:
    durable = [envelope for envelope in script if not is_ephemeral(envelope.event)]
    assert without_live(fold(durable)) == without_live(script.view())


@quickly
@given(LOGS)
def test_a_view_handed_out_is_never_changed(script: Log) -> None:
    reducer = SessionReducer()
    handed: list[tuple[SessionView, bytes]] = []
    for envelope in script:
        reducer.apply(envelope)
        view = reducer.view()
        handed.append((view, msgspec.json.encode(view)))
    assert all(msgspec.json.encode(view) == wanted for view, wanted in handed)


@quickly
@given(LOGS)
def test_a_log_read_from_the_wire_gives_the_same_view(script: Log) -> None:
    assert fold(decode_envelope(encode(envelope)) for envelope in script) == script.view()


@pytest.mark.parametrize("kind", EVENTS)
def test_every_event_is_taken_in(kind: type) -> None:
    for example in examples(kind):
        script = log() >> cast("Event", example)
        assert script.view().last_seq == (2 if is_ephemeral(cast("Event", example)) else 3)


@quickly
@given(LOGS)
def test_an_outline_is_the_view_without_its_history(script: Log) -> None:
    reducer = SessionReducer()
    for envelope in script:
        reducer.apply(envelope)
        view = reducer.view()
        assert reducer.outline() == msgspec.structs.replace(view, items=(), tasks=(), live=(), turns=view.turns[-1:])
