"""The official ACP TypeScript SDK as a client of `/acp`, over HTTP and over WebSocket: mock and the real Claude CLI."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from footplate.config.settings import Settings
from footplate.host.process import Keeper
from footplate.interfaces.http.api import open_api
from footplate.interfaces.http.app import build_app
from footplate.interfaces.http.guard import Doors
from footplate.interfaces.http.serving import bind, listen
from footplate.runtime.access import Access
from footplate.runtime.hub import Hub
from footplate.runtime.service import Service
from footplate.runtime.services import Services
from footplate.store.sqlite import SqliteStore
from footplate.testing.messages import script, tool
from tests.acp_schema import check
from tests.e2e.world import ROOT, World
from tests.unit.interfaces.http.served import TOKEN

pytestmark = pytest.mark.timeout(180)
SCRIPT = ROOT / "tests" / "agents" / "acp_client.mjs"
NODE = shutil.which("node") or "node"
PATIENCE_S = 120


@asynccontextmanager
async def serve(world: World, folder: Path) -> AsyncIterator[str]:
    """A server on a real file and a real socket, in this world; its address."""
    async with AsyncExitStack() as stack:
        store = await SqliteStore.open(folder / "store")
        stack.push_async_callback(store.close)
        keeper = await stack.enter_async_context(Keeper.start())
        environ = {**world.env, "FOOTPLATE_MOCK_PACE_MS": "0"}
        services = Services(store, keeper, settings=Settings(), environ=environ, data=folder / "data")
        hub = await stack.enter_async_context(Hub.open(services))
        access = await Access.load(store, chosen=TOKEN)
        api = await stack.enter_async_context(open_api(Service(hub, services, folder / "data"), access))
        listening = await stack.enter_async_context(listen(build_app(api, Doors()), api, bind("127.0.0.1", 0)))
        yield listening.url


async def play(world: World, folder: Path, transport: str, agent: str, **scenario: object) -> Any:
    """What the SDK's client saw."""
    async with serve(world, folder) as url:
        address = f"{url if transport == 'http' else url.replace('http', 'ws', 1)}/acp?agent={agent}"
        command = (NODE, str(SCRIPT), transport, address, TOKEN, str(world.work), json.dumps(scenario))
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(world.home)}
        node = await asyncio.create_subprocess_exec(
            *command, env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        try:
            async with asyncio.timeout(PATIENCE_S):
                out, err = await node.communicate()
        finally:
            if node.returncode is None:
                node.kill()
                await node.wait()
        assert node.returncode == 0, err.decode()
        assert not err, err.decode()
    seen = json.loads(out)
    for each in seen["updates"]:
        check("SessionNotification", each)
    return seen


def text(seen: Any, upto: int | None = None) -> str:
    chunks = [each["update"] for each in seen["updates"][:upto]]
    return "".join(each["content"]["text"] for each in chunks if each["sessionUpdate"] == "agent_message_chunk")


@pytest.mark.parametrize("transport", ["http", "ws"])
async def test_the_official_sdk_drives_the_mock_agent(world: World, tmp_path: Path, transport: str) -> None:
    prompts = ["stream 5", "permission", "question", "hang", "error", "hello"]
    seen = await play(world, tmp_path, transport, "mock", prompts=prompts, answer="allow", forms=True)
    assert seen["initialize"]["agentInfo"]["name"] == "footplate-mock"
    stops = [each.get("stopReason") for each in seen["answers"]]
    assert stops == ["end_turn", "end_turn", "end_turn", "cancelled", None, "end_turn"]
    assert seen["answers"][4]["error"]["code"] == -32603
    told = text(seen, seen["loadedFrom"])
    assert told == "chunk 0chunk 1chunk 2chunk 3chunk 4permission: allowquestion: Bluehang beginmock: hello"
    assert seen["order"].count("answer") == len(prompts)
    assert [each["method"] for each in seen["asked"]] == ["session/request_permission", "elicitation/create"]
    assert len(seen["listed"]["sessions"]) == 1
    replayed = seen["updates"][seen["loadedFrom"] :]
    assert text({"updates": replayed}).endswith("mock: hello")
    assert seen["unknown"] == -32002


@pytest.mark.parametrize("transport", ["http", "ws"])
async def test_the_official_sdk_drives_the_real_cli(world: World, tmp_path: Path, transport: str) -> None:
    run = script(tool("Bash", {"command": "touch made; echo ran"}), "It said: $LAST")
    seen = await play(world, tmp_path, transport, "claude", prompts=[run, script("Bye")], answer="allow")
    assert [each.get("stopReason") for each in seen["answers"]] == ["end_turn", "end_turn"]
    assert text(seen, seen["loadedFrom"]) == "It said: ranBye"
    assert (world.work / "made").exists()
    assert seen["asked"][0]["params"]["toolCall"]["rawInput"]["command"] == "touch made; echo ran"
    assert {"default", "plan"} <= {mode["id"] for mode in seen["opened"]["modes"]["availableModes"]}
