"""Real OpenCode, Gemini CLI and Qwen Code behind the HTTP API: prompt, permission, denial, cancel, kill."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from footplate.testing.messages import ScriptedMessages, say, script, tool
from tests.e2e.agents import AgentWorld
from tests.e2e.server import running_server
from tests.e2e.world import processes_with, wait_until_gone
from tests.unit.interfaces.http.reading import Stream, get, post, stream

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

START_S = 90
"""These agents take 5 to 10 seconds until they speak, on a quiet machine."""


@pytest.fixture(params=["opencode", "gemini", "qwen"])
def agents(
    request: pytest.FixtureRequest, tmp_path: Path, messages: ScriptedMessages, monkeypatch: pytest.MonkeyPatch
) -> Iterator[AgentWorld]:
    """One agent in a world of its own."""
    monkeypatch.setattr("tests.unit.interfaces.http.reading.DEADLINE_S", START_S)
    made = AgentWorld(tmp_path, messages, request.node.name.replace("[", "-").strip("]"), request.param)
    yield made
    wait_until_gone(str(made.home))


@pytest.fixture
async def client(agents: AgentWorld, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server in that world."""
    with running_server(tmp_path, env=agents.env) as served:
        async with _client(served.url, served.token) as made:
            yield made


def _client(url: str, token: str) -> httpx.AsyncClient:
    headers = {"authorization": f"Bearer {token}"}
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=60, trust_env=False)


async def _ask(client: httpx.AsyncClient, session: str, events: Stream, prompt: str) -> dict[str, object]:
    """Give a prompt; the request that its tool brings about."""
    await post(client, f"/api/sessions/{session}/prompt", 202, content=prompt)
    opened: dict[str, object] = (await events.until_event("RequestOpened"))[-1].data["event"]["request"]
    return opened


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + START_S
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} was never made"
        time.sleep(0.05)


async def test_an_agent_is_driven_over_http_from_prompt_to_kill(client: httpx.AsyncClient, agents: AgentWorld) -> None:
    found = await get(client, f"/v1/agents/{agents.agent}", config="true")
    assert found["installed"]
    session = (await post(client, "/api/sessions", 201, engine=agents.agent, cwd=str(agents.work)))["id"]
    path = f"/api/sessions/{session}"
    made = agents.work / "made"
    async with stream(client, f"{path}/events") as events:
        # a tool that is allowed
        call = agents.shell(f"echo ran > {made}; echo did it")
        asked = await _ask(client, session, events, script(tool(*call), "It said: $LAST"))
        assert asked["kind"] == "permission"
        assert str(made) in str(asked["title"])
        assert not made.exists()
        await post(client, f"/api/requests/{asked['id']}/answer", behavior="allow")
        told = await events.until_event("TurnEnded")
        ended = told[-1].data["event"]
        assert ended["ok"], ended
        assert "did it" in ended["answer"]
        assert ended["usage"]["input_tokens"] > 0
        assert made.read_text() == "ran\n"
        assert [each.event for each in told].count("RequestApplied") == 1
        tools = [each.data["event"] for each in told if each.event == "ToolEnded"]
        assert [each["outcome"] for each in tools] == ["completed"]
        made.unlink()

        # one that is not
        asked = await _ask(client, session, events, script(tool(*call), "Then not."))
        await post(client, f"/api/requests/{asked['id']}/answer", behavior="deny", message="no")
        told = await events.until_event("TurnEnded")
        assert not made.exists()
        assert [each.data["event"]["outcome"] for each in told if each.event == "ToolEnded"] == ["denied"]

        # a turn that is cancelled while the model is silent
        before = sum(each.asks_model for each in agents.requests())
        await post(client, f"{path}/prompt", 202, content=script(say("never", hang=True)))
        await events.until_event("TurnStarted")
        await asyncio.to_thread(agents.wait_for_requests, before + 1)
        await post(client, f"{path}/interrupt", 202)
        ended = (await events.until_event("TurnEnded"))[-1].data["event"]
        assert (ended["ok"], ended["stop_reason"]) == (False, "interrupted")

        # a session that is closed while a command runs: the whole tree is gone
        slow = agents.shell(f"echo $$ > {made}; sleep 300")
        asked = await _ask(client, session, events, script(tool(*slow), "never"))
        await post(client, f"/api/requests/{asked['id']}/answer", behavior="allow")
        await asyncio.to_thread(_wait_for, made)
        await post(client, f"{path}/close")
        told = await events.until_event("SessionClosed")
        lost = [each.data["event"] for each in told if each.event == "TurnEnded"]
        assert [each["ok"] for each in lost] == [False]
    left = {pid: line for pid, line in processes_with(str(agents.home)).items() if "footplate" not in line}
    assert left == {}


@pytest.mark.parametrize("agents", ["gemini"], indirect=True)
async def test_a_request_of_an_agent_outlives_a_restart_of_the_service(agents: AgentWorld, tmp_path: Path) -> None:
    env = {**agents.env, "FOOTPLATE__RUNTIME__REATTACH_GRACE_S": "120"}
    made = agents.work / "made"
    call = agents.shell(f"echo ran > {made}")
    with running_server(tmp_path, env=env) as first:
        async with _client(first.url, token := first.token) as client:
            session = (await post(client, "/api/sessions", 201, engine=agents.agent, cwd=str(agents.work)))["id"]
            path = f"/api/sessions/{session}"
            async with stream(client, f"{path}/events") as events:
                asked = await _ask(client, session, events, script(tool(*call), "It is done."))
        assert await asyncio.to_thread(first.stop) == 0
    with running_server(tmp_path, env=env) as second:
        async with _client(second.url, token) as client:
            view = await get(client, path)
            assert view["state"] == "waiting"
            async with stream(client, f"{path}/events?after={view['last_seq']}") as events:
                await post(client, f"/api/requests/{asked['id']}/answer", behavior="allow")
                ended = (await events.until_event("TurnEnded"))[-1].data["event"]
                assert (ended["ok"], ended["answer"]) == (True, "It is done.")
                assert made.read_text() == "ran\n"
                assert (await client.post(f"{path}/mode", json={"mode": "plan"})).is_success
                changed = await events.until_event("ModeChanged")
                assert changed[-1].data["event"]["mode"] == "plan"
            await post(client, f"{path}/close")
