"""The effort of a session on the real CLI: every process is started with the one that was set last."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from footplate.testing.messages import script, tool
from tests.e2e.server import RunningServer, running_server
from tests.e2e.world import World, processes_with
from tests.unit.interfaces.http.reading import get, post, run_turn, stream

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


def client_of(server: RunningServer, token: str = "") -> httpx.AsyncClient:
    headers = {"authorization": f"Bearer {token or server.token}"}
    return httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60, trust_env=False)


def flags_of(world: World) -> list[str]:
    """The effort, or the number of tokens, on the command line of the one CLI that runs."""
    commands = [command.split() for command in processes_with(str(world.home)).values() if " -p " in command]
    (words,) = [words for words in commands if "--input-format" in words]
    present = [flag for flag in ("--effort", "--max-thinking-tokens") if flag in words]
    return [word for flag in present for word in (flag, words[words.index(flag) + 1])]


async def test_an_effort_is_kept_over_processes_and_services_and_in_a_fork(world: World, tmp_path: Path) -> None:
    env = {**world.env, "FOOTPLATE__RUNTIME__IDLE_S": "1"}
    with running_server(tmp_path, env=env) as server:
        token = server.token
        async with client_of(server) as client:
            made = await post(client, "/api/sessions", 201, engine="claude", cwd=str(world.work), effort="high")
            path = f"/api/sessions/{made['id']}"
            await run_turn(client, made["id"], script("One."))
            assert flags_of(world) == ["--effort", "high"]
            await post(client, f"{path}/effort", 204, effort="low")
            detail = await get(client, path)
            (option,) = [option for option in detail["options"] if option["id"] == "effort"]
            assert (detail["effort"], option["value"]) == ("low", "low")
            async with asyncio.timeout(20):
                while (await get(client, path))["attached"]:  # noqa: ASYNC110 - a process
                    await asyncio.sleep(0.1)
            await run_turn(client, made["id"], script("Two."))
            assert flags_of(world) == ["--effort", "low"]
    with running_server(tmp_path, env=world.env) as server:
        async with client_of(server, token) as client:
            assert [each["effort"] for each in (await get(client, "/api/sessions"))["sessions"]] == ["low"]
            await run_turn(client, made["id"], script("Three."))
            assert flags_of(world) == ["--effort", "low"]
            await post(client, f"{path}/effort", 204, effort="8000")
            await post(client, f"{path}/close")
            assert (await get(client, path))["effort"] == "8000"
            forked = await post(client, f"{path}/fork", 201)
            assert forked["effort"] == "8000"
            await run_turn(client, forked["id"], script("Four."))
            assert flags_of(world) == ["--max-thinking-tokens", "8000"]


async def test_a_reattached_agent_has_the_effort_that_was_set_after_its_start(world: World, tmp_path: Path) -> None:
    env = {**world.env, "FOOTPLATE__RUNTIME__REATTACH_GRACE_S": "60"}
    with running_server(tmp_path, env=env) as server:
        token = server.token
        async with client_of(server) as client:
            made = await post(client, "/api/sessions", 201, engine="claude", cwd=str(world.work), effort="high")
            path = f"/api/sessions/{made['id']}"
            async with stream(client, f"{path}/events") as events:
                prompt = script(tool("Bash", {"command": "touch made"}), "Ran.")
                await post(client, f"{path}/prompt", 202, content=prompt)
                request = (await events.until_event("RequestOpened"))[-1].data["event"]["request"]["id"]
            await post(client, f"{path}/effort", 204, effort="low")
        server.process.kill()
        server.process.wait()
    with running_server(tmp_path, env=env) as server:
        async with client_of(server, token) as client:
            async with stream(client, f"{path}/events") as events:
                await post(client, f"/api/requests/{request}/answer", behavior="allow")
                await events.until_event("TurnEnded")
            detail = await get(client, path)
            (option,) = [option for option in detail["options"] if option["id"] == "effort"]
            assert (detail["effort"], option["value"]) == ("low", "low")
