"""Adoption: a past from elsewhere becomes the log of a session of ours, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from footplate.engines.claude.past import PastEvent
from footplate.errors import InvalidValue
from footplate.events import model as m
from footplate.events.base import ResumeToken
from footplate.events.content import TextBlock
from footplate.events.ids import EngineSessionId, MessageId, TurnId
from footplate.events.model import Event
from footplate.runtime.adoption import adopt, find_adopted
from footplate.runtime.spec import SPECS, SessionSpec
from footplate.store.memory import MemoryStore
from footplate.testing.invariants import check_log

TOKEN = ResumeToken(engine="claude", value=EngineSessionId("abc"))
SPEC = SessionSpec(engine="claude", cwd="/tmp")


def past(turns: int = 1) -> Iterator[PastEvent]:
    events: list[Event] = [m.EngineAttached(engine="claude", engine_session_id=TOKEN.value)]
    for number in range(1, turns + 1):
        turn = TurnId(f"turn-{number}")
        events += [
            m.TurnStarted(turn=turn),
            m.UserMessage(message=MessageId(f"u{number}"), content=(TextBlock(text="hello"),)),
            m.Message(message=MessageId(f"a{number}"), part=0, text="hi"),
            m.TurnEnded(turn=turn, ok=True, answer="hi", resume=TOKEN),
        ]
    events.append(m.EngineDetached(reason="read"))
    return iter([PastEvent(float(at), event) for at, event in enumerate(events, 100)])


async def test_the_log_of_an_adopted_session_is_its_past_at_its_times() -> None:
    store = MemoryStore()
    session = await adopt(store, SPEC, TOKEN, past, title="Old", now=lambda: 1000.0)
    log = [stored.envelope() for stored in await store.read(session)]
    assert check_log(log, finished=True) == []
    assert [type(each.event).__name__ for each in log] == [
        *("SessionOpened", "EngineAttached", "TurnStarted", "UserMessage", "Message", "TurnEnded"),
        *("EngineDetached", "Notice", "StateChanged"),
    ]
    assert [each.time for each in log] == [100.0, 100.0, 101.0, 102.0, 103.0, 104.0, 105.0, 1000.0, 1000.0]
    assert [each.turn for each in log if each.turn] == ["turn-1"] * 4
    row = await store.projections.session(session)
    assert row is not None
    assert (row.title, row.engine_session_id, row.state, row.turns) == ("Old", TOKEN.value, "idle", 1)
    assert await store.documents(SPECS).get(session) is not None
    assert await find_adopted(store, TOKEN) == session


async def test_what_is_ours_is_not_adopted_again() -> None:
    store = MemoryStore()
    session = await adopt(store, SPEC, TOKEN, past)
    with pytest.raises(InvalidValue, match=session):
        await adopt(store, SPEC, TOKEN, past)


async def test_a_long_past_is_taken_in_whole() -> None:
    store = MemoryStore()
    session = await adopt(store, SPEC, TOKEN, lambda: past(300))
    assert await store.last_seq(session) == 1 + 1 + 300 * 4 + 1 + 2


async def test_a_past_that_changes_while_it_is_read_leaves_nothing() -> None:
    store = MemoryStore()
    lengths = iter((3, 2))
    with pytest.raises(InvalidValue, match="events"):
        await adopt(store, SPEC, TOKEN, lambda: past(next(lengths)))
    assert (await store.projections.sessions()).items == ()
    assert (await store.documents(SPECS).list()).items == ()
    assert await find_adopted(store, TOKEN) is None


async def test_a_session_without_a_past_is_adopted_all_the_same() -> None:
    store = MemoryStore()
    session = await adopt(store, SPEC, TOKEN, lambda: iter(()), now=lambda: 7.0)
    assert await store.last_seq(session) == 3
