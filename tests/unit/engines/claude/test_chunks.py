"""Any cutting of the same bytes gives the same events."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from footplate.engines.base import Exit
from footplate.engines.claude.translate import Translator
from footplate.events.codec import encode
from footplate.host.lines import LineSplitter
from tests.unit.engines.claude.playing import recording

STREAMS = tuple(
    b"".join(recording(version, scenario).lines)
    for version, scenario in (
        ("2.1.325", "partial"),
        ("2.1.325", "priority_now"),
        ("2.1.325", "auth_status"),
        ("2.1.197", "interrupt_stream"),
        ("2.1.325", "subagent_task_name"),
    )
)


@settings(max_examples=60, deadline=None)
@given(stream=st.sampled_from(STREAMS), cuts=st.lists(st.integers(0, 20_000), max_size=12))
def test_any_chunking_of_the_same_bytes_gives_the_same_events(stream: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(cut for cut in set(cuts) if cut < len(stream)), len(stream)]
    chunks = [stream[begin:end] for begin, end in pairwise(places)]
    assert translate(chunks) == translate([stream])


def test_a_last_line_without_a_newline_counts() -> None:
    stream = STREAMS[0]
    assert translate([stream.removesuffix(b"\n")]) == translate([stream])


def test_empty_lines_and_carriage_returns_mean_nothing() -> None:
    stream = STREAMS[0]
    assert translate([stream.replace(b"\n", b"\r\n\n  \n")]) == translate([stream])


def translate(chunks: list[bytes]) -> list[bytes]:
    splitter, translator = LineSplitter(), Translator(cwd="/workspace")
    events = [event for chunk in chunks for event in translator.feed(splitter.feed(chunk))]
    events += translator.feed(splitter.finish())
    events += translator.finish(Exit(code=0))
    return [encode(event) for event in events]
