"""Prompts that wait behind a turn that a restart has lost: paused, and continued from every surface."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from websockets.asyncio.client import connect

from footplate.events.ids import SessionId
from footplate.interfaces.cli.chat.doing import Doer, Me
from footplate.interfaces.cli.chat.remote import RemoteBackend
from footplate.interfaces.cli.chat.room import Room
from footplate.interfaces.cli.chat.typed import parse_line
from footplate.main import command_line
from footplate.sdk.client import Client
from footplate.store.memory import MemoryStore
from tests.unit.interfaces.http.reading import Json, get, post, run_turn, stream
from tests.unit.interfaces.http.served import TOKEN, Served, serve

PROMPTS = ("one", "two")


@pytest.fixture
async def store() -> AsyncIterator[MemoryStore]:
    """A store that outlives the servers."""
    made = MemoryStore()
    yield made
    await made.close()


async def _leave_waiting(served: Served, running: str, ended: str) -> str:
    """A session with a running turn and two prompts that wait behind it."""
    async with served.client() as client:
        session = str((await post(client, "/api/sessions", 201, engine="mock", cwd=str(served.work)))["id"])
        path = f"/api/sessions/{session}"
        async with stream(client, f"{path}/events") as events:
            await post(client, f"{path}/prompt", 202, content=running)
            await events.until_event("MessageDelta")
            for text in PROMPTS:
                await post(client, f"{path}/prompt", 202, content=text, idempotency_key=text)
            if ended:
                (await served.api.hub.get(SessionId(session))).hold()
                await events.until_event(ended)
        return session


@asynccontextmanager
async def _restart(folder: Path, store: MemoryStore) -> AsyncIterator[Served]:
    """The next server on the store, with the sessions that the last one left unfinished."""
    async with serve(folder, store=store) as served:
        await served.api.hub.take_up_left()
        yield served


@pytest.fixture
async def session(tmp_path: Path, store: MemoryStore) -> str:
    """A session whose server stopped in the middle of a turn."""
    async with serve(tmp_path, store=store) as served:
        return await _leave_waiting(served, "hang", "")


def _run(served: Served, *args: str) -> Result:
    env = {"FOOTPLATE_URL": served.url, "FOOTPLATE_TOKEN": TOKEN}
    result = CliRunner(env=env).invoke(command_line(), args)
    assert result.exit_code == 0, result.output
    return result


async def _by_http(served: Served, session: str) -> None:
    async with served.client() as client:
        answer = await post(client, f"/api/sessions/{session}/continue", 202)
    assert [each["id"] for each in answer["prompts"]] == list(PROMPTS)


async def _by_sdk(served: Served, session: str) -> None:
    async with Client.connect(served.url, token=TOKEN) as client:
        waiting = await (await client.resume_session(session)).continue_queue()
    assert [each.id for each in waiting] == list(PROMPTS)


async def _by_socket(served: Served, session: str) -> None:
    url = f"{served.url.replace('http', 'ws')}/api/sessions/{session}/ws?access_token={TOKEN}"
    async with connect(url, proxy=None) as socket, asyncio.timeout(30):
        await socket.send(json.dumps({"type": "Continue", "key": "k1"}))
        while "done" not in (reply := json.loads(await socket.recv())):
            pass
    assert reply == {"done": "k1"}


async def _by_command(served: Served, session: str) -> None:
    assert (await asyncio.to_thread(_run, served, "sessions", "continue", session)).output == "continued: 2 prompts\n"


async def _by_chat(served: Served, session: str) -> None:
    """The session rests only after the prompts that the command has started: so long a script waits."""
    assert await _type(served, session, "/continue") == ()


async def _type(served: Served, session: str, line: str) -> tuple[str, ...]:
    """Type a line in the chat and wait until the session rests; the lines that the chat shows for it."""
    async with RemoteBackend.open(served.url, TOKEN) as backend, asyncio.timeout(30):
        attachment = await backend.attach(SessionId(session))
        room = Room(attachment.standing)
        outcome = None
        try:
            async for body in attachment.bodies:
                room.take(body)
                if room.joined and outcome is None:
                    outcome = await Doer(backend, Me("ada", "chat")).perform(room, parse_line(line))
                if outcome is not None and room.resting:
                    break
        finally:
            await attachment.close()
    assert outcome is not None
    assert not room.view.queue
    return tuple(each.text for each in outcome.lines)


async def _by_retry(served: Served, session: str) -> None:
    async with served.client() as client:
        await post(client, f"/api/sessions/{session}/prompt", 202, content="one", idempotency_key="one")


@pytest.mark.parametrize("by", [_by_http, _by_sdk, _by_socket, _by_command, _by_chat, _by_retry])
async def test_paused_prompts_are_continued_in_order(
    tmp_path: Path, store: MemoryStore, session: str, by: Callable[[Served, str], Awaitable[None]]
) -> None:
    async with _restart(tmp_path, store) as served, served.client() as client:
        view = await get(client, f"/api/sessions/{session}")
        assert (view["state"], [each["id"] for each in view["queue"]]) == ("interrupted", list(PROMPTS))
        (notice,) = _notices(view)
        assert notice["text"].startswith("2 prompts wait: the turn before was lost")
        await by(served, session)
        async with stream(client, f"/api/sessions/{session}/events?after={view['last_seq']}") as events:
            seen = await events.until(lambda each: each.data["event"].get("answer") == "mock: two")
        ended = [each.data["event"]["answer"] for each in seen if each.event == "TurnEnded"]
        assert ended == ["mock: one", "mock: two"]


def _notices(view: Json) -> list[Json]:
    return [each for each in view["items"] if each.get("code") == "prompts_paused"]


async def test_to_continue_where_nothing_waits_does_nothing(tmp_path: Path) -> None:
    async with serve(tmp_path) as served, served.client() as client:
        session = (await post(client, "/api/sessions", 201, engine="mock", cwd=str(served.work)))["id"]
        await run_turn(client, session, "hello")
        before = (await get(client, f"/api/sessions/{session}"))["last_seq"]
        assert await post(client, f"/api/sessions/{session}/continue", 202) == {"prompts": []}
        shown = await asyncio.to_thread(_run, served, "sessions", "continue", session, "--json")
        assert json.loads(shown.output) == {"prompts": []}
        assert "no prompt waits" in (await asyncio.to_thread(_run, served, "sessions", "continue", session)).output
        assert await _type(served, session, "/continue") == ("no prompt waits",)
        assert (await get(client, f"/api/sessions/{session}"))["last_seq"] == before


async def test_prompts_behind_a_turn_that_ended_well_begin_by_themselves(tmp_path: Path, store: MemoryStore) -> None:
    async with serve(tmp_path, store=store) as served:
        session = await _leave_waiting(served, "slow 200", "TurnEnded")
    async with _restart(tmp_path, store) as served, served.client() as client:
        async with stream(client, f"/api/sessions/{session}/events") as events:
            await events.until(lambda each: each.data["event"].get("answer") == "mock: two")
        assert not _notices(await get(client, f"/api/sessions/{session}"))


async def test_a_command_that_waits_for_a_prompt_ends_when_the_prompt_is_withdrawn(tmp_path: Path) -> None:
    async with serve(tmp_path) as served, served.client() as client:
        session = (await post(client, "/api/sessions", 201, engine="mock", cwd=str(served.work)))["id"]
        async with stream(client, f"/api/sessions/{session}/events") as events:
            await post(client, f"/api/sessions/{session}/prompt", 202, content="hang")
            await events.until_event("MessageDelta")
            args = ["sessions", "prompt", session, "later", "--wait"]
            env = {"FOOTPLATE_URL": served.url, "FOOTPLATE_TOKEN": TOKEN}
            waiting = asyncio.create_task(asyncio.to_thread(CliRunner(env=env).invoke, command_line(), args))
            queued = (await events.until_event("PromptQueued"))[-1].data["event"]["prompt"]
            answer = await client.delete(f"/api/sessions/{session}/queue/{queued}")
            assert answer.status_code == 204
            async with asyncio.timeout(30):
                result = await waiting
        assert (result.exit_code, result.output) == (1, "the prompt was withdrawn: taken back\n")
