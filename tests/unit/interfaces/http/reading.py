"""Reading an event stream in a test: wait for what must come, with a deadline."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx
import msgspec

Json = dict[str, Any]
DEADLINE_S = 30


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a stream."""

    event: str
    id: str
    data: Json


class Stream:
    """An open stream of events, read from the socket itself: nothing is buffered, nothing is left behind."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._rest = b""
        self.status = 0
        self.headers: dict[str, str] = {}

    async def begin(self) -> None:
        """Read the head of the answer."""
        first, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        self.status = int(first.split()[1])
        self.headers = dict(line.split(": ", 1) for line in lines if line)

    async def next(self) -> Told | None:
        """The next event; None when the stream has ended."""
        while True:
            while b"\n\n" not in self._rest:
                size = int(await self._reader.readline(), 16)
                chunk = await self._reader.readexactly(size + 2)
                if not size:
                    return None
                self._rest += chunk[:-2]
            block, _, self._rest = self._rest.partition(b"\n\n")
            fields = dict(line.split(": ", 1) for line in block.decode().split("\n"))
            if "data" in fields:
                return Told(event=fields.get("event", ""), id=fields.get("id", ""), data=json.loads(fields["data"]))

    async def until(self, wanted: Callable[[Told], bool]) -> list[Told]:
        """Everything up to the first one that is wanted."""
        seen: list[Told] = []
        async with asyncio.timeout(DEADLINE_S):
            while (told := await self.next()) is not None:
                seen.append(told)
                if wanted(told):
                    return seen
        raise AssertionError(f"never came; saw {seen}")

    async def until_event(self, name: str) -> list[Told]:
        """Everything up to the first one of that name."""
        return await self.until(lambda told: told.event == name)


@asynccontextmanager
async def stream(client: httpx.AsyncClient, path: str, **headers: str) -> AsyncIterator[Stream]:
    """The stream at that path, as this client would ask for it."""
    url = client.base_url
    asked = {"host": url.netloc.decode(), "authorization": client.headers.get("authorization", ""), **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in asked.items() if value)
    reader, writer = await asyncio.open_connection(url.host, url.port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
        events = Stream(reader)
        async with asyncio.timeout(DEADLINE_S):
            await events.begin()
        assert events.status == 200
        assert events.headers["content-type"] == "text/event-stream"
        yield events
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def post(client: httpx.AsyncClient, path: str, status: int = 200, /, **body: object) -> Json:
    """Post JSON and take the answer, which must have that status."""
    answer = await client.post(path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else {}


async def get(client: httpx.AsyncClient, path: str, status: int = 200, /, **query: Any) -> Json:
    """Get JSON, with that status."""
    answer = await client.get(path, params=query)
    assert answer.status_code == status, answer.text
    found: Json = answer.json()
    return found


async def run_turn(client: httpx.AsyncClient, session: str, text: str) -> list[Told]:
    """Give a prompt and read to the end of its turn."""
    view = await get(client, f"/api/sessions/{session}")
    async with stream(client, f"/api/sessions/{session}/events?after={view['last_seq']}") as events:
        await post(client, f"/api/sessions/{session}/prompt", 202, content=text)
        return await events.until_event("TurnEnded")
