"""The mode that skips permissions, on the real CLI: what it says as root, and what every surface does about it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from footplate.config.settings import Settings
from footplate.engines.claude.launch import ROOT_REFUSAL, SANDBOXED
from footplate.host.process import Keeper
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.store.sqlite import SqliteStore
from footplate.testing.messages import script, tool
from tests.e2e.server import running_server
from tests.e2e.world import World
from tests.unit.interfaces.http.reading import post, run_turn, stream
from tests.unit.runtime.acp.client import RpcFailed, connected

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(180),
    pytest.mark.skipif(os.geteuid() != 0, reason="NOT ROOT: what the CLI refuses as root is not tried"),
]
BYPASS = "bypassPermissions"
PLANNING = (tool("Write", {"file_path": "$PLANFILE", "content": "# Plan\n1. Do it"}), tool("ExitPlanMode", {}))


def ask_cli(world: World, **env: str) -> subprocess.CompletedProcess[str]:
    """The CLI by itself, with the mode."""
    return subprocess.run(
        ["claude", "-p", "--permission-mode", BYPASS, "--output-format", "json", "--", script("Hello.")],
        env={**world.env, **env},
        cwd=world.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@asynccontextmanager
async def served(world: World, folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server in this world."""
    with running_server(folder, env=world.env) as server:
        headers = {"authorization": f"Bearer {server.token}"}
        async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60, trust_env=False) as client:
            yield client


@pytest.mark.both_versions
def test_the_cli_refuses_in_these_words_and_only_these_variables_lift_it(world: World) -> None:
    refused = ask_cli(world)
    assert (refused.returncode, refused.stderr.strip()) == (1, ROOT_REFUSAL)
    assert ask_cli(world, IS_SANDBOX="true").stderr.strip() == ROOT_REFUSAL
    assert [ask_cli(world, **{name: "1"}).returncode for name in SANDBOXED] == [0, 0]


async def test_a_session_of_an_assumed_sandbox_skips_permissions(world: World, tmp_path: Path) -> None:
    world.env["FOOTPLATE__ENGINES__CLAUDE__ASSUME_SANDBOX"] = "true"
    async with served(world, tmp_path) as client:
        session = await post(client, "/api/sessions", 201, engine="claude", cwd=str(world.work), mode=BYPASS)
        prompt = script(tool("Bash", {"command": "touch made; echo ran"}), "It said: $LAST")
        events = await run_turn(client, session["id"], prompt)
    assert events[-1].data["event"]["answer"] == "It said: ran"
    assert not [event for event in events if event.event == "RequestOpened"]
    assert (world.work / "made").exists()


async def test_the_command_line_refuses_it_before_a_session_exists(world: World) -> None:
    asked = world.footplate("sessions", "open", "--engine", "claude", "--mode", BYPASS)
    assert asked.returncode != 0
    assert ROOT_REFUSAL in asked.stderr
    assert world.footplate("sessions", "list").stderr == "no sessions\n"


async def test_a_plan_is_not_approved_into_a_mode_that_the_process_cannot_have(world: World, tmp_path: Path) -> None:
    async with served(world, tmp_path) as client:
        session = await post(client, "/api/sessions", 201, engine="claude", cwd=str(world.work), mode="plan")
        async with stream(client, f"/api/sessions/{session['id']}/events") as events:
            await post(client, f"/api/sessions/{session['id']}/prompt", 202, content=script(*PLANNING, "Done."))
            opened = (await events.until_event("RequestOpened"))[-1]
            request = opened.data["event"]["request"]["id"]
            problem = await post(client, f"/api/requests/{request}/answer", 400, behavior="allow", mode=BYPASS)
            assert "not launched with --dangerously-skip-permissions" in problem["detail"]
            await post(client, f"/api/requests/{request}/answer", behavior="allow", mode="acceptEdits")
            ended = (await events.until_event("TurnEnded"))[-1].data["event"]
    assert ended["answer"] == "Done."


async def test_an_editor_is_refused_with_the_same_reason(world: World, tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store")
    async with Keeper.start() as keeper:
        services = Services(store, keeper, settings=Settings(), environ=world.env, data=tmp_path / "data")
        async with Hub.open(services) as hub, connected(hub, services, "claude") as client:
            opened = await client.call("session/new", cwd=str(world.work), mcpServers=[])
            session = opened["sessionId"]
            assert BYPASS not in [mode["id"] for mode in opened["modes"]["availableModes"]]
            with pytest.raises(RpcFailed, match="root/sudo"):
                await client.call("session/set_mode", sessionId=session, modeId=BYPASS)
            with pytest.raises(RpcFailed, match="root/sudo"):
                await client.call("session/set_config_option", sessionId=session, configId="mode", value=BYPASS)
            options = {"claudeCode": {"options": {"permissionMode": BYPASS}}}
            with pytest.raises(RpcFailed, match="root/sudo"):
                await client.call("session/new", cwd=str(world.work), mcpServers=[], _meta=options)
            await client.call("session/set_mode", sessionId=session, modeId="plan")
    await store.close()
