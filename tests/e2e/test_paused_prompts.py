"""Prompts that wait when `footplate serve` ends: the next one starts them, or pauses them until they are continued."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from footplate.events import model as m
from footplate.events.ids import SessionId
from footplate.events.requests import Allow
from tests.e2e.pages import visit
from tests.e2e.restarts import Died, Lives, lives_of
from tests.e2e.server import MINIMAL_PATH, RunningServer, running_server
from tests.e2e.test_serve_restart import TOKEN, reach
from tests.e2e.world import World
from tests.unit.interfaces.http.reading import Json, get, post, stream

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


async def leave_waiting(server: RunningServer, folder: Path) -> str:
    """A session with a running turn and two prompts that wait behind it."""
    async with reach(server) as client:
        session = str((await post(client, "/api/sessions", 201, engine="mock", cwd=str(folder)))["id"])
        async with stream(client, f"/api/sessions/{session}/events") as events:
            await post(client, f"/api/sessions/{session}/prompt", 202, content="hang")
            await events.until_event("MessageDelta")
        for text in ("one", "two"):
            await post(client, f"/api/sessions/{session}/prompt", 202, content=text)
        return session


def command(env: Mapping[str, str], *args: str) -> Json:
    """The JSON output of a command in a new process."""
    ran = subprocess.run(
        [sys.executable, "-m", "footplate", *args, "--json"], env=env, capture_output=True, timeout=60, check=True
    )
    found: Json = json.loads(ran.stdout)
    return found


async def answers(server: RunningServer, session: str) -> list[str]:
    """What every turn answered, up to that of the last prompt."""
    async with reach(server) as client, stream(client, f"/api/sessions/{session}/events") as events:
        seen = await events.until(lambda each: each.data["event"].get("answer") == "mock: two")
    return [each.data["event"].get("answer", "") for each in seen if each.event == "TurnEnded"]


async def test_prompts_behind_a_turn_that_was_killed_are_paused_until_continued(tmp_path: Path) -> None:
    with running_server(tmp_path, "--token", TOKEN) as first:
        session = await leave_waiting(first, tmp_path)
        first.process.kill()
        first.process.wait(30)
    for _ in range(2):  # a second restart neither starts them nor repeats the notice
        with running_server(tmp_path, "--token", TOKEN) as server:
            async with reach(server) as client:
                view = await get(client, f"/api/sessions/{session}")
            assert (view["state"], len(view["queue"]), len(view["turns"])) == ("interrupted", 2, 1)
            (notice,) = (each for each in view["items"] if each.get("code") == "prompts_paused")
            assert notice["text"].startswith("2 prompts wait: the turn before was lost.")
            server.process.kill()
            server.process.wait(30)
    with running_server(tmp_path, "--token", TOKEN) as last:
        env = {"HOME": str(tmp_path), "PATH": MINIMAL_PATH, "FOOTPLATE_URL": last.url, "FOOTPLATE_TOKEN": TOKEN}
        continued = await asyncio.to_thread(command, env, "sessions", "continue", session)
        assert [each["content"][0]["text"] for each in continued["prompts"]] == ["one", "two"]
        assert (await answers(last, session))[1:] == ["mock: one", "mock: two"]


async def leave_ended(lives: Lives) -> SessionId:
    """Kill a service that drains: a turn has ended well, the prompts behind it wait, another session still works."""
    life = await lives.begin()
    session = await life.prompt("permission", engine="mock")
    request = await life.asked(session)
    for text in ("one", "two"):
        await life.order("prompt", session=session, text=text)
    other = await life.prompt("hang", engine="mock")
    await life.see(other, m.MessageDelta)
    draining = asyncio.create_task(life.order("drain", patience_s=60))
    await asyncio.sleep(0)  # the drain is ordered before the answer
    await life.answer(session, request, Allow())
    await life.ended(session)
    # Before it is stored that the session is idle, an agent may have begun with the next prompt.
    assert await life.news(lambda: life.of(session, m.StateChanged)[-1].state == "idle", within=60)
    await life.kill()
    with pytest.raises(Died):
        await draining
    return session


async def test_prompts_behind_a_turn_that_ended_well_begin_with_the_next_service(world: World) -> None:
    async with lives_of(world) as lives:
        session = await leave_ended(lives)
        second = await lives.begin()
        await second.watch(session)
        await second.see(session, m.TurnEnded, lambda ended: ended.answer == "mock: two")
        assert [each.answer for each in second.of(session, m.TurnEnded)][1:] == ["mock: one", "mock: two"]
        assert not second.of(session, m.Notice)
        second.check(session)


async def test_a_command_without_a_server_starts_waiting_prompts_only_to_continue_them(world: World) -> None:
    async with lives_of(world) as lives:
        session = await leave_ended(lives)
    for _ in range(2):
        view = await asyncio.to_thread(command, world.env, "sessions", "show", session)
        assert (view["state"], len(view["queue"]), len(view["turns"])) == ("idle", 2, 1)
    await asyncio.to_thread(command, world.env, "sessions", "continue", session)
    view = await asyncio.to_thread(command, world.env, "sessions", "show", session)
    assert [turn["stop_reason"] for turn in view["turns"]] == ["end_turn"] * 3


@pytest.mark.asyncio(loop_scope="session")
async def test_the_page_says_that_prompts_are_paused_and_continues_them(browser: Browser, tmp_path: Path) -> None:
    with running_server(tmp_path, "--token", TOKEN) as first:
        session = await leave_waiting(first, tmp_path)
        first.process.kill()
        first.process.wait(30)
    with running_server(tmp_path, "--token", TOKEN) as second:
        async with visit(browser, second) as person:
            await person.arrive(f"/ui/sessions/{session}", token=TOKEN)
            queue = person.page.get_by_role("region", name="Next up")
            await expect(queue).to_contain_text("2 prompts are paused since the restart.")
            await person.picture("paused")
            await queue.get_by_role("button", name="Continue").click()
            await person.sees("mock: two")
            await expect(queue).to_have_count(0)
