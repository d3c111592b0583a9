"""Lists of sessions over HTTP: what a limited caller is shown, and a search that ends when its caller leaves."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx

from footplate.store.base import LIST_LIMIT
from footplate.store.memory import MemoryStore
from footplate.store.memory_index import MemoryProjections
from footplate.store.projection import SessionRow
from footplate.store.values import Page, SessionFilter
from tests.unit.interfaces.http.reading import get, post
from tests.unit.interfaces.http.served import Served, serve

DEADLINE_S = 10.0


class SlowSearch(MemoryProjections):
    """An index whose searches take for ever."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store._foldings, store._is_archived)
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()

    async def sessions(
        self, only: SessionFilter | None = None, *, after: str | None = None, limit: int = LIST_LIMIT
    ) -> Page[SessionRow]:
        if only is not None and only.text:
            self.begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.ended.set()
        return await super().sessions(only, after=after, limit=limit)


async def test_a_search_ends_when_its_caller_leaves(tmp_path: Path) -> None:
    async with MemoryStore() as store:
        slow = store.projections = SlowSearch(store)
        async with serve(tmp_path, store=store) as served, served.client() as client, asyncio.timeout(DEADLINE_S):
            asking = asyncio.create_task(client.get("/api/sessions", params={"q": "nothing"}))
            await slow.begun.wait()
            asking.cancel()
            await slow.ended.wait()
            assert (await client.get("/api/sessions")).status_code == 200


async def test_a_limited_caller_is_shown_whole_pages_of_what_it_reaches(
    client: httpx.AsyncClient, served: Served, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    made: list[str] = []
    for at in range(9):
        cwd = str(served.work if at % 3 == 0 else other)
        made.append((await post(client, "/api/sessions", 201, engine="mock", cwd=cwd))["id"])
    token = (await post(client, "/api/tokens", 201, name="some", scopes=["read"], projects=[str(served.work)]))["token"]
    async with served.client(token) as limited:
        first = await get(limited, "/api/sessions", limit=2)
        second = await get(limited, "/api/sessions", limit=2, after=first["after"])
    shown = [[each["id"] for each in page["sessions"]] for page in (first, second)]
    assert shown == [[made[6], made[3]], [made[0]]]
    assert second["after"] is None
