"""The real Claude CLI behind the HTTP API: a program drives a session, answers its request, hands it a server."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from footplate.testing.messages import script, tool
from tests.e2e.server import RunningServer, running_server
from tests.e2e.world import World
from tests.unit.interfaces.http.reading import get, post, run_turn, stream

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

SERVER = """
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    if "id" not in call:
        continue
    answers = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "greeter", "version": "1"}},
        "tools/list": {"tools": [{"name": "greet", "description": "greets", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "hello from the folder's server"}]},
    }
    answer = {"jsonrpc": "2.0", "id": call["id"], "result": answers.get(call["method"], {})}
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture
async def served(world: World, tmp_path: Path) -> AsyncIterator[RunningServer]:
    """A server in the test's world."""
    with running_server(tmp_path, env=world.env) as server:
        yield server


@pytest.fixture
async def client(served: RunningServer) -> AsyncIterator[httpx.AsyncClient]:
    """A client of it."""
    headers = {"authorization": f"Bearer {served.token}"}
    async with httpx.AsyncClient(base_url=served.url, headers=headers, timeout=60, trust_env=False) as made:
        yield made


async def test_a_session_is_driven_and_its_request_answered_over_http(client: httpx.AsyncClient, world: World) -> None:
    agent = await get(client, "/v1/agents/claude", config="true")
    assert (agent["installed"], agent["credentialsAvailable"]) == (True, True)
    modes = next(option for option in agent["configOptions"] if option["id"] == "mode")
    assert "plan" in {value["value"] for value in modes["options"]}
    session = (await post(client, "/api/sessions", 201, engine="claude", cwd=str(world.work)))["id"]
    async with stream(client, f"/api/sessions/{session}/events") as events:
        prompt = script(tool("Bash", {"command": "touch made; echo ran"}), "It said: $LAST")
        await post(client, f"/api/sessions/{session}/prompt", 202, content=prompt)
        told = await events.until_event("RequestOpened")
        request = told[-1].data["event"]["request"]["id"]
        assert not (world.work / "made").exists()
        await post(client, f"/api/requests/{request}/answer", behavior="allow")
        ended = (await events.until_event("TurnEnded"))[-1].data["event"]
    assert ended["answer"] == "It said: ran"
    assert (world.work / "made").exists()
    commands = await get(client, f"/api/sessions/{session}/commands")
    assert commands["commands"]
    context = await get(client, f"/api/sessions/{session}/context")
    assert context["detail"]["size"] > 0
    forked = await post(client, f"/api/sessions/{session}/fork", 201, title="another way")
    assert (await run_turn(client, forked["id"], script("From the fork.")))[-1].data["event"][
        "answer"
    ] == "From the fork."


async def test_a_server_of_the_folder_reaches_the_agent(client: httpx.AsyncClient, world: World) -> None:
    program = world.work / "server.py"
    program.write_text(SERVER)
    config = {"type": "local", "command": sys.executable, "args": [str(program)]}
    stored = await client.put(
        "/v1/config/mcp", params={"directory": str(world.work), "mcpName": "greeter"}, json=config
    )
    assert stored.status_code == 204
    session = (await post(client, "/api/sessions", 201, engine="claude", cwd=str(world.work)))["id"]
    async with stream(client, f"/api/sessions/{session}/events") as events:
        prompt = script(tool("mcp__greeter__greet", {}), "It said: $LAST")
        await post(client, f"/api/sessions/{session}/prompt", 202, content=prompt)
        told = await events.until_event("RequestOpened")
        request = told[-1].data["event"]["request"]
        assert request["tool"] == "mcp__greeter__greet"
        await post(client, f"/api/requests/{request['id']}/answer", behavior="allow")
        ended = (await events.until_event("TurnEnded"))[-1].data["event"]
    assert ended["answer"] == "It said: hello from the folder's server"


async def test_a_skill_of_the_folder_reaches_the_agent(client: httpx.AsyncClient, world: World, tmp_path: Path) -> None:
    skill = tmp_path / "shelf" / "greeting"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: greeting\ndescription: How to greet\n---\nSay hello warmly.\n")
    where = {"directory": str(world.work), "skillName": "manners"}
    sources = [{"type": "local", "source": str(skill.parent)}, {"type": "local", "source": "/no/such/folder"}]
    stored = await client.put("/v1/config/skills", params=where, json={"sources": sources})
    assert stored.status_code == 204
    session = (await post(client, "/api/sessions", 201, engine="claude", cwd=str(world.work)))["id"]
    told = await run_turn(client, session, script("Done."))
    notices = [each.data["event"]["text"] for each in told if each.event == "Notice"]
    assert any("/no/such/folder" in text for text in notices)
    commands = await get(client, f"/api/sessions/{session}/commands")
    assert any("greeting" in command["name"] for command in commands["commands"])


async def test_a_session_is_found_again_after_a_restart_of_the_server(
    client: httpx.AsyncClient, served: RunningServer, world: World, tmp_path: Path
) -> None:
    session = (await post(client, "/api/sessions", 201, engine="claude", cwd=str(world.work)))["id"]
    await run_turn(client, session, script("First."))
    token = served.token
    assert await asyncio.to_thread(served.stop) == 0
    with running_server(tmp_path, env=world.env) as again:
        headers = {"authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=again.url, headers=headers, timeout=60, trust_env=False) as anew:
            assert (await get(anew, "/api/sessions"))["sessions"][0]["id"] == session
            told = await run_turn(anew, session, script("Second."))
    assert told[-1].data["event"]["answer"] == "Second."
