from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from footplate.testing.messages.reply import Reply, compose_reply
from footplate.testing.messages.script import Due
from footplate.testing.messages.step import Step, StreamError
from footplate.testing.messages.stream import Event, Sent, events_of, plain_message, plan_stream

USAGE: dict[str, object] = {"input_tokens": 10, "output_tokens": 5}


def reply_with(*content: dict[str, object]) -> Reply:
    return Reply(id="msg_1", model="m-1", content=list(content), stop_reason="end_turn", usage=USAGE)


def reply_to(step: Step) -> Reply:
    return compose_reply(Due(step=step, name=("a", "b")), model="m-1")


def body_of(reply: Reply, *, chunk: int) -> list[dict[str, object]]:
    """The events between the opening (start, ping) and the closing (delta, stop) of a message."""
    return [event.data for event in events_of(reply, chunk=chunk)][2:-2]


def names_of(events: Sequence[Sent]) -> list[str]:
    return [event.name for event in events if isinstance(event, Event)]


def test_a_stream_opens_with_the_empty_message_and_closes_with_its_end() -> None:
    events = [event.data for event in events_of(reply_with(), chunk=8)]
    opening: dict[str, object] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    assert events == [
        {"type": "message_start", "message": opening},
        {"type": "ping"},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": USAGE},
        {"type": "message_stop"},
    ]


def test_text_comes_in_deltas_of_so_many_characters() -> None:
    assert body_of(reply_with({"type": "text", "text": "héllo"}), chunk=2) == [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hé"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ll"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "o"}},
        {"type": "content_block_stop", "index": 0},
    ]


def test_thinking_ends_with_its_signature() -> None:
    block: dict[str, object] = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    assert body_of(reply_with(block), chunk=8) == [
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "sig"}},
        {"type": "content_block_stop", "index": 0},
    ]


def test_the_input_of_a_tool_comes_as_pieces_of_json() -> None:
    block: dict[str, object] = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    start, *deltas, stop = body_of(reply_with(block), chunk=8)
    assert start["content_block"] == {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
    assert [each["delta"] for each in deltas] == [
        {"type": "input_json_delta", "partial_json": '{"comman'},
        {"type": "input_json_delta", "partial_json": 'd":"ls"}'},
    ]
    assert stop == {"type": "content_block_stop", "index": 0}


def test_a_block_of_another_kind_comes_whole() -> None:
    block: dict[str, object] = {"type": "redacted_thinking", "data": "xyz"}
    assert body_of(reply_with(block), chunk=1) == [
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
    ]


def test_an_event_is_encoded_with_its_name() -> None:
    assert Event({"type": "ping"}).encode() == b'event: ping\ndata: {"type":"ping"}\n\n'


def test_the_plain_message_has_everything_at_once() -> None:
    message = msgspec.json.decode(plain_message(reply_with({"type": "text", "text": "hi"})))
    assert message == {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": USAGE,
    }


def test_a_reply_has_thinking_text_tools_and_raw_blocks_in_this_order() -> None:
    raw: dict[str, object] = {"type": "text", "text": "raw"}
    reply = reply_to(Step(text="b", thinking="a", tools=[("T", {"x": 1}), ("T", {"x": 2})], blocks=[raw]))
    assert [block["type"] for block in reply.content] == ["thinking", "text", "tool_use", "tool_use", "text"]
    assert reply.stop_reason == "tool_use"
    ids = [block["id"] for block in reply.content if block["type"] == "tool_use"]
    assert len(set(ids)) == 2


def test_the_same_step_gives_the_same_reply() -> None:
    step = Step(tools=[("T", {})])
    assert reply_to(step) == reply_to(step)


def test_a_step_that_says_nothing_says_ok_unless_it_gives_a_reason_to_stop() -> None:
    assert reply_to(Step()).content == [{"type": "text", "text": "ok"}]
    assert reply_to(Step(stop="refusal")).content == []


def test_usage_and_stop_reason_can_be_given() -> None:
    reply = reply_to(Step(text="a", stop="max_tokens", usage={"input_tokens": 995_000}))
    assert (reply.stop_reason, reply.usage["input_tokens"]) == ("max_tokens", 995_000)


WHOLE = [
    "message_start",
    "ping",
    "content_block_start",
    "content_block_delta",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
]


@pytest.mark.parametrize(
    ("step", "names", "ending"),
    [
        (Step(text="abcd", chunk=2), WHOLE, "answered"),
        (Step(text="abcd", chunk=2, cut=4), WHOLE[:4], "cut"),
        (Step(text="abcd", chunk=2, cut=0), [], "cut"),
        (Step(text="abcd", chunk=2, hang=-3), WHOLE[:-3], "hang"),
        (Step(text="abcd", chunk=2, hang=0), [], "hang"),
        (Step(text="abcd", chunk=2, sse_error=StreamError()), [*WHOLE[:-2], "error"], "answered"),
        (Step(text="abcd", chunk=2, sse_error=StreamError(after=1)), ["message_start", "error"], "answered"),
    ],
)
def test_faults_come_where_the_step_wants_them(step: Step, names: list[str], ending: str) -> None:
    stream = plan_stream(reply_to(step), step)
    assert (names_of(stream.events), stream.ending) == (names, ending)


def test_an_error_in_a_stream_has_the_shape_of_the_api() -> None:
    fault = StreamError(type="api_error", message="Broken", after=0)
    step = Step(text="a", sse_error=fault)
    assert plan_stream(reply_to(step), step).events == [
        Event({"type": "error", "error": {"type": "api_error", "message": "Broken"}})
    ]
