"""`footplate serve` stopped or killed while an agent works: the next one goes on with it, over HTTP as before."""

from __future__ import annotations

import asyncio
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from footplate.testing.collector import ScriptedCollector
from footplate.testing.messages import script, tool
from tests.e2e.server import RunningServer, running_server
from tests.e2e.world import World, processes_with, wait_until_gone
from tests.unit.interfaces.http.acp_wire import Wire, is_method, number_of, prompt, text_of
from tests.unit.interfaces.http.reading import post, stream

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

TOKEN = "a-token-of-the-test"
LIVES_ON = {"FOOTPLATE__RUNTIME__REATTACH_GRACE_S": "120"}
ASKS = script(tool("Bash", {"command": "echo ran >> runs; echo ran"}), "It said: $LAST")


def reach(server: RunningServer) -> httpx.AsyncClient:
    headers = {"authorization": f"Bearer {TOKEN}"}
    return httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60, trust_env=False)


@pytest.fixture
def collector() -> Iterator[ScriptedCollector]:
    """Takes the traces of both servers."""
    with ScriptedCollector.start() as made:
        yield made


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_request_is_answered_at_the_next_server(
    world: World, tmp_path: Path, number: signal.Signals, collector: ScriptedCollector
) -> None:
    env = {**world.env, **LIVES_ON, "FOOTPLATE__OTEL__ENDPOINT": collector.url}
    with running_server(tmp_path, "--token", TOKEN, env=env) as first:
        async with reach(first) as client:
            session = (await post(client, "/api/sessions", 201, engine="claude", cwd=str(world.work)))["id"]
            async with stream(client, f"/api/sessions/{session}/events") as events:
                await post(client, f"/api/sessions/{session}/prompt", 202, content=ASKS)
                told = await events.until_event("RequestOpened")
        request = told[-1].data["event"]["request"]["id"]
        first.process.send_signal(number)
        first.process.wait(60)
    if number == signal.SIGTERM:
        assert "still running for 2m 00s: 1 agent at work; `footplate serve` takes over" in first.output
    with running_server(tmp_path, "--token", TOKEN, "--drain", "30", env=env) as second:
        second.wait_for(lambda lines: any(f"rejoined session {session}" in line for line in lines))
        async with reach(second) as client, stream(client, f"/api/sessions/{session}/events") as events:
            await post(client, f"/api/requests/{request}/answer", behavior="allow")
            ended = (await events.until_event("TurnEnded"))[-1].data["event"]
        assert ended["answer"] == "It said: ran"
        assert second.stop() == 0
    assert (world.work / "runs").read_text() == "ran\n"
    wait_until_gone(str(tmp_path))
    (turn,) = (span for span in collector.spans if not span.parent)
    assert (turn.name, turn.attributes["footplate.taken_over"]) == ("invoke_agent claude", True)
    below = {span.name: span.attributes for span in collector.spans if span.parent == turn.id}
    assert below["request"]["footplate.request.outcome"] == "applied"
    assert below["execute_tool"]["footplate.tool.ok"] is True


MOCK = {**LIVES_ON, "FOOTPLATE__ENGINES__MOCK__FORM": "stdio", "FOOTPLATE__HTTP__STOP_S": "1"}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_an_acp_client_goes_on_with_the_next_server(world: World, tmp_path: Path, number: signal.Signals) -> None:
    """Its connection, its session and its agent are there; its answer is understood under the id it was asked by."""
    env = {**world.env, **MOCK}
    with running_server(tmp_path, "--token", TOKEN, env=env) as first:
        async with reach(first) as client:
            wire = Wire(client, "/v1/acp/mine?agent=mock")
            await wire.begin()
            session = await wire.open(world.work)
            async with stream(client, wire.path) as events:
                turn = asyncio.create_task(
                    wire.post({"id": 9, "method": "session/prompt", "params": prompt(session, "permission")})
                )
                asked = (await events.until(is_method("session/request_permission")))[-1]
                first.process.send_signal(number)
                first.process.wait(60)
            turn.cancel()
            await asyncio.wait((turn,))
    with running_server(tmp_path, "--token", TOKEN, "--drain", "30", env=env) as second:
        second.wait_for(lambda lines: any(f"rejoined session {session}" in line for line in lines))
        async with reach(second) as client:
            wire = Wire(client, "/v1/acp/mine")
            option = asked.data["params"]["options"][0]["optionId"]
            chosen = {"outcome": {"outcome": "selected", "optionId": option}}
            async with stream(client, wire.path, **{"last-event-id": asked.id}) as events:
                await wire.post({"id": asked.data["id"], "result": chosen}, 202)
                told = await events.until(lambda told: "permission: " in text_of([told]))
            numbers = [number_of(each) for each in told]
            assert numbers == list(range(number_of(asked) + 1, number_of(asked) + 1 + len(numbers)))
            assert await wire.say(session, "tool") == "end_turn"
        assert second.stop() == 0
    wait_until_gone(str(tmp_path))


async def test_with_drain_a_turn_is_waited_for_and_nothing_is_left(world: World, tmp_path: Path) -> None:
    slow = script(tool("Bash", {"command": "touch made; sleep 2; echo slow"}), "It said: $LAST")
    with running_server(tmp_path, "--token", TOKEN, "--drain", "60", env={**world.env, **LIVES_ON}) as server:
        async with reach(server) as client:
            made = await post(client, "/api/sessions", 201, engine="claude", cwd=str(world.work))
            async with stream(client, f"/api/sessions/{made['id']}/events") as events:
                await post(client, f"/api/sessions/{made['id']}/prompt", 202, content=slow)
                request = (await events.until_event("RequestOpened"))[-1].data["event"]["request"]["id"]
                await post(client, f"/api/requests/{request}/answer", behavior="allow")
        assert server.stop(within=90) == 0
    assert "stopping: turns that run have 60 s" in server.output
    assert "did not end in time" not in server.output
    wait_until_gone(str(tmp_path))
    assert not processes_with(str(tmp_path))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_server_whose_data_folder_was_removed_stops_in_time_and_says_so(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Also when it was to leave its agents to the next one: nobody would find them."""
    with running_server(tmp_path, "--token", TOKEN, env=MOCK) as server:
        async with reach(server) as client:
            session = (await post(client, "/api/sessions", 201, engine="mock", cwd=str(tmp_path)))["id"]
            async with stream(client, f"/api/sessions/{session}/events") as events:
                await post(client, f"/api/sessions/{session}/prompt", 202, content="permission")
                await events.until_event("RequestOpened")
        shutil.rmtree(tmp_path / "data")
        before = len(server.lines)
        server.process.send_signal(number)
        assert server.process.wait(30) == 0
        gone = f"not stored: the data folder {tmp_path / 'data'} is gone, and every session with it"
        server.wait_for(lambda lines: {gone, "stopping: every agent and process is ended"} <= set(lines[before:]))
    assert "footplate.host" not in server.output, "the keeper closes in order, and need not be killed after ten seconds"
    wait_until_gone(str(tmp_path))
