"""The fold behind the index: it agrees with the reducer, and does not care how the log is cut into pieces."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from footplate.events import model as m
from footplate.events import reduce
from footplate.events.codec import decode_envelope, encode
from footplate.events.ids import SessionId
from footplate.store.projection import Change, Folding, Index, SessionRow, fold
from tests.unit.store.events import EVENTS, number

SESSION = SessionId("s")
EMPTY = Index(SessionRow(session=SESSION))


@settings(deadline=None)
@given(st.lists(EVENTS, min_size=1, max_size=40))
def test_a_row_tells_what_the_reducer_tells(events: list[m.Event]) -> None:
    log = number(SESSION, events)
    folding = Folding(SESSION)
    folding.add(log)
    row, view = folding.index.session, reduce.fold(log)
    assert sorted(row.waiting_prompts) == sorted(waiting.id for waiting in view.queue)
    ends = [event for event in events if isinstance(event, m.TurnStarted | m.TurnEnded)]
    last = ends[-1] if ends else None
    assert row.failed is (isinstance(last, m.TurnEnded) and not last.ok and last.stop_reason != "interrupted")
    assert replace(row, waiting_prompts=(), unfinished=False, failed=False) == SessionRow(
        session=SESSION,
        epoch=view.epoch,
        last_seq=view.last_seq,
        state=view.state,
        waiting_for=view.waiting_for,
        until=view.until,
        title=view.title,
        engine=view.engine,
        engine_session_id=view.resume.value if view.resume else None,
        cwd=view.cwd,
        model=view.model,
        mode=view.mode,
        effort=view.effort,
        created_at=view.opened_at,
        updated_at=view.updated_at or 0.0,
        attached=view.attached,
        turn=view.turn,
        turns=view.usage.turns,
        cost_usd=view.usage.cost_usd,
        open_requests=sum(held.state == "open" for held in view.requests),
        forked_from=view.forked_from,
        closed_reason=view.closed_reason,
    )


@settings(deadline=None)
@given(st.lists(EVENTS, min_size=1, max_size=40))
def test_a_request_s_row_tells_what_the_reducer_tells(events: list[m.Event]) -> None:
    log = number(SESSION, events)
    folding = Folding(SESSION)
    folding.add(log)
    view = reduce.fold(log)
    latest = {held.request.id: held for held in (*view.closed_requests, *view.requests)}
    assert {
        row.id: (
            row.kind, row.title, row.opened_at, row.turn, row.state, row.detached,
            row.answered_by, row.answered_from, row.answered_at, row.ended_at, row.reason,
        )
        for row in folding.requests
    } == {
        held.request.id: (
            held.request.kind, held.request.title, held.opened_at, held.turn, held.state, held.detached,
            held.answered_by, held.answered_from, held.answered_at, held.ended_at, held.reason,
        )
        for held in latest.values()
    }  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.lists(EVENTS, max_size=8), max_size=8))
def test_pieces_and_the_wire_make_no_difference(pieces: list[list[m.Event]]) -> None:
    log = number(SESSION, [event for piece in pieces for event in piece])
    whole, parts = Folding(SESSION), Folding(SESSION)
    whole.add(log)
    place = 0
    for piece in pieces:
        parts.add(decode_envelope(encode(envelope)) for envelope in log[place : place + len(piece)])
        place += len(piece)
    assert (parts.index, parts.requests) == (whole.index, whole.requests)


def test_nothing_to_fold_changes_nothing() -> None:
    assert fold(EMPTY, ()) == Change(EMPTY)


def test_an_event_of_a_later_version_only_moves_the_place_and_the_time() -> None:
    later = decode_envelope(b'{"seq":7,"time":9.5,"session":"s","epoch":3,"event":{"type":"Later"}}')
    assert fold(EMPTY, (later,)) == Change(Index(SessionRow(session=SESSION, epoch=3, last_seq=7, updated_at=9.5)))
