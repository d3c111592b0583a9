"""Lines of a pipe that trickle in: the first at once, those close behind it together, none of them late for ever."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import pytest

from footplate.host.pipes import TRICKLE, LinePipe

NEVER = 3600.0
DEADLINE_S = 30


class Ends:
    """Both ends of a pipe whose reading end gathers for a time that the test chooses."""

    def __init__(self) -> None:
        reading, self.writing = os.pipe()
        self._spare = reading
        self.pipe: LinePipe | None = None

    def read_by(self, *, gather_s: float) -> LinePipe:
        self.pipe = LinePipe(self._spare, gather_s=gather_s, on_closed=lambda: None)
        return self.pipe

    def say(self, text: bytes) -> None:
        os.write(self.writing, text)


@pytest.fixture
async def ends() -> AsyncIterator[Ends]:
    made = Ends()
    yield made
    if made.pipe is not None:
        made.pipe.close()
    os.close(made.writing)


async def _read(pipe: LinePipe) -> bytes:
    async with asyncio.timeout(DEADLINE_S):
        block = await pipe.read()
    return b"" if block is None else block.lines


async def test_the_first_two_lines_are_handed_over_as_they_come(ends: Ends) -> None:
    pipe = ends.read_by(gather_s=NEVER)
    ends.say(b"one\n")
    assert await _read(pipe) == b"one\n"
    ends.say(b"two\n")
    assert await _read(pipe) == b"two\n"


async def test_lines_close_behind_the_second_wait_for_each_other_and_not_for_ever(ends: Ends) -> None:
    pipe = ends.read_by(gather_s=NEVER)
    for line in (b"one\n", b"two\n"):
        ends.say(line)
        await _read(pipe)
    ends.say(b"three\n")
    ends.say(b"four\n")
    reading = asyncio.create_task(pipe.read())
    await asyncio.sleep(0)
    assert not pipe.paused
    assert not reading.done()
    pipe.last_call()
    block = await reading
    assert block is not None
    assert block.lines == b"three\nfour\n"
    assert await pipe.read() is None


async def test_what_may_be_an_answer_is_not_left_to_gather(ends: Ends) -> None:
    pipe = ends.read_by(gather_s=NEVER)
    for line in (b"one\n", b"two\n"):
        ends.say(line)
        await _read(pipe)
    pipe.expect()
    ends.say(b"answer\n")
    assert await _read(pipe) == b"answer\n"


async def test_every_line_of_a_trickle_comes_in_order(ends: Ends) -> None:
    pipe = ends.read_by(gather_s=0.001)
    seen = b""
    for number in range(200):
        ends.say(b"%d\n" % number)
        if number % 3:
            seen += await _read(pipe)
    while seen.count(b"\n") < 200:
        seen += await _read(pipe)
    assert seen.split() == [b"%d" % number for number in range(200)]


async def test_a_full_pipe_is_read_without_a_pause(ends: Ends) -> None:
    pipe = ends.read_by(gather_s=NEVER)
    line = b"x" * (TRICKLE - 1) + b"\n"
    for _ in range(20):
        ends.say(line)
        assert await _read(pipe) == line


async def test_closing_takes_in_what_has_gathered(ends: Ends) -> None:
    pipe = ends.read_by(gather_s=NEVER)
    for line in (b"one\n", b"two\n"):
        ends.say(line)
        await _read(pipe)
    ends.say(b"three\n")
    pipe.close()
    assert await _read(pipe) == b"three\n"
    assert await _read(pipe) == b""
