"""A person's program: says lines until they are kept, confirms messages, connects again when it was cut off."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count

from footplate_line.wire import read, write

AGAIN_S = 0.1
SEEN = 60


class Refused(Exception):
    """The server does not know the name, or the password."""


class LineClient:
    """One person. What is said is said again after a break until it is kept; what comes is confirmed once."""

    def __init__(self, host: str, port: int, name: str, password: str) -> None:
        self._where = (host, port)
        self._who = (name, password)
        self._ids = count(int.from_bytes(os.urandom(4)))
        self._waiting: dict[str, str] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._news = asyncio.Condition()
        self.last = 0
        self.seen: list[str] = []

    async def run(self) -> None:
        """Stay connected until it is cancelled. Raises `Refused`."""
        while True:
            with suppress(OSError):
                await self._talk()
            self._writer = None
            await asyncio.sleep(AGAIN_S)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[asyncio.Task[None]]:
        """At work for as long as the block lasts."""
        task = asyncio.create_task(self.run())
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait((task,))

    async def say(self, text: str) -> None:
        """Say something, now or when there is a connection."""
        number = str(next(self._ids))
        self._waiting[number] = text
        if self._writer is not None:
            self._writer.write(write("SAY", number, text=text))

    async def next_news(self) -> None:
        """Wait until something has come."""
        async with self._news:
            await self._news.wait()

    async def _talk(self) -> None:
        reader, writer = await asyncio.open_connection(*self._where)
        try:
            writer.write(write("HELLO", *self._who, str(self.last)))
            while line := await reader.readline():
                await self._take(line, writer)
        finally:
            writer.close()

    async def _take(self, line: bytes, writer: asyncio.StreamWriter) -> None:
        verb, (word,), text = read(line, 1)
        match verb:
            case "WELCOME":
                self._writer = writer
                for number, waiting in self._waiting.items():
                    writer.write(write("SAY", number, text=waiting))
            case "OK":
                self._waiting.pop(word, None)
            case "MSG":
                await self.take_message(int(word), text, writer)
            case _:
                raise Refused(f"{word} {text}")

    async def take_message(self, number: int, text: str, writer: asyncio.StreamWriter) -> None:
        """A message: kept, then confirmed."""
        if number > self.last:
            self.last = number
            async with self._news:
                self.seen.append(text)
                self._news.notify_all()
        writer.write(write("GOT", str(number)))


async def _converse(client: LineClient) -> None:
    async with client.connected() as task:
        asking = asyncio.create_task(_ask(client))
        shown = 0
        while not (asking.done() or task.done()):
            news = asyncio.create_task(client.next_news())
            await asyncio.wait((news, asking, task), return_when=asyncio.FIRST_COMPLETED)
            news.cancel()
            for text in client.seen[shown:]:
                print(f"{text}\n{'-' * SEEN}")
            shown = len(client.seen)
        asking.cancel()
        if task.done():
            await task


async def _ask(client: LineClient) -> None:
    while line := await asyncio.to_thread(sys.stdin.readline):
        await client.say(line.rstrip("\n"))


def main() -> None:
    """`footplate-line HOST PORT NAME`; the password is in the variable FOOTPLATE_LINE_PASSWORD."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("name")
    given = parser.parse_args()
    client = LineClient(given.host, given.port, given.name, os.environ.get("FOOTPLATE_LINE_PASSWORD", ""))
    try:
        asyncio.run(_converse(client))
    except Refused as problem:
        sys.exit(str(problem))
