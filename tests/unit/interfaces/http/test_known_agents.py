"""Every agent that is known without a registry: installed on its first use as its own table has it, and then driven."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import msgspec
import pytest

from footplate.config.agents import AgentsSettings
from footplate.config.settings import Settings
from footplate.engines.commands import with_agents
from footplate.engines.distribution import Binary, Npm, Offer, Way, machine_platform, node_platforms, pick_way
from footplate.engines.known_agents import OFFERS
from tests.unit.interfaces.http.reading import get, post, stream
from tests.unit.interfaces.http.served import serve
from tests.unit.runtime.shelf import TINY, Shelf, open_shelf, pack

NPM = """#!/bin/sh
for last; do :; done
package=${last%@*} name=${package##*/}
mkdir -p node_modules/.bin "node_modules/$package"
echo "{\\"version\\": \\"${last##*@}\\", \\"bin\\": {\\"$name\\": \\"run\\"}}" > "node_modules/$package/package.json"
cp "$(dirname "$0")/tiny" "node_modules/.bin/$name"
while read -r place; do
    mkdir -p "$(dirname "$place")" && cp "$(dirname "$0")/tiny" "$place"
done < "$(dirname "$0")/places"
"""
"""What npm does, as far as we need it; `places` are those where the table looks for programs of this machine."""
PLATFORMS = {"linux-x86_64", "linux-aarch64", "darwin-x86_64", "darwin-aarch64"}
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
ON_USE = {"SANDBOX_AGENT_REQUIRE_PREINSTALL": "0"}


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    with open_shelf() as shelf:
        yield shelf


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with a Node that is new enough, and an npm that brings our own agent under any name."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in (("npm", NPM), ("node", "#!/bin/sh\necho v22.0.0\n"), ("tiny", TINY)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    ways = [way for offer in OFFERS for way in offer.ways if isinstance(way, Npm) and way.found]
    places = [way.found[0].format(platform=node_platforms()[0]) for way in ways]
    (tools / "places").write_text("".join(f"{place}\n" for place in places))
    return f"{tools}:/usr/bin:/bin"


def shelved(offer: Offer, shelf: Shelf) -> Offer:
    """The offer as it stands, with its downloads on the shelf: an archive with the program where the table looks."""
    ways: list[Way] = []
    for way in offer.ways:
        if isinstance(way, Binary):
            archive = way.platforms[machine_platform()]
            packed = pack({archive.cmd: TINY})
            address = shelf.put(urlsplit(archive.archive).path, packed)
            led = msgspec.structs.replace(archive, archive=address, sha256=sha256(packed).hexdigest())
            ways.append(msgspec.structs.replace(way, platforms={machine_platform(): led}))
        else:
            ways.append(way)
    return msgspec.structs.replace(offer, ways=tuple(ways))


def test_the_table_of_known_agents_is_whole() -> None:
    assert [offer.id for offer in OFFERS] == [
        "claude", "codex", "opencode", "gemini", "qwen", "copilot", "pi", "cursor", "amp"
    ]  # fmt: skip
    for offer in OFFERS:
        way = offer.ways[0]
        assert offer.version
        assert offer.login
        assert offer.program
        if isinstance(way, Binary):
            assert set(way.platforms) == PLATFORMS, offer.id
        else:
            assert isinstance(way, Npm)
            assert way.version == offer.version, "pinned"


@pytest.mark.skipif(machine_platform() not in PLATFORMS, reason="there is no binary of them for this machine")
async def test_copilot_pi_cursor_and_amp_are_installed_on_first_use_and_driven(
    tmp_path: Path, shelf: Shelf, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    offers = tuple(shelved(offer, shelf) for offer in OFFERS)
    monkeypatch.setattr("footplate.runtime.agents.OFFERS", offers)
    settings = with_agents(Settings(), {"FOOTPLATE_DATA_DIR": str(tmp_path / "data")})
    async with serve(tmp_path, settings, path=path, env=ON_USE) as served, served.client() as client:
        await asyncio.gather(*(_use(client, str(served.work), name) for name in ("copilot", "pi", "cursor", "amp")))
        missing = {each["what"] for each in (await get(client, "/api/agents/amp"))["agent"]["missing"]}
        assert "`amp` is not on the PATH" in missing, "its adapter needs it"


async def _use(client: httpx.AsyncClient, cwd: str, name: str) -> None:
    """A turn with an agent that nobody has installed."""
    opened = await post(client, "/api/sessions", 201, engine=name, cwd=cwd)
    async with stream(client, f"/api/sessions/{opened['id']}/events") as events:
        await post(client, f"/api/sessions/{opened['id']}/prompt", 202, content="hello")
        ended = (await events.until_event("TurnEnded"))[-1].data["event"]
    assert ended["ok"], ended
    entry = await get(client, f"/api/agents/{name}")
    wanted = next(offer for offer in OFFERS if offer.id == name)
    assert (entry["agent"]["version"], entry["agent"]["origin"]) == (wanted.version, "installed")
    assert entry["install"]["state"] == "done"
    await post(client, f"/api/sessions/{opened['id']}/close")


async def test_a_registry_may_be_a_file_and_its_agents_are_had_like_the_others(
    tmp_path: Path, shelf: Shelf, path: str
) -> None:
    shelf.registry(shelf.binary("tiny", "1.2.0", TINY))
    (tmp_path / "registry.json").write_bytes(shelf.files["/registry.json"])
    settings = Settings(agents=AgentsSettings(registries=(str(tmp_path / "registry.json"),)))
    async with serve(tmp_path, settings, path=path) as served, served.client() as client:
        state = (await get(client, "/api/agents/tiny"))["agent"]
        assert (state["offered"], state["source"]) == ("1.2.0", str(tmp_path / "registry.json"))
        assert (await post(client, "/api/agents/tiny/install"))["agent"]["version"] == "1.2.0"


async def test_where_agents_have_to_be_installed_before_no_known_agent_is_fetched(tmp_path: Path, path: str) -> None:
    settings = with_agents(Settings(), {"FOOTPLATE_DATA_DIR": str(tmp_path / "data")})
    async with serve(tmp_path, settings, path=path) as served, served.client() as client:
        for offer in OFFERS:
            assert pick_way(offer) is not None or machine_platform() not in PLATFORMS
            refused = await client.post(f"/v1/acp/{offer.id}?agent={offer.id}", json=HELLO)
            assert refused.status_code == 404, (offer.id, refused.text)
            assert refused.json()["type"] == "urn:sandbox-agent:error:agent_not_installed"
        opened = await post(client, "/api/sessions", 201, engine="pi", cwd=str(served.work))
        async with stream(client, f"/api/sessions/{opened['id']}/events") as events:
            await post(client, f"/api/sessions/{opened['id']}/prompt", 202, content="hello")
            ended = (await events.until_event("TurnEnded"))[-1].data["event"]
        assert (ended["ok"], "'pi-acp' was not found" in ended["error"]) == (False, True)
        assert not (tmp_path / "data" / "installs").exists()
