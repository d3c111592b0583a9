"""Handlers of ours that an agent calls: every call ends in a result, an error, or in silence when nobody waits."""

from __future__ import annotations

import asyncio

import msgspec

from footplate.engines.base import HostCall
from footplate.runtime.handlers import Handlers

GIVEN = msgspec.Raw(b'{"n":1}')


def call(name: str) -> HostCall:
    return HostCall(key=f"key of {name}", kind="tool", name=name, payload=GIVEN)


async def good(given: msgspec.Raw) -> str:
    return f"got {bytes(given).decode()}"


async def bad(given: msgspec.Raw) -> str:
    raise ValueError("out of order")


async def quitter(given: msgspec.Raw) -> str:
    raise asyncio.CancelledError


async def endless(given: msgspec.Raw) -> str:
    await asyncio.Event().wait()
    return "never"


class Heard:
    """What the agent would be told."""

    def __init__(self) -> None:
        self.results: asyncio.Queue[tuple[str, msgspec.Raw | str, str]] = asyncio.Queue()

    async def take(self, key: str, result: msgspec.Raw | str, error: str) -> None:
        await self.results.put((key, result, error))

    async def next(self) -> tuple[str, msgspec.Raw | str, str]:
        async with asyncio.timeout(5):
            return await self.results.get()


async def test_a_handler_s_result_and_its_failure_are_told_by_key() -> None:
    handlers, heard = Handlers(tools={"good": good, "bad": bad, "quitter": quitter}), Heard()
    told = []
    for name in ("good", "bad", "quitter", "nobody"):
        handlers.call(call(name), heard.take)
        told.append(await heard.next())
    assert told == [
        ("key of good", 'got {"n":1}', ""),
        ("key of bad", "", "ValueError: out of order"),
        ("key of quitter", "", "the handler was cancelled"),
        ("key of nobody", "", "nobody handles the tool 'nobody'"),
    ]


async def test_a_call_that_is_dropped_ends_and_says_nothing() -> None:
    handlers, heard = Handlers(tools={"endless": endless, "good": good}), Heard()
    handlers.call(call("endless"), heard.take)
    handlers.drop("key of endless")
    handlers.drop("of nobody")
    handlers.call(call("good"), heard.take)
    assert (await heard.next())[0] == "key of good"
    assert heard.results.empty()


async def test_no_call_outlives_its_agent() -> None:
    handlers, heard = Handlers(tools={"endless": endless}), Heard()
    handlers.call(call("endless"), heard.take)
    await handlers.close()
    assert heard.results.empty()
