"""Traces of a real server with the mock agent: the tree at a collector, a collector that is down, the extra missing."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from footplate.sdk import Allow, Client
from footplate.testing.collector import ScriptedCollector, TakenSpan
from tests.e2e.server import MINIMAL_PATH, running_server

pytestmark = [pytest.mark.long, pytest.mark.timeout(120)]


def _tree(spans: list[TakenSpan], root: TakenSpan) -> dict[str, object]:
    """What hangs under a span, by name, in the order of its beginning."""
    below = sorted((each for each in spans if each.parent == root.id), key=lambda each: each.start_ns)
    return {each.name: _tree(spans, each) for each in below}


async def test_turns_calls_and_requests_reach_the_collector_as_trees(tmp_path: Path) -> None:
    with ScriptedCollector.start() as collector:
        env = {
            "FOOTPLATE__OTEL__ENDPOINT": collector.url,
            "FOOTPLATE__OTEL__HEADERS__AUTHORIZATION": '{ env = "COLLECTOR_TOKEN" }',
            "COLLECTOR_TOKEN": "Bearer of-the-collector",
        }
        with running_server(tmp_path, env=env) as server:
            async with Client.connect(server.url, token=server.token) as client:
                session = await client.create_session("mock", cwd=str(tmp_path))
                await session.on_request(lambda _request: Allow())
                asked = await session.prompt("permission")
                assert asked.ok
                for prompt in ("subagent", "usage", "error"):
                    await session.prompt(prompt)
            assert server.stop() == 0
        assert {each["authorization"] for each in collector.headers} == {"Bearer of-the-collector"}
        spans = collector.spans
    turns = sorted((each for each in spans if not each.parent), key=lambda each: each.start_ns)
    assert [turn.name for turn in turns] == ["invoke_agent mock"] * 4
    assert [turn.failed for turn in turns] == [False, False, False, True]
    assert {turn.attributes["gen_ai.conversation.id"] for turn in turns} == {session.id}
    assert len({turn.trace for turn in turns}) == 4
    (call,) = (each for each in spans if each.parent == turns[0].id)
    assert _tree(spans, turns[0]) == {call.name: {"permission request": {}}}
    (request,) = (each for each in spans if each.parent == call.id)
    told = request.attributes
    assert (told["footplate.request.answer"], told["footplate.request.outcome"]) == ("allow", "applied")
    assert told["footplate.request.surface"]
    assert isinstance(told["footplate.request.waited_s"], float)
    assert _tree(spans, turns[1]) == {"execute_tool Task": {"execute_tool Grep": {}}}
    usage = turns[2].attributes
    assert (usage["gen_ai.usage.input_tokens"], usage["gen_ai.usage.output_tokens"]) == (1050, 150)
    names = {name for span in spans for name in span.attributes}
    assert [name for name in names if name.endswith((".messages", ".title", ".arguments", ".result"))] == []


async def test_with_the_collector_down_the_server_works_says_so_once_and_stops_in_time(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
    env = {"FOOTPLATE__OTEL__ENABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": nobody}
    with running_server(tmp_path, env=env) as server:
        async with Client.connect(server.url, token=server.token) as client:
            session = await client.create_session("mock", cwd=str(tmp_path))
            assert (await session.prompt("hello")).answer == "mock: hello"
        before = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - before < 20
        told = [line for line in server.lines if "level=" in line]
        assert len(told) == 1, server.output
        assert "the collector took no traces" in told[0]
        assert "refused" in told[0]


def test_switched_on_without_the_extra_it_refuses_to_start_and_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "shadow" / "opentelemetry").mkdir(parents=True)
    (tmp_path / "shadow" / "opentelemetry" / "__init__.py").write_text("raise ImportError('not installed')\n")
    ran = subprocess.run(
        [sys.executable, "-m", "footplate", "serve", "--port", "0"],
        env={
            "HOME": str(tmp_path),
            "PATH": MINIMAL_PATH,
            "FOOTPLATE_DATA_DIR": str(tmp_path / "data"),
            "FOOTPLATE__OTEL__ENDPOINT": "http://127.0.0.1:9",
            "PYTHONPATH": str(tmp_path / "shadow"),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "[otel]" in ran.stderr
    assert "pip install 'footplate[otel]==0.1.*'" in ran.stderr
