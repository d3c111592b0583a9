"""The server's end of a connection: what goes out together."""

from __future__ import annotations

import asyncio
from typing import cast

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from footplate.interfaces.http.wire import Joined


class Wire:
    """A transport that keeps what is written, and the part of uvicorn's cycle that has it."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closed = False
        self.response_started = False
        self.transport = self

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def close(self) -> None:
        self.closed = True

    def answer(self) -> Joined:
        return Joined(cast("RequestResponseCycle", self), asyncio.get_running_loop())


async def test_the_head_of_an_answer_goes_out_with_its_body() -> None:
    wire = Wire()
    answer = wire.answer()
    wire.response_started = True
    answer.write(b"head ")
    assert not wire.written
    answer.write(b"body")
    answer.write(b"more")
    await asyncio.sleep(0)
    assert wire.written == [b"head body", b"more"]


async def test_a_head_waits_for_nothing_but_the_loop() -> None:
    wire = Wire()
    answer = wire.answer()
    wire.response_started = True
    answer.write(b"head")
    await asyncio.sleep(0)
    assert wire.written == [b"head"]
    answer.write(b"body")
    assert wire.written == [b"head", b"body"]


async def test_word_that_a_body_may_come_is_not_held_up() -> None:
    wire = Wire()
    answer = wire.answer()
    answer.write(b"go on")
    assert wire.written == [b"go on"]
    wire.response_started = True
    answer.write(b"head")
    answer.close()
    assert wire.written == [b"go on", b"head"]
    assert wire.closed
