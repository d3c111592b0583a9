"""Real Codex by its app-server over HTTP: approve, decline, edit, ask, steer, interrupt, resume, fork, kill."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from footplate.testing.messages import ScriptedMessages, say, script, tool
from tests.e2e.agents import AgentWorld
from tests.e2e.server import RunningServer, running_server
from tests.e2e.world import processes_with, wait_until_gone
from tests.unit.interfaces.http.reading import Json, Stream, get, post, stream

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

START_S = 60
PATCH = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch\nEOF"


@pytest.fixture
def codex(tmp_path: Path, messages: ScriptedMessages, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentWorld]:
    """Codex in a world of its own."""
    monkeypatch.setattr("tests.unit.interfaces.http.reading.DEADLINE_S", START_S)
    made = AgentWorld(tmp_path, messages, f"codex-{tmp_path.name}", "codex")
    yield made
    wait_until_gone(str(made.home))


@pytest.fixture
async def served(codex: AgentWorld, tmp_path: Path) -> AsyncIterator[RunningServer]:
    """A server in that world."""
    with running_server(tmp_path, env=codex.env) as server:
        yield server


@pytest.fixture
async def client(served: RunningServer) -> AsyncIterator[httpx.AsyncClient]:
    """A client of it."""
    headers = {"authorization": f"Bearer {served.token}"}
    async with httpx.AsyncClient(base_url=served.url, headers=headers, timeout=60, trust_env=False) as made:
        yield made


async def _open(client: httpx.AsyncClient, codex: AgentWorld, mode: str) -> str:
    made = await post(client, "/api/sessions", 201, engine="codex", cwd=str(codex.work), mode=mode)
    return str(made["id"])


async def _ask(client: httpx.AsyncClient, session: str, events: Stream, prompt: str) -> Json:
    """Give a prompt; the request that it brings about."""
    await post(client, f"/api/sessions/{session}/prompt", 202, content=prompt)
    opened: Json = (await events.until_event("RequestOpened"))[-1].data["event"]["request"]
    return opened


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + START_S
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} was never made"
        time.sleep(0.05)


async def test_commands_and_edits_are_approved_or_declined_and_a_kill_leaves_nothing(
    client: httpx.AsyncClient, codex: AgentWorld
) -> None:
    session = await _open(client, codex, "ask")
    path = f"/api/sessions/{session}"
    made, hello = codex.work / "made", codex.work / "hello.txt"
    async with stream(client, f"{path}/events") as events:
        call = codex.shell(f"echo ran > {made}; echo did it")
        asked = await _ask(client, session, events, script(tool(*call), "It said: $LAST"))
        assert str(made) in asked["title"]
        assert not made.exists()
        await post(client, f"/api/requests/{asked['id']}/answer", behavior="allow")
        told = await events.until_event("TurnEnded")
        ended = told[-1].data["event"]
        assert ended["ok"]
        assert "did it" in ended["answer"]
        assert ended["usage"]["input_tokens"] == 20, "two calls of the model, ten tokens each"
        assert [each.event for each in told].count("RequestApplied") == 1
        assert made.read_text() == "ran\n"
        made.unlink()

        asked = await _ask(client, session, events, script(tool(*call), "Then not."))
        await post(client, f"/api/requests/{asked['id']}/answer", behavior="deny")
        told = await events.until_event("TurnEnded")
        assert [each.data["event"]["outcome"] for each in told if each.event == "ToolEnded"] == ["denied"]
        assert told[-1].data["event"]["usage"]["input_tokens"] == 20, "that of the turn, not of the thread"
        assert not made.exists()

        asked = await _ask(client, session, events, script(tool(*codex.shell(PATCH)), "Edited."))
        assert asked["tool"] == "apply_patch"
        assert not hello.exists()
        await post(client, f"/api/requests/{asked['id']}/answer", behavior="allow")
        told = await events.until_event("TurnEnded")
        [edit] = [each.data["event"] for each in told if each.event == "ToolEnded"]
        assert edit["detail"]["changes"] == [{"path": str(hello), "kind": "add", "new_text": "hello\n"}]
        assert hello.read_text() == "hello\n"

        asked = await _ask(client, session, events, script(tool(*codex.shell(f"touch {made}; sleep 300")), "never"))
        await post(client, f"/api/requests/{asked['id']}/answer", behavior="allow")
        await asyncio.to_thread(_wait_for, made)
        await post(client, f"{path}/close")
        told = await events.until_event("SessionClosed")
        assert [each.data["event"]["ok"] for each in told if each.event == "TurnEnded"] == [False]
    left = {pid: line for pid, line in processes_with(str(codex.home)).items() if "footplate" not in line}
    assert left == {}


async def test_a_question_is_answered_and_a_turn_steered_interrupted_resumed_and_forked(
    client: httpx.AsyncClient, codex: AgentWorld, served: RunningServer, tmp_path: Path
) -> None:
    session = await _open(client, codex, "plan")
    path = f"/api/sessions/{session}"
    option = [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]
    question = {"id": "color", "header": "Color", "question": "Which color?", "options": option}
    async with stream(client, f"{path}/events") as events:
        asked = await _ask(
            client, session, events, script(tool("request_user_input", {"questions": [question]}), "You said: $LAST")
        )
        assert asked["kind"] == "question"
        await post(client, f"/api/requests/{asked['id']}/answer", answers={"Which color?": "Blue"})
        ended = (await events.until_event("TurnEnded"))[-1].data["event"]
        assert "Blue" in ended["answer"]

        before = sum(each.asks_model for each in codex.requests())
        await post(client, f"{path}/prompt", 202, content=script(say("never", hang=True)))
        await asyncio.to_thread(codex.wait_for_requests, before + 1)
        await post(client, f"{path}/prompt", 202, content="look here too", mode="steer")
        await events.until_event("PromptSteered")
        await post(client, f"{path}/interrupt", 202)
        ended = (await events.until_event("TurnEnded"))[-1].data["event"]
        assert (ended["ok"], ended["stop_reason"]) == (False, "interrupted")
    token = served.token
    assert await asyncio.to_thread(served.stop) == 0
    with running_server(tmp_path, env=codex.env) as again:
        headers = {"authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=again.url, headers=headers, timeout=60, trust_env=False) as anew:
            view = await get(anew, path)
            async with stream(anew, f"{path}/events?after={view['last_seq']}") as events:
                await post(anew, f"{path}/prompt", 202, content=script("Second."))
                told = await events.until_event("TurnEnded")
            assert told[-1].data["event"]["answer"] == "Second."
            assert next(each for each in told if each.event == "EngineAttached").data["event"]["reason"] == "resumed"
            forked = (await post(anew, f"{path}/fork", 201))["id"]
            async with stream(anew, f"/api/sessions/{forked}/events") as events:
                await post(anew, f"/api/sessions/{forked}/prompt", 202, content=script("From the fork."))
                told = await events.until_event("TurnEnded")
            assert told[-1].data["event"]["answer"] == "From the fork."
    assert "Which color?" in str(codex.bodies()[-1]), "the fork knows the past"
