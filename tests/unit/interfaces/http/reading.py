"""Reading an event stream in a test: wait for what must come, with a deadline."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
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
    """An open stream of events."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._lines = response.aiter_lines()

    async def next(self) -> Told | None:
        """The next event; None when the stream has ended."""
        event = number = ""
        async for line in self._lines:
            name, _, value = line.partition(": ")
            if name == "event":
                event = value
            elif name == "id":
                number = value
            elif name == "data":
                return Told(event=event, id=number, data=json.loads(value))
        return None

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
    """The stream at that path."""
    async with client.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"] == "text/event-stream"
        yield Stream(response)


async def post(client: httpx.AsyncClient, path: str, status: int = 200, **body: object) -> Json:
    """Post JSON and take the answer, which must have that status."""
    answer = await client.post(path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else {}


async def get(client: httpx.AsyncClient, path: str, status: int = 200, **query: Any) -> Json:
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
