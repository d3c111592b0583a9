"""Web Push end to end: a server, the mock agent, and a scripted push service that reads what a browser would."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from footplate.config.push import PushSettings
from footplate.config.settings import Settings
from footplate.store.memory import MemoryStore
from footplate.testing.push import Browser, Received, ScriptedPush
from tests.unit.interfaces.http.reading import Json, get, post, run_turn
from tests.unit.interfaces.http.served import Served, serve

SETTINGS = Settings(push=PushSettings(services=("127.0.0.1",), contact="mailto:ada@example.org"))


@pytest.fixture
def service() -> Iterator[ScriptedPush]:
    with ScriptedPush.start() as started:
        yield started


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """A server that may call the scripted push service."""
    async with serve(tmp_path, SETTINGS) as running:
        yield running


async def _next(service: ScriptedPush) -> tuple[Received, Json]:
    received = await asyncio.to_thread(service.next)
    return received, json.loads(received.payload)


async def _subscribe(client: httpx.AsyncClient, browser: Browser, **wanted: object) -> str:
    made = await post(client, "/api/push/subscriptions", 201, subscription=browser.to_json(), **wanted)
    return str(made["id"])


async def _session(client: httpx.AsyncClient, served: Served, title: str = "a task") -> str:
    return str((await post(client, "/api/sessions", 201, engine="mock", cwd=str(served.work), title=title))["id"])


async def _until(true: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(30):
        while not await true():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def _asked(client: httpx.AsyncClient) -> list[Json]:
    found: list[Json] = (await get(client, "/api/requests", 200, state="open"))["requests"]
    return found


async def _browsers(client: httpx.AsyncClient) -> int:
    return len((await get(client, "/api/push"))["subscriptions"])


async def _is(asked: Awaitable[int], wanted: int) -> bool:
    return await asked == wanted


async def test_a_browser_is_told_when_a_session_needs_you_and_when_it_has_finished(
    client: httpx.AsyncClient, served: Served, service: ScriptedPush
) -> None:
    browser = service.subscribe()
    await _subscribe(client, browser, all=True, name="a phone")
    session = await _session(client, served)
    await post(client, f"/api/sessions/{session}/prompt", 202, content="permission")
    await _until(lambda: _asked(client))
    request = (await _asked(client))[0]["id"]
    received, told = await _next(service)
    assert (told["event"], told["session"], told["title"]) == ("needs_you", session, "a task")
    assert told["text"]
    assert received.browser is browser
    assert received.subject == "mailto:ada@example.org"
    assert received.sender == (await get(client, "/api/push"))["public_key"]
    assert (received.headers["urgency"], received.headers["ttl"]) == ("high", "86400")
    await post(client, f"/api/requests/{request}/answer", 200, behavior="allow")
    received, told = await _next(service)
    assert (told["event"], received.headers["urgency"]) == ("finished", "normal")
    await run_turn(client, session, "error")
    assert (await _next(service))[1]["event"] == "failed"
    assert service.refused == []


async def test_a_browser_is_told_only_what_it_asked_for(
    client: httpx.AsyncClient, served: Served, service: ScriptedPush
) -> None:
    one, two = await _session(client, served, "one"), await _session(client, served, "two")
    await _subscribe(client, service.subscribe(), sessions=[two])
    await _subscribe(client, service.subscribe(), all=True, on=["failed"])
    await _subscribe(client, service.subscribe())
    await run_turn(client, one, "hello")
    await run_turn(client, two, "hello")
    assert (await _next(service))[1]["session"] == two
    await run_turn(client, one, "error")
    assert (await _next(service))[1]["event"] == "failed"
    assert service.waiting == 0


async def test_a_subscription_is_changed_listed_tried_and_taken_back(
    client: httpx.AsyncClient, served: Served, service: ScriptedPush
) -> None:
    browser = service.subscribe()
    name = await _subscribe(client, browser, name="a phone")
    assert await _subscribe(client, browser, all=True, name="my phone") == name
    (listed,) = (await get(client, "/api/push"))["subscriptions"]
    assert (listed["id"], listed["name"], listed["all"]) == (name, "my phone", True)
    tried = await post(client, f"/api/push/subscriptions/{name}/test")
    assert tried["status"] == 201
    assert (await _next(service))[1]["text"] == "It works."
    assert (await client.delete(f"/api/push/subscriptions/{name}")).status_code == 204
    assert (await client.delete(f"/api/push/subscriptions/{name}")).status_code == 404
    await run_turn(client, await _session(client, served), "hello")
    assert service.waiting == 0


@pytest.mark.parametrize(("status", "wait"), [(429, "1"), (503, "")])
async def test_a_message_that_is_refused_for_now_is_tried_again(
    client: httpx.AsyncClient,
    served: Served,
    service: ScriptedPush,
    status: int,
    wait: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("footplate.runtime.push.FIRST_PAUSE_S", 0.05)
    await _subscribe(client, service.subscribe(), all=True)
    service.refuse(status, retry_after=wait)
    await run_turn(client, await _session(client, served), "hello")
    assert (await _next(service))[1]["event"] == "finished"
    assert [each for each, _ in service.refused] == [status]


@pytest.mark.parametrize("status", [404, 410])
async def test_a_subscription_that_the_service_no_longer_knows_is_removed(
    client: httpx.AsyncClient, served: Served, service: ScriptedPush, status: int
) -> None:
    await _subscribe(client, service.subscribe(), all=True)
    service.refuse(status)
    await run_turn(client, await _session(client, served), "hello")
    await _until(lambda: _is(_browsers(client), 0))


async def test_a_message_that_was_not_delivered_is_delivered_after_a_restart(
    tmp_path: Path, service: ScriptedPush, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("footplate.runtime.push.FIRST_PAUSE_S", 0.3)
    store = MemoryStore()
    service.refuse(500)

    @asynccontextmanager
    async def server() -> AsyncIterator[tuple[Served, httpx.AsyncClient]]:
        async with serve(tmp_path, SETTINGS, store=store) as served, served.client() as client:
            yield served, client

    async with server() as (served, client):
        await _subscribe(client, service.subscribe(), all=True)
        key = (await get(client, "/api/push"))["public_key"]
        await run_turn(client, await _session(client, served), "hello")
        await _until(lambda: asyncio.sleep(0, service.refused))
    async with server() as (_, client):
        assert (await _next(service))[1]["event"] == "finished"
        assert (await get(client, "/api/push"))["public_key"] == key
    await store.close()


async def test_a_subscription_reaches_no_further_than_its_token_and_ends_with_it(
    client: httpx.AsyncClient, served: Served, service: ScriptedPush
) -> None:
    mine, other = await _session(client, served, "mine"), await _session(client, served, "other")
    token = await post(client, "/api/tokens", 201, name="guest", scopes=["read"], sessions=[mine])
    async with served.client(token["token"]) as guest:
        await _subscribe(guest, service.subscribe(), all=True)
        assert len((await get(guest, "/api/push"))["subscriptions"]) == 1
    await _subscribe(client, service.subscribe(), all=True, on=["finished"])
    async with served.client(token["token"]) as guest:
        assert len((await get(guest, "/api/push"))["subscriptions"]) == 1, "another token's browser is not shown"
    await run_turn(client, other, "hello")
    assert (await _next(service))[0].browser.endpoint.endswith("/2")
    await run_turn(client, mine, "hello")
    assert {(await _next(service))[0].browser.endpoint[-2:] for _ in range(2)} == {"/1", "/2"}
    await client.delete(f"/api/tokens/{token['info']['id']}")
    await run_turn(client, mine, "hello")
    assert (await _next(service))[0].browser.endpoint.endswith("/2")
    await _until(lambda: _is(_browsers(client), 1))
    assert service.waiting == 0


@pytest.mark.parametrize(
    "endpoint",
    ["https://evil.example/x", "http://169.254.169.254/latest", "file:///etc/passwd", "https://127.0.0.1@evil/x", "x"],
)
async def test_nothing_is_posted_to_an_address_that_is_no_push_service(
    client: httpx.AsyncClient, service: ScriptedPush, endpoint: str
) -> None:
    browser = service.subscribe().to_json() | {"endpoint": endpoint}
    problem = await post(client, "/api/push/subscriptions", 400, subscription=browser)
    assert "endpoint" in problem["detail"]


async def test_without_the_extra_it_says_how_to_get_it(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.ec", None)
    problem = await get(client, "/api/push", 503)
    assert "pip install 'footplate[push]'" in problem["detail"]
