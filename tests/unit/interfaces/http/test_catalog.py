"""The catalog over HTTP: what there is and what it lacks, installs with their progress, installs on first use."""

from __future__ import annotations

import asyncio
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate.config.agents import AgentsSettings
from footplate.config.settings import Settings
from tests.unit.interfaces.http.reading import get, post
from tests.unit.interfaces.http.served import serve
from tests.unit.interfaces.http.test_contract_v1 import CLAUDE, NPM
from tests.unit.runtime.shelf import TINY, Shelf, open_shelf

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
            "advice": "run `footplate agents install claude`",
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
