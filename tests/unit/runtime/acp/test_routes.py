"""Who sends an agent's requests elsewhere, or logs it out, in the audit log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from footplate.errors import StoreFull
from footplate.runtime.acp.client import Manner
from footplate.runtime.acp.guests import EDITOR
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.runtime.spec import SessionSpec
from tests.unit.runtime.acp.client import RpcFailed, connected, with_forgetful

CAN = {"auth": {"_meta": {"gateway": True}}}
GATEWAY = {"gateway": {"baseUrl": "https://me:pass@gate.example/v1?key=k1", "headers": {"x-api-key": "k2"}}}
ROUTE = {
    "providerId": "main",
    "apiType": "anthropic",
    "baseUrl": "http://127.0.0.1:9/x",
    "headers": {"x-api-key": "k3"},
}


async def acts(services: Services) -> list[dict[str, Any]]:
    records = [msgspec.json.decode(row.body) for row in await services.audit.trail.read()]
    assert {(each["by"], each["surface"], each["origin"]) for each in records} <= {
        (EDITOR.by, EDITOR.surface, EDITOR.origin)
    }
    return records


async def test_a_route_is_recorded_by_its_address_alone(hub: Hub, services: Services) -> None:
    async with connected(hub, services, "claude", can=CAN) as client:
        await client.call("authenticate", methodId="gateway", _meta=GATEWAY)
        for _ in range(2):
            await client.call("providers/set", **ROUTE)
        await client.call("providers/disable", providerId="main")
        await client.call("providers/set", **ROUTE)
        await client.call("logout")
        with pytest.raises(RpcFailed) as refused:
            await client.call("providers/set", **{**ROUTE, "baseUrl": "http://[x"})
        assert refused.value.code == -32602
        records = await acts(services)
    assert [(each["act"], each.get("target", "")) for each in records] == [
        ("session.route", "https://gate.example/v1"),
        ("session.route", "http://127.0.0.1:9/x"),
        ("session.route", ""),
        ("session.route", "http://127.0.0.1:9/x"),
        ("session.route", ""),
    ]
    assert records[0]["detail"] == {"agent": "claude", "protocol": "anthropic"}
    for secret in ("pass", "k1", "k2", "k3"):
        assert secret not in str(records)


async def test_another_route_ends_no_process_that_alone_has_its_conversation(
    services: Services, tmp_path: Path
) -> None:
    forgetful = with_forgetful(services)
    door = Manner(all_engines=True)
    async with Hub.open(forgetful) as hub, connected(hub, forgetful, "claude", manner=door, can=CAN) as client:
        session = await hub.create(SessionSpec(engine="forgetful", cwd=str(tmp_path)))
        await client.say(session.id, "hello")
        await client.call("providers/set", **ROUTE)
        await client.say(session.id, "again")
        assert client.text(session.id) == "prompt 1prompt 2"


async def test_a_route_that_cannot_be_recorded_is_not_taken(
    hub: Hub, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_records: object) -> None:
        raise StoreFull("the store", "the test says so")

    async with connected(hub, services, "claude", can=CAN) as client:
        monkeypatch.setattr(services.audit.trail, "append", refuse)
        with pytest.raises(RpcFailed):
            await client.call("authenticate", methodId="gateway", _meta=GATEWAY)
        (main,) = (await client.call("providers/list"))["providers"]
        assert main["current"]["baseUrl"] == "https://api.anthropic.com"


async def test_a_logout_of_the_agents_own_program_is_recorded(hub: Hub, services: Services, tmp_path: Path) -> None:
    bin_folder, ran = tmp_path / "bin", tmp_path / "ran"
    bin_folder.mkdir()
    program = bin_folder / "claude"
    program.write_text(f'#!/bin/sh\necho "2.1.325 (Claude Code)"\necho "$@" >> {ran}\n')
    program.chmod(0o755)
    services.environ = {**services.environ, "PATH": f"{bin_folder}:/usr/bin:/bin"}
    async with connected(hub, services, "claude") as client:
        await client.call("logout")
        (record,) = await acts(services)
    assert (record["act"], record["target"]) == ("agent.logout", "claude")
    assert ran.read_text().splitlines()[-1] == "auth logout"
