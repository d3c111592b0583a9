"""Calls about one session that meet each other: created, looked at, closed and deleted at the same time, over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from footplate.errors import StoreBusy
from footplate.runtime.spec import SPECS
from tests.unit.interfaces.http.reading import get, post, stream
from tests.unit.interfaces.http.served import Served, serve
from tests.unit.runtime.gates import GatedStore

DEADLINE_S = 30


@pytest.fixture
async def store() -> AsyncIterator[GatedStore]:
    made = GatedStore()
    yield made
    await made.close()


@pytest.fixture
async def served(tmp_path: Path, store: GatedStore) -> AsyncIterator[Served]:
    async with serve(tmp_path, store=store) as running:
        yield running


async def _create(client: httpx.AsyncClient, served: Served) -> str:
    return str((await post(client, "/api/sessions", 201, engine="mock", cwd=str(served.work)))["id"])


async def _statuses(*calls: asyncio.Future[httpx.Response]) -> list[int]:
    async with asyncio.timeout(DEADLINE_S):
        return [(await call).status_code for call in calls]


async def test_a_session_that_is_closed_while_it_is_deleted_never_gives_500(
    served: Served, client: httpx.AsyncClient, store: GatedStore
) -> None:
    session = await _create(client, served)
    store.deleting.shut()
    deleting = asyncio.ensure_future(client.delete(f"/api/sessions/{session}"))
    await store.deleting.reached.wait()
    late = await client.post(f"/api/sessions/{session}/close", json={})
    twice = asyncio.ensure_future(client.delete(f"/api/sessions/{session}"))
    looked = await client.get(f"/api/sessions/{session}")
    store.deleting.open()
    assert await _statuses(deleting, twice) == [204, 404]
    assert (late.status_code, looked.status_code) == (404, 404)


async def test_closing_and_deleting_in_the_same_moment_never_gives_500(
    served: Served, client: httpx.AsyncClient
) -> None:
    for _ in range(10):
        session = await _create(client, served)
        await post(client, f"/api/sessions/{session}/prompt", 202, content="hang")
        both = [
            asyncio.ensure_future(client.post(f"/api/sessions/{session}/close", json={})),
            asyncio.ensure_future(client.delete(f"/api/sessions/{session}")),
        ]
        closed, deleted = await _statuses(*both)
        assert (closed in (200, 404, 409), deleted) == (True, 204)
        await get(client, f"/api/sessions/{session}", 404)


async def test_who_polls_while_a_session_is_created_on_a_slow_disk_disturbs_nothing(
    served: Served, client: httpx.AsyncClient, store: GatedStore
) -> None:
    store.appending.shut()
    creating = asyncio.ensure_future(client.post("/api/sessions", json={"engine": "mock", "cwd": str(served.work)}))
    await store.appending.reached.wait()
    (document,) = (await store.documents(SPECS).list()).items
    polls = [asyncio.ensure_future(client.get(f"/api/sessions/{document.key}")) for _ in range(3)]
    assert (await get(client, "/api/sessions"))["sessions"] == []
    store.appending.open()
    assert await _statuses(creating, *polls) == [201, 200, 200, 200]
    assert list(store.claims.values()) == [1]
    await post(client, f"/api/sessions/{document.key}/title", 200, title="the creator still owns it")


async def test_a_deleted_session_stays_deleted_whoever_looks_and_its_streams_end(
    served: Served, client: httpx.AsyncClient
) -> None:
    for _ in range(5):
        session = await _create(client, served)
        async with stream(client, f"/api/sessions/{session}/events") as events:
            await events.until_event("SessionOpened")
            polls = [asyncio.ensure_future(client.get(f"/api/sessions/{session}")) for _ in range(4)]
            assert (await client.delete(f"/api/sessions/{session}")).status_code == 204
            assert set(await _statuses(*polls)) <= {200, 404}
            async with asyncio.timeout(DEADLINE_S):
                while await events.next() is not None:
                    pass
        await get(client, f"/api/sessions/{session}", 404)
        await get(client, f"/api/sessions/{session}/events", 404, follow=0)
    assert served.api.hub.live == ()
    assert (await get(client, "/api/sessions"))["sessions"] == []


async def test_a_delete_that_the_store_refuses_leaves_the_session_as_it_was(
    served: Served, client: httpx.AsyncClient, store: GatedStore
) -> None:
    session = await _create(client, served)
    store.deleting.problem = StoreBusy("here", "locked")
    assert (await client.delete(f"/api/sessions/{session}")).status_code == 503
    store.deleting.problem = None
    await post(client, f"/api/sessions/{session}/title", 200, title="still there")
    assert (await client.delete(f"/api/sessions/{session}")).status_code == 204


async def test_ids_that_nobody_knows_leave_nothing_in_memory(served: Served, client: httpx.AsyncClient) -> None:
    for number in range(20):
        await get(client, f"/api/sessions/nobody-{number}", 404)
    assert served.api.hub._entries == {}


async def test_no_read_call_claims_a_session(served: Served, client: httpx.AsyncClient, store: GatedStore) -> None:
    session = await _create(client, served)
    await served.api.hub.forget(served.api.hub.live[0].id)
    before = dict(store.claims)
    paths = ("", "/export", "/commands", "/queue", "/rules", "/changes", "/diff", "/usage", "/context", "/suggest?q=a")
    answers = {path: (await client.get(f"/api/sessions/{session}{path}")).status_code for path in paths}
    answers["/events"] = (await client.get(f"/api/sessions/{session}/events?follow=0")).status_code
    async with stream(client, f"/api/sessions/{session}/events") as events:
        await events.until_event("SessionOpened")
    refused = {path for path, status in answers.items() if status != 200}
    assert refused == {"/changes", "/suggest?q=a"}  # no repository, no agent to ask
    assert dict(store.claims) == before
    (live,) = served.api.hub.live
    assert live.cold
