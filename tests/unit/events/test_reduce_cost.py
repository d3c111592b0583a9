"""Long sessions: the cost of an event does not grow with what came before it."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator

from footplate.events.ids import MessageId, ToolCallId, TurnId
from footplate.events.model import Event, Message, MessageDelta, ToolEnded, ToolStarted, ToolUpdated, TurnStarted
from footplate.events.reduce import SessionReducer
from tests.unit.events.log import ATTACHED, OPENED, Log

MOST = 8.0
"""Four times the events may take this many times as long; a cost that grows with the session takes sixteen times."""

ROUNDS = 10
"""One round is enough on a quiet machine; others that use the caches of the processor can spoil several."""


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


def seconds(script: Log) -> float:
    """The processor time of reducing a log, without that of the garbage collector, which grows with all that lives."""
    reducer = SessionReducer()
    gc.collect()
    gc.disable()
    try:
        before = time.process_time()
        for envelope in script:
            reducer.apply(envelope)
        reducer.view()
        return time.process_time() - before
    finally:
        gc.enable()


def grows_in_proportion(make: Callable[[int], Iterator[Event]], count: int) -> bool:
    """Whether four times the events cost about four times as much, by the best of a few rounds."""
    few, many = (Log((OPENED, ATTACHED, TurnStarted(turn=TurnId("t")), *make(n))) for n in (count, 4 * count))
    best_few = best_many = float("inf")
    for _ in range(ROUNDS):
        best_few, best_many = min(best_few, seconds(few)), min(best_many, seconds(many))
        if best_many < MOST * best_few:
            return True
    return False


def test_twenty_thousand_deltas_cost_in_proportion() -> None:
    assert grows_in_proportion(deltas, 5_000)


def test_ten_thousand_items_cost_in_proportion() -> None:
    assert grows_in_proportion(items, 2_500)
