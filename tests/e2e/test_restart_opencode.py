"""A real ACP agent outlives the service that had it: what it asks is answered by the next one, once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from footplate.testing.messages import ScriptedMessages, script, tool
from tests.e2e.agents import AgentWorld
from tests.e2e.server import RunningServer, running_server
from tests.e2e.world import wait_until_gone
from tests.unit.interfaces.http.reading import post, stream

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

START_S = 90
LIVES_ON = {"FOOTPLATE__RUNTIME__REATTACH_GRACE_S": "120"}


@pytest.fixture
def agents(tmp_path: Path, messages: ScriptedMessages, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentWorld]:
    """OpenCode in a world of its own."""
    monkeypatch.setattr("tests.unit.interfaces.http.reading.DEADLINE_S", START_S)
    made = AgentWorld(tmp_path, messages, "restart-opencode", "opencode")
    yield made
    wait_until_gone(str(made.home))


def reach(server: RunningServer) -> httpx.AsyncClient:
    headers = {"authorization": "Bearer t"}
    return httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60, trust_env=False)


async def test_a_permission_outlives_the_service(agents: AgentWorld, tmp_path: Path) -> None:
    env = {**agents.env, **LIVES_ON}
    made = agents.work / "made"
    ask = script(tool(*agents.shell(f"echo ran >> {made}; echo did it")), "It said: $LAST")
    with running_server(tmp_path, "--token", "t", env=env) as first:
        async with reach(first) as client:
            session = (await post(client, "/api/sessions", 201, engine=agents.agent, cwd=str(agents.work)))["id"]
            async with stream(client, f"/api/sessions/{session}/events") as events:
                await post(client, f"/api/sessions/{session}/prompt", 202, content=ask)
                request = (await events.until_event("RequestOpened"))[-1].data["event"]["request"]["id"]
                await events.until(lambda told: told.data["event"].get("state") == "waiting")
        first.process.send_signal(signal.SIGKILL)
        first.process.wait(60)
    with running_server(tmp_path, "--token", "t", "--drain", "30", env=env) as second:
        second.wait_for(lambda lines: any(f"rejoined session {session}" in line for line in lines))
        async with reach(second) as client, stream(client, f"/api/sessions/{session}/events") as events:
            assert not made.exists()
            await post(client, f"/api/requests/{request}/answer", behavior="allow")
            told = await events.until_event("TurnEnded")
        ended = told[-1].data["event"]
        assert ended["ok"], ended
        assert "did it" in ended["answer"]
        assert [each.event for each in told].count("RequestApplied") == 1
        assert [each.event for each in told].count("TurnStarted") == 1
        assert second.stop() == 0
    assert made.read_text() == "ran\n"
