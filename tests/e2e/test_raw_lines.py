"""Raw lines of real agents behind the HTTP API: both directions, stderr, without secrets, and in the debug log."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from footplate.testing.messages import script, tool
from tests.e2e.server import RunningServer, running_server
from tests.e2e.world import World
from tests.unit.interfaces.http.reading import Json, get, post, run_turn, stream

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

HEADER = "Bearer header-of-the-test"
VARIABLE = "variable-of-the-test"
STDERR = "stderr-of-the-test"


def client_of(server: RunningServer, token: str = "") -> httpx.AsyncClient:
    headers = {"authorization": f"Bearer {token or server.token}"}
    return httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60, trust_env=False)


async def frames_when(client: httpx.AsyncClient, session: str, seen: Callable[[list[Json]], bool]) -> list[Json]:
    """All raw lines of a session, once they show what is expected."""
    async with asyncio.timeout(30):
        while True:
            page = await get(client, f"/api/sessions/{session}/frames", limit=5000)
            assert not page["more"]
            if seen(page["frames"]):
                return list(page["frames"])
            await asyncio.sleep(0.1)


def wrap(world: World) -> None:
    """Have the CLI say something on stderr before it starts."""
    link = world.home / "bin" / "claude"
    real = link.readlink()
    link.unlink()
    text = f'case "$*" in *stream-json*) echo "{STDERR}: Authorization: {HEADER}" >&2;; esac'
    link.write_text(f'#!/bin/sh\n{text}\nexec {real} "$@"\n')
    link.chmod(0o755)


async def test_a_live_claude_leaves_its_raw_lines_and_no_secret_of_its_settings(world: World, tmp_path: Path) -> None:
    wrap(world)
    settings = {"env": {"ACCESS": VARIABLE}}
    (world.home / ".claude").mkdir(exist_ok=True)
    (world.home / ".claude" / "settings.json").write_text(json.dumps(settings))
    with running_server(tmp_path, "--log-level", "debug", env=world.env) as server:
        async with client_of(server) as client:
            remote = {"type": "remote", "url": "http://127.0.0.1:9/mcp?token=abc", "headers": {"Authorization": HEADER}}
            stored = await client.put(
                "/v1/config/mcp", params={"directory": str(world.work), "mcpName": "far"}, json=remote
            )
            assert stored.status_code == 204
            session = (await post(client, "/api/sessions", 201, engine="claude", cwd=str(world.work)))["id"]
            path = f"/api/sessions/{session}"
            async with stream(client, f"{path}/events") as events:
                prompt = script(tool("Bash", {"command": "touch made"}), "Made.")
                await post(client, f"{path}/prompt", 202, content=prompt)
                request = (await events.until_event("RequestOpened"))[-1].data["event"]["request"]["id"]
                await post(client, f"/api/requests/{request}/answer", behavior="allow")
                await events.until_event("TurnEnded")
            frames = await frames_when(
                client, session, lambda lines: any(line["type"] == "result success" for line in lines)
            )
        log = server.output
    kinds = {(line["direction"], line["type"]) for line in frames}
    assert {
        ("out", "control_request initialize"),
        ("in", "control_response success"),
        ("in", "system init"),
        ("in", "stream_event content_block_delta text_delta"),
        ("in", "control_request can_use_tool"),
        ("out", "control_response success"),
        ("in", "result success"),
        ("err", "stderr"),
    } <= kinds
    assert [line["number"] for line in frames] == list(range(1, len(frames) + 1))
    (error,) = [line for line in frames if line["direction"] == "err" and STDERR in line["raw"]]
    assert error["raw"] == f"{STDERR}: Authorization: ***"
    # The CLI answers with its settings and the variables of the person's own file; those values are not stored.
    assert any('"ACCESS":"***"' in line["raw"] for line in frames), "the CLI was asked for its settings"
    whole = "\n".join(line["raw"] for line in frames)
    assert VARIABLE not in whole
    assert HEADER not in whole
    assert "touch made" in whole
    # Rows 6 and 12: the debug log names inner types, and has lines of stderr with their session.
    assert 'type="stream_event content_block_delta text_delta"' in log
    assert 'type="control_request can_use_tool"' in log
    assert any(STDERR in line and f"session={session}" in line for line in log.splitlines())
    assert HEADER not in log
    assert VARIABLE not in log


async def test_a_restart_goes_on_with_the_numbers_and_a_fresh_process_is_recorded(world: World, tmp_path: Path) -> None:
    with running_server(tmp_path, env=world.env) as server:
        async with client_of(server) as client:
            session = (await post(client, "/api/sessions", 201, engine="claude", cwd=str(world.work)))["id"]
            await run_turn(client, session, script("One."))
        token = server.token
    with running_server(tmp_path, env=world.env) as server:
        async with client_of(server, token) as client:
            # What the first service had in memory was stored when it stopped in order.
            before = await get(client, f"/api/sessions/{session}/frames", limit=5000)
            assert any(line["type"] == "result success" for line in before["frames"])
            await run_turn(client, session, script("Two."))
            frames = await frames_when(
                client, session, lambda lines: sum(line["type"] == "result success" for line in lines) == 2
            )
    assert [line["number"] for line in frames] == list(range(1, len(frames) + 1))
    assert sum(line["type"] == "control_request initialize" for line in frames) == 2
