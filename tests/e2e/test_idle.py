"""`[runtime] idle_s`: an idle agent process ends after that time, and the next prompt resumes its conversation."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx
import pytest

from footplate.testing.messages import ScriptedMessages, script, tool
from tests.e2e import forgetful_agent
from tests.e2e.agents import AgentWorld
from tests.e2e.server import RunningServer, running_server
from tests.e2e.world import World, processes_with, wait_until_gone
from tests.unit.interfaces.http.reading import get, post, run_turn, stream

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

IDLE: Mapping[str, str] = {"FOOTPLATE__RUNTIME__IDLE_S": "1"}
LATEST_S = 15.0


def client_of(server: RunningServer, token: str = "") -> httpx.AsyncClient:
    headers = {"authorization": f"Bearer {token or server.token}"}
    return httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60, trust_env=False)


async def until_detached(client: httpx.AsyncClient, session: str, gone: Callable[[], bool]) -> float:
    """Wait until the session has no agent process; how long that took."""
    began = time.monotonic()
    async with asyncio.timeout(LATEST_S):
        while (await get(client, f"/api/sessions/{session}"))["attached"] or not gone():  # noqa: ASYNC110 - a process
            await asyncio.sleep(0.05)
    return time.monotonic() - began


def agents_of(home: Path, name: str) -> list[int]:
    """The processes of this test whose command line has the name of the agent."""
    return [pid for pid, command in processes_with(str(home)).items() if name in command and "footplate" not in command]


async def test_an_idle_claude_ends_and_the_next_prompt_resumes_it(world: World, tmp_path: Path) -> None:
    with running_server(tmp_path, env={**world.env, **IDLE}) as server:
        async with client_of(server) as client:
            session = (await post(client, "/api/sessions", 201, engine="claude", cwd=str(world.work)))["id"]
            await run_turn(client, session, script("First."))
            first = await get(client, f"/api/sessions/{session}")
            assert agents_of(world.home, "claude")
            took = await until_detached(client, session, lambda: not agents_of(world.home, "claude"))
            assert took > 0.5
            idle = await get(client, f"/api/sessions/{session}")
            assert (idle["state"], idle["attached"]) == ("idle", False)
            ended = (await run_turn(client, session, script("Second.")))[-1].data["event"]
            assert ended["answer"] == "Second."
            again = await get(client, f"/api/sessions/{session}")
            assert again["engine_session_id"] == first["engine_session_id"]
    assert "First." in str(world.bodies()[-1]), "the model has the first turn in its context"


async def test_a_claude_that_waits_for_an_answer_is_not_idle(world: World, tmp_path: Path) -> None:
    with running_server(tmp_path, env={**world.env, **IDLE}) as server:
        async with client_of(server) as client:
            session = (await post(client, "/api/sessions", 201, engine="claude", cwd=str(world.work)))["id"]
            path = f"/api/sessions/{session}"
            async with stream(client, f"{path}/events") as events:
                prompt = script(tool("Bash", {"command": "touch made"}), "Ran.")
                await post(client, f"{path}/prompt", 202, content=prompt)
                request = (await events.until_event("RequestOpened"))[-1].data["event"]["request"]["id"]
                await asyncio.sleep(3.0)
                assert (await get(client, path))["attached"]
                await post(client, f"/api/requests/{request}/answer", behavior="allow")
                assert (await events.until_event("TurnEnded"))[-1].data["event"]["answer"] == "Ran."
            await until_detached(client, session, lambda: not agents_of(world.home, "claude"))


async def test_a_reattached_claude_ends_when_it_is_idle(world: World, tmp_path: Path) -> None:
    env = {**world.env, **IDLE, "FOOTPLATE__RUNTIME__REATTACH_GRACE_S": "60"}
    with running_server(tmp_path, env=env) as server:
        token = server.token
        async with client_of(server) as client:
            session = (await post(client, "/api/sessions", 201, engine="claude", cwd=str(world.work)))["id"]
            path = f"/api/sessions/{session}"
            async with stream(client, f"{path}/events") as events:
                prompt = script(tool("Bash", {"command": "touch made"}), "Ran.")
                await post(client, f"{path}/prompt", 202, content=prompt)
                request = (await events.until_event("RequestOpened"))[-1].data["event"]["request"]["id"]
        before = agents_of(world.home, "claude")
        server.process.kill()
        server.process.wait()
    with running_server(tmp_path, env=env) as server:
        async with client_of(server, token) as client:
            await asyncio.sleep(2.0)
            assert agents_of(world.home, "claude") == before, "it waits for an answer"
            async with stream(client, f"{path}/events") as events:
                await post(client, f"/api/requests/{request}/answer", behavior="allow")
                assert (await events.until_event("TurnEnded"))[-1].data["event"]["answer"] == "Ran."
            await until_detached(client, session, lambda: not agents_of(world.home, "claude"))
            frames = await get(client, f"{path}/frames", direction="in", limit=5000)
            assert any(line["type"] == "result success" for line in frames["frames"]), "recorded after the restart, too"


@pytest.fixture
def codex(tmp_path: Path, messages: ScriptedMessages, monkeypatch: pytest.MonkeyPatch) -> AgentWorld:
    monkeypatch.setattr("tests.unit.interfaces.http.reading.DEADLINE_S", 90)
    return AgentWorld(tmp_path, messages, f"codex-{tmp_path.name}", "codex")


async def test_an_idle_codex_ends_and_the_next_prompt_resumes_it(codex: AgentWorld, tmp_path: Path) -> None:
    with running_server(tmp_path, env={**codex.env, **IDLE}) as server:
        async with client_of(server) as client:
            session = (await post(client, "/api/sessions", 201, engine="codex", cwd=str(codex.work)))["id"]
            await run_turn(client, session, script("First."))
            first = await get(client, f"/api/sessions/{session}")
            await until_detached(client, session, lambda: not agents_of(codex.home, "codex"))
            ended = (await run_turn(client, session, script("Second.")))[-1].data["event"]
            assert ended["answer"] == "Second."
            again = await get(client, f"/api/sessions/{session}")
            assert again["engine_session_id"] == first["engine_session_id"]
            frames = await get(client, f"/api/sessions/{session}/frames", limit=5000)
            assert {"initialize", "thread/start", "turn/start"} <= {line["type"] for line in frames["frames"]}
    wait_until_gone(str(codex.home))


async def test_an_idle_command_that_speaks_acp_ends_and_is_resumed(tmp_path: Path) -> None:
    command = f'["{sys.executable}", "-m", "footplate", "mock-agent"]'
    file = tmp_path / "footplate.toml"
    file.write_text(
        f'[runtime]\nidle_s = 1\n[acp_agents.tiny]\ncommand = {command}\nenv_pass = ["FOOTPLATE_DATA_DIR"]\n'
    )
    with running_server(tmp_path, env={"FOOTPLATE_CONFIG": str(file)}) as server:
        async with client_of(server) as client:
            session = (await post(client, "/api/sessions", 201, engine="tiny", cwd=str(tmp_path)))["id"]
            await run_turn(client, session, "hello")
            await until_detached(client, session, lambda: True)
            ended = (await run_turn(client, session, "history"))[-1].data["event"]
            assert "hello" in ended["answer"], "the agent has its conversation again"


def with_forgetful(folder: Path) -> dict[str, str]:
    """Settings with an agent that can neither load nor resume, and one that can."""
    commands = {"forgetful": forgetful_agent.COMMAND, "tiny": (sys.executable, "-m", "footplate", "mock-agent")}
    agents = [f"[acp_agents.{name}]\ncommand = {json.dumps(command)}\n" for name, command in commands.items()]
    file = folder / "footplate.toml"
    file.write_text("[runtime]\nidle_s = 1\n" + "".join(agents))
    return {"FOOTPLATE_CONFIG": str(file)}


async def test_an_idle_agent_that_cannot_resume_keeps_its_process(tmp_path: Path) -> None:
    with running_server(tmp_path, env=with_forgetful(tmp_path)) as server:
        async with client_of(server) as client:
            kept = (await post(client, "/api/sessions", 201, engine="forgetful", cwd=str(tmp_path)))["id"]
            other = (await post(client, "/api/sessions", 201, engine="tiny", cwd=str(tmp_path)))["id"]
            await run_turn(client, kept, "hello")
            await run_turn(client, other, "hello")
            await until_detached(client, other, lambda: True)
            assert (await get(client, f"/api/sessions/{kept}"))["attached"], "it was idle for longer"
            assert (await run_turn(client, kept, "again"))[-1].data["event"]["answer"] == "prompt 2"


async def test_idle_agents_that_cannot_resume_outlive_a_restart_of_the_service(tmp_path: Path) -> None:
    env = {**with_forgetful(tmp_path), "FOOTPLATE__RUNTIME__REATTACH_GRACE_S": "60"}
    with running_server(tmp_path, env=env) as server:
        token = server.token
        async with client_of(server) as client:
            sessions = [
                (await post(client, "/api/sessions", 201, engine="forgetful", cwd=str(tmp_path)))["id"] for _ in "ab"
            ]
            for session in sessions:
                await run_turn(client, session, "hello")
        server.stop()
    with running_server(tmp_path, "--drain", "5", env=env) as server:
        async with client_of(server, token) as client:
            for session in sessions:
                assert (await run_turn(client, session, "again"))[-1].data["event"]["answer"] == "prompt 2"
            other = (await post(client, "/api/sessions", 201, engine="tiny", cwd=str(tmp_path)))["id"]
            await run_turn(client, other, "hello")
            await until_detached(client, other, lambda: True)
            for session in sessions:
                assert (await get(client, f"/api/sessions/{session}"))["attached"]
    wait_until_gone(str(tmp_path))
