"""The catalog over HTTP: what there is and what it lacks, installs with their progress, installs on first use."""

from __future__ import annotations

import asyncio
import platform
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from footplate.config.agents import AgentsSettings
from footplate.config.settings import Settings
from tests.unit.interfaces.http.reading import get, post
from tests.unit.interfaces.http.served import serve
from tests.unit.interfaces.http.test_contract_v1 import CLAUDE, NPM
from tests.unit.runtime.shelf import DUMB, TINY, Shelf, open_shelf

ON_USE = {"SANDBOX_AGENT_REQUIRE_PREINSTALL": "0"}
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    with open_shelf() as shelf:
        yield shelf


@pytest.fixture
def tools(tmp_path: Path) -> str:
    """A PATH with an npm that brings a Claude CLI which says hello and goes."""
    folder = tmp_path / "tools"
    folder.mkdir()
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), "arm64")
    for name, text in (("npm", NPM.format(platform=f"{sys.platform}-{machine}")), ("claude.sh", CLAUDE)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


async def test_an_agent_of_a_registry_is_installed_used_and_removed(tmp_path: Path, shelf: Shelf) -> None:
    address = shelf.registry(shelf.binary("tiny", "1.2.0", TINY), {"id": "X", "distribution": {}})
    settings = Settings(agents=AgentsSettings(registries=(address,)))
    async with serve(tmp_path, settings) as served, served.client() as client:
        listed = await get(client, "/api/agents")
        states = {each["agent"]["id"]: each["agent"] for each in listed["agents"]}
        known = {"claude", "codex", "mock", "opencode", "gemini", "qwen", "copilot", "pi", "cursor", "amp", "tiny"}
        assert known <= set(states)
        assert (states["mock"]["installed"], states["mock"]["origin"]) == (True, "in process")
        assert states["claude"]["missing"][0] == {
            "what": "not installed",
            "advice": "run `footplate agents install claude`, `curl -fsSL https://claude.ai/install.sh | bash`, "
            "`brew install --cask claude-code` or `npm install -g @anthropic-ai/claude-code`, "
            "then run `claude` once to log in",
        }
        assert "agent 2" in listed["problems"][0]
        unknown = await client.post("/v1/acp/t?agent=tiny", json=HELLO)
        assert unknown.status_code == 400
        entry = (await post(client, "/api/agents/tiny/install"))["agent"]
        assert (entry["installed"], entry["version"], entry["origin"]) == (True, "1.2.0", "installed")
        answer = await client.post("/v1/acp/t?agent=tiny", json=HELLO)
        assert answer.json()["result"]["protocolVersion"] == 1
        await client.delete("/v1/acp/t")
        assert (await client.delete("/api/agents/tiny")).status_code == 204
        assert (await get(client, "/api/agents/tiny"))["agent"]["installed"] is False
        assert (await client.delete("/api/agents/tiny")).status_code == 409
        await get(client, "/api/agents/nobody", 400)
        failed = await post(client, "/api/agents/mock/install", 500)
        assert "does not install it" in failed["detail"]


async def test_an_agent_is_installed_on_first_use_once_and_the_progress_is_told(tmp_path: Path, tools: str) -> None:
    async with serve(tmp_path, path=tools, env=ON_USE) as served, served.client() as client:
        calls = [client.post(f"/v1/acp/c{number}?agent=claude", json=HELLO) for number in range(3)]
        running = asyncio.gather(*calls)
        seen: list[str] = []
        while not running.done():
            seen += (await get(client, "/api/agents/claude"))["installing"]
        assert {answer.status_code for answer in await running} == {200}
        assert any(line.startswith("fetching npm @anthropic-ai/claude-code@") for line in seen)
        state = (await get(client, "/api/agents/claude"))["agent"]
        assert (state["installed"], state["version"], state["origin"]) == (True, "9.9.9", "installed")
        trees = [each for each in (tmp_path / "data" / "installs" / "claude").iterdir() if each.name.startswith("2.")]
        assert len(trees) == 1


@pytest.mark.parametrize("how", ["variable", "settings"])
async def test_where_agents_have_to_be_installed_before_a_missing_one_is_404(
    tmp_path: Path, tools: str, how: str
) -> None:
    env = {} if how == "variable" else ON_USE
    settings = Settings(agents=AgentsSettings(install_on_use=how == "variable"))
    async with serve(tmp_path, settings, path=tools, env=env) as served, served.client() as client:
        refused = await client.post("/v1/acp/c?agent=claude", json=HELLO)
        assert refused.status_code == 404
        assert refused.json()["type"] == "urn:sandbox-agent:error:agent_not_installed"
        assert refused.json()["agent"] == "claude"
        assert not (tmp_path / "data" / "installs").exists()


async def test_an_install_goes_on_without_its_caller_and_how_it_ended_is_told(tmp_path: Path, shelf: Shelf) -> None:
    address = shelf.registry(shelf.binary("tiny", "1.2.0", TINY), shelf.binary("dumb", "1.0.0", DUMB))
    settings = Settings(agents=AgentsSettings(registries=(address,)))
    async with serve(tmp_path, settings) as served, served.client() as client:
        held = shelf.holds["/tiny-1.2.0.tar.gz"] = threading.Event()
        begun = await post(client, "/api/agents/tiny/install", wait=False)
        assert begun["install"]["state"] == "running"
        await post(client, "/api/agents/dumb/install", wait=False)
        other = await client.post("/api/agents/tiny/install", json={"version": "1.1.0"})
        assert (other.status_code, "is being installed" in other.json()["detail"]) == (409, True)
        joining = asyncio.create_task(post(client, "/api/agents/tiny/install"))
        for _ in range(3):  # it has reached the server by then
            assert (await get(client, "/api/agents/tiny"))["install"]["state"] == "running"
        held.set()
        joined = (await joining)["install"]
        assert (joined["state"], joined["started_at"]) == ("done", begun["install"]["started_at"]), "the same, joined"
        tiny = await until(client, "tiny", "install")
        assert (tiny["install"]["state"], tiny["agent"]["installed"], tiny["installing"]) == ("done", True, [])
        assert tiny["install"]["lines"][0].startswith("fetching binary for ")
        dumb = await until(client, "dumb", "install")
        assert (dumb["install"]["state"], dumb["agent"]["installed"]) == ("failed", False)
        assert "does not answer: it ended without an answer: exit code 4" in dumb["install"]["problem"]
        refused = await post(client, "/api/agents/mock/install", 500, wait=False)
        assert "does not install it" in refused["detail"]


async def test_an_agent_is_examined_step_by_step_and_the_last_examination_is_kept(tmp_path: Path) -> None:
    async with serve(tmp_path) as served, served.client() as client:
        begun = (await post(client, "/api/agents/mock/doctor", wait=False))["doctor"]
        assert (begun["state"], begun["found"], begun["ended_at"]) == ("running", None, None)
        waited = (await until(client, "mock", "doctor"))["doctor"]
        assert (waited["started_at"], waited["state"]) == (begun["started_at"], "done")
        steps = [(step["name"], step["ok"]) for step in waited["steps"]]
        assert steps == [("permission", True), ("question", True), ("interrupt", True), ("resume", True)]
        assert waited["found"]["steps"] == waited["steps"]
        assert (waited["found"]["ok"], waited["found"]["new"], waited["found"]["unparsed"]) == (True, [], [])
        assert (await get(client, "/api/agents/mock"))["doctor"] == waited
        missing = await post(client, "/api/agents/cursor/doctor", 404)
        assert missing["type"].endswith("agent_not_installed")
        await post(client, "/api/agents/nobody/doctor", 400)


async def test_a_server_that_stops_takes_its_examination_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    async with serve(tmp_path, env={"TMPDIR": str(folder)}) as served, served.client() as client:
        await post(client, "/api/agents/mock/doctor", wait=False)
        known = served.api.examiner.known["mock"]
        async with asyncio.timeout(30):
            while known.state == "running" and not list(folder.glob("footplate-drill-*")):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    assert list(folder.iterdir()) == []


async def until(client: httpx.AsyncClient, agent: str, work: str) -> dict[str, Any]:
    """The entry of the agent once that work is over."""
    async with asyncio.timeout(30):
        while True:
            entry: dict[str, Any] = await get(client, f"/api/agents/{agent}")
            if entry[work]["state"] != "running":
                return entry
