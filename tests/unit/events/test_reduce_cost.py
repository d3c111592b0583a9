"""Long sessions: the cost of an event does not grow with what came before it."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator

from footplate.events.ids import MessageId, ToolCallId, TurnId
from footplate.events.model import Event, Message, MessageDelta, ToolEnded, ToolStarted, ToolUpdated, TurnStarted
from footplate.events.reduce import SessionReducer
from tests.unit.events.log import ATTACHED, OPENED, Log

MOST = 6.0
"""Four times the events may take this many times as long; a cost that grows with the session takes sixteen times."""


def deltas(count: int) -> Iterator[Event]:
    yield from (MessageDelta(message=MessageId("m"), part=0, text="word ") for _ in range(count))


def items(count: int) -> Iterator[Event]:
    """Messages, and calls that all belong to one sub-agent."""
    yield ToolStarted(call=ToolCallId("root"), name="Task", kind="subagent", title="all")
    for number in range(count // 2):
        call = ToolCallId(f"c{number}")
        yield Message(message=MessageId(f"m{number}"), part=0, text="hello")
        yield ToolStarted(call=call, name="Bash", kind="command", title="ls", parent=ToolCallId("root"))
        yield ToolUpdated(call=call, note="runs")
        yield ToolEnded(call=call, ok=True, outcome="completed")


def seconds(make: Callable[[int], Iterator[Event]], count: int) -> float:
    script = Log((OPENED, ATTACHED, TurnStarted(turn=TurnId("t")), *make(count)))
    best = float("inf")
    for _ in range(3):
        reducer = SessionReducer()
        gc.collect()
        before = time.process_time()
        for envelope in script:
            reducer.apply(envelope)
        reducer.view()
        best = min(best, time.process_time() - before)
    return best


def test_twenty_thousand_deltas_cost_in_proportion() -> None:
    assert seconds(deltas, 20_000) < MOST * seconds(deltas, 5_000)


def test_ten_thousand_items_cost_in_proportion() -> None:
    assert seconds(items, 10_000) < MOST * seconds(items, 2_500)
