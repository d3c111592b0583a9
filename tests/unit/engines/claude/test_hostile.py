"""Lines that nobody expects: kept as they came, the rest of the stream goes on, and nothing ever raises."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from footplate.engines.base import Exit
from footplate.engines.claude.translate import Translator
from footplate.events.codec import encode
from footplate.events.content import OtherBlock, TextBlock
from footplate.events.model import Event, Message, Notice, ToolEnded, TurnEnded, Unparsed
from footplate.host.lines import Block, LineSplitter
from footplate.testing.invariants import check_invariants
from tests.unit.engines.claude.playing import feed, recording

LINES = tuple(
    json.loads(line)
    for version, scenario in (
        ("2.1.325", "partial"),
        ("2.1.325", "subagent"),
        ("2.1.325", "bash_background"),
        ("2.1.325", "perm_ask"),
        ("2.1.325", "perm_plan_allow"),
        ("2.1.325", "interrupt_during_perm"),
        ("2.1.325", "queued"),
        ("2.1.325", "hooks"),
        ("2.1.325", "rate_limit_headers"),
        ("2.1.325", "fallback_model"),
        ("2.1.325", "compact"),
        ("2.1.197", "tasks_sonnet45"),
        ("2.1.197", "api_400"),
        ("2.1.325", "sdk_mcp"),
    )
    for line in recording(version, scenario).lines
)
DROPPED = object()
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.lists(st.integers(), max_size=2),
    st.just({}),
    st.just([{}]),
    st.just({"type": "text"}),
    st.just([None, {"type": 3}]),
)


NEED_SENSE = {"I12", "I15", "I17", "I20"}
"""Invariants that no translator can keep when the stream itself leaves out ids, sessions and parents."""

Change = tuple[int, object]
CHANGES = st.lists(st.tuples(st.integers(0, 10_000), st.one_of(st.just(DROPPED), ODD)), max_size=5)


@st.composite
def mutated(draw: st.DrawFn) -> list[object]:
    """A few recorded lines in any order, with values replaced or dropped at random."""
    picked = draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=6))
    return [change(line, draw(CHANGES)) for line in picked]


@settings(max_examples=120, deadline=None)
@given(frames=mutated())
def test_no_value_of_the_wrong_type_raises_or_leaves_anything_open(frames: list[object]) -> None:
    translator = Translator(cwd="/workspace")
    told: list[Event] = []
    for frame in frames:
        before = translator.ignored.total()
        events = feed(translator, frame)
        assert events or translator.ignored.total() > before
        told += events
    told += translator.finish(Exit(signal=9))
    assert all(encode(event) for event in told)
    broken = [found for found in check_invariants(told, finished=True) if found.split(":")[0] not in NEED_SENSE]
    assert broken == []


def change(line: object, changes: list[Change]) -> object:
    """The line with some of its values, picked by number, replaced or dropped."""
    line = copy.deepcopy(line)
    for number, value in changes:
        places = list(_places(line))
        if places:
            holder, key = places[number % len(places)]
            if value is DROPPED and isinstance(holder, dict):
                del holder[key]
            elif value is not DROPPED:
                holder[key] = copy.deepcopy(value)
    return line


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in list(inner):
        yield value, key
        yield from _places(each)


@settings(max_examples=80, deadline=None)
@given(garbage=st.binary(max_size=200))
def test_bytes_that_are_no_stream_are_kept_and_never_raise(garbage: bytes) -> None:
    translator = Translator()
    events = translator.feed(LineSplitter().feed(garbage + b"\n"))
    assert all(isinstance(event, Unparsed) for event in events)


def test_an_unknown_type_is_kept_as_it_came() -> None:
    line = b'{"type":"brand_new","secret":[1,2]}'
    events = Translator().feed(Block(line + b"\n"))
    assert events == [Unparsed(raw=line.decode(), reason="Invalid value 'brand_new' - at `$.type`", size=len(line))]


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "system", "subtype": "brand_new", "x": 1},
        {"type": "stream_event", "event": {"type": "brand_new"}},
        {"type": "stream_event", "event": {"type": "content_block_delta"}},
        {"type": "rate_limit_event"},
        {"type": "assistant", "message": {"id": "m", "content": 3}},
        {"type": "user", "message": {"content": {"a": 1}}},
        {"type": "control_request", "request_id": "r", "request": 5},
        {"type": "control_request", "request": {"subtype": "can_use_tool"}},
    ],
)
def test_a_known_type_of_an_unknown_kind_is_kept_as_it_came(frame: dict[str, object]) -> None:
    events = [event for event in feed(Translator(), frame) if isinstance(event, Unparsed)]
    assert [json.loads(event.raw) for event in events] == [frame]


def test_an_unknown_block_costs_its_neighbours_nothing() -> None:
    content = [{"type": "hologram", "x": 1}, {"type": "text", "text": "still here"}, 7]
    events = feed(Translator(), {"type": "assistant", "message": {"id": "m", "content": content}})
    assert [event.text for event in events if isinstance(event, Message)] == ["still here"]
    assert [event.raw for event in events if isinstance(event, Unparsed)] == ['{"type":"hologram","x":1}', "7"]


def test_an_unknown_block_in_a_result_is_kept_as_other_content() -> None:
    result = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "hologram"}, {"type": "text", "text": "a"}],
    }
    events = feed(Translator(), {"type": "user", "message": {"content": [result]}})
    [ended] = [event for event in events if isinstance(event, ToolEnded)]
    assert ended.content == (OtherBlock(kind="hologram", raw=Raw(b'{"type":"hologram"}')), TextBlock(text="a"))


def test_a_result_with_a_field_of_the_wrong_type_still_ends_its_turn() -> None:
    line = {
        "type": "result",
        "is_error": False,
        "result": "done",
        "session_id": 5,
        "stop_reason": ["x"],
        "usage": "none",
    }
    events = feed(Translator(), line)
    [ended] = [event for event in events if isinstance(event, TurnEnded)]
    assert (ended.ok, ended.answer) == (True, "done")
    assert [json.loads(event.raw) for event in events if isinstance(event, Unparsed)] == [line]


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"assistant","message":{"id":"m","content":[{"type":"text","te',
        b'{"type":"assistant\x00"}',
        b"\x00\x00\x00",
        b"[]",
        b"null",
        b'{"type":"assistant","message":' + b'{"a":' * 5000 + b"1" + b"}" * 5001,
        b'{"type":"user","message":{"content":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
        b'{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"\xff\xfe"}]}}',
        b'{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"\\ud800"}]}}',
    ],
    ids=["half", "nul", "nuls", "list", "null", "deep object", "deep list", "not utf-8", "lone surrogate"],
)
def test_a_broken_line_is_kept_and_the_stream_goes_on(line: bytes) -> None:
    translator = Translator()
    assert Unparsed in {type(event) for event in translator.feed(Block(line + b"\n"))}
    assert Message in {type(event) for event in feed(translator, _says("fine"))}


def test_what_is_kept_of_a_line_is_bounded_and_its_size_is_told() -> None:
    [kept] = Translator().feed(Block(b"x" * 1_000_000 + b"\n"))
    assert isinstance(kept, Unparsed)
    assert (len(kept.raw), kept.size) == (64 * 1024, 1_000_000)


def test_a_line_of_a_megabyte_is_a_message_like_any_other() -> None:
    text = "word " * 200_000
    events = feed(Translator(), _says(text))
    assert [event.text for event in events if isinstance(event, Message)] == [text]


def test_a_line_that_is_too_long_is_a_warning() -> None:
    splitter = LineSplitter(ceiling=100)
    events = Translator().feed(splitter.feed(b"y" * 200 + b"\n"))
    assert events == [
        Notice(
            level="warning",
            text="a line of 200 bytes is above the limit of 67108864 and was left out",
            code="oversize_line",
            detail="y" * 200,
        )
    ]


@pytest.mark.parametrize("failed", ["true", "false"])
def test_a_result_that_is_too_long_ends_its_turn(failed: str) -> None:
    translator = Translator()
    feed(translator, _says("fine"))
    line = b'{"type":"result","subtype":"success","is_error":%b,"result":"' % failed.encode() + b"y" * 2000 + b'"}\n'
    events = translator.feed(LineSplitter(ceiling=1000).feed(line))
    assert [type(event) for event in events[:1]] == [Notice]
    [ended] = [event for event in events if isinstance(event, TurnEnded)]
    assert ended.ok == (failed == "false")


def test_sub_agents_that_name_one_another_as_parents_still_end() -> None:
    translator = Translator()
    for call, parent in (("a", "b"), ("b", "a"), ("c", "c")):
        block = {"type": "tool_use", "id": call, "name": "Agent", "input": {}}
        feed(
            translator, {"type": "assistant", "message": {"id": call, "content": [block]}, "parent_tool_use_id": parent}
        )
    ended: list[Event] = translator.finish(Exit(code=1))
    assert {event.call for event in ended if isinstance(event, ToolEnded)} == {"a", "b", "c"}


def _says(text: str) -> dict[str, object]:
    return {"type": "assistant", "session_id": "s", "message": {"id": "m", "content": [{"type": "text", "text": text}]}}
