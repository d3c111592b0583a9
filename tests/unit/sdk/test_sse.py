"""Event streams taken apart, wherever the network cuts them."""

from __future__ import annotations

import time

import pytest

from footplate.sdk.sse import SseDecoder, SseEvent

STREAM = (
    b": heartbeat\n\n"
    b'event: Message\nid: 7\ndata: {"a": 1}\n\n'
    b"data: one\r\ndata: two\r\n\r\n"
    b"id: 9\nevent: gap\ndata:\n\n"
    b"event: only a name\n\n"
)
EVENTS = [SseEvent("Message", b'{"a": 1}', "7"), SseEvent("message", b"one\ntwo"), SseEvent("gap", b"", "9")]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_the_same_however_the_bytes_come(size: int) -> None:
    decoder = SseDecoder()
    found: list[SseEvent] = []
    for at in range(0, len(STREAM), size):
        found += decoder.feed(STREAM[at : at + size])
    assert found == EVENTS


def test_an_event_that_is_not_whole_is_not_told() -> None:
    assert SseDecoder().feed(b"data: half\n") == []


def test_a_large_event_costs_what_its_bytes_cost() -> None:
    """It was quadratic: 60 MB in chunks of 64 KB took a minute."""
    decoder = SseDecoder()
    began = time.process_time()
    for _ in range(1000):
        assert decoder.feed(b"x" * 30_000) == []
    found = decoder.feed(b"\nid: 1\ndata: {}\n\n")
    assert found == [SseEvent("message", b"{}", "1")]
    assert time.process_time() - began < 1.0
