"""Pieces of one text that come together become one piece, and every reader ends up with the same."""

from __future__ import annotations

from footplate.events.ids import MessageId, ToolCallId
from footplate.events.model import Event, Message, MessageDelta, ThoughtDelta, ToolUpdated
from footplate.runtime.deltas import join_deltas


def _says(text: str, *, message: str = "m", part: int = 0, reset: bool = False) -> MessageDelta:
    return MessageDelta(message=MessageId(message), part=part, text=text, reset=reset)


def _types(text: str, call: str = "c") -> ToolUpdated:
    return ToolUpdated(call=ToolCallId(call), input_delta=text)


def test_pieces_of_one_text_are_joined() -> None:
    assert join_deltas([_says("a"), _says("b"), _says("c")]) == [_says("abc")]
    assert join_deltas([_types('{"a"'), _types(":1}")]) == [_types('{"a":1}')]


def test_pieces_of_different_texts_stay_apart_and_in_order() -> None:
    thought = ThoughtDelta(message=MessageId("m"), part=0, text="hm")
    events: list[Event] = [_says("a"), _says("b", part=1), _says("c", message="n"), thought, _says("d"), _types("e")]
    assert join_deltas(events) == events


def test_a_lasting_event_stands_between() -> None:
    whole = Message(message=MessageId("m"), part=0, text="ab")
    noted = ToolUpdated(call=ToolCallId("c"), input_delta="x", note="runs")
    assert join_deltas([_says("a"), _says("b"), whole, _types("1"), noted, _types("2")]) == [
        _says("ab"),
        whole,
        _types("1"),
        noted,
        _types("2"),
    ]


def test_all_of_a_text_is_not_a_piece_of_it() -> None:
    events: list[Event] = [_says("a"), _says("all", reset=True), _says("b")]
    assert join_deltas(events) == events
