"""The audit log over HTTP: who may read it, pages, filters, and which calls write to it."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from footplate.interfaces.http.app import all_routes
from footplate.runtime.audit import Principal
from footplate.runtime.audit_head import write_head
from footplate.store.chain import AuditRow
from footplate.store.memory import MemoryStore
from tests.unit.interfaces.http.served import TOKEN, Served, serve

OTHER_ACTS = {
    "DELETE /api/sessions/{session}/queue/{prompt}": "a prompt that has not begun; the session's log has it",
    "DELETE /api/push/subscriptions/{subscription}": "a browser takes back its own subscription",
    "DELETE /v1/processes/{process}": "forgets a process that has ended",
    "DELETE /v1/acp/{server_id}": "ends a connection; its sessions stay",
    "DELETE /v1/rpc": "ends a connection; its sessions stay",
    "DELETE /acp": "ends a connection; its sessions stay",
}
"""Calls that delete something and write no record, with the reason."""


@pytest.fixture
async def store() -> MemoryStore:
    return MemoryStore()


async def acts(served: Served) -> list[dict[str, Any]]:
    async with served.client() as client:
        page = (await client.get("/api/audit", params={"limit": 1000})).json()
    return [entry["record"] for entry in page["records"]]


async def test_answers_tokens_logins_and_deletions_are_in_the_log(tmp_path: Path) -> None:
    async with serve(tmp_path) as served, served.client() as client:
        created = await client.post("/api/sessions", json={"engine": "mock", "cwd": str(served.work)})
        session = created.json()["id"]
        await client.post(f"/api/sessions/{session}/prompt", json={"content": "permission"})
        request = await asked(client)
        answer = {"behavior": "allow", "scope": "session"}
        headers = {"x-footplate-surface": "web"}
        assert (await client.post(f"/api/requests/{request}/answer", json=answer, headers=headers)).status_code == 200
        (rule,) = (await client.get(f"/api/sessions/{session}/rules")).json()["session"]
        assert (await client.delete(f"/api/sessions/{session}/rules/{rule['id']}")).status_code == 204
        made = (await client.post("/api/tokens", json={"name": "phone", "scopes": ["answer"]})).json()
        assert (await client.delete(f"/api/tokens/{made['info']['id']}")).status_code == 204
        assert (await client.delete(f"/api/sessions/{session}")).status_code == 204
        records = await acts(served)
    assert [(record["act"], record.get("by"), record["surface"], record["origin"]) for record in records] == [
        ("login", "operator", "api", "127.0.0.1"),
        ("answer", "operator", "web", "127.0.0.1"),
        ("rule.revoke", "operator", "api", "127.0.0.1"),
        ("token.create", "operator", "api", "127.0.0.1"),
        ("token.revoke", "operator", "api", "127.0.0.1"),
        ("session.delete", "operator", "api", "127.0.0.1"),
    ]
    assert records[1]["input"] == {"command": "touch example.txt", "description": "Make an empty file"}
    assert records[1]["rules"] == [rule["label"]]
    assert records[5]["detail"]["cwd"] == str(served.work)
    assert made["token"] not in str(records)
    assert TOKEN not in str(records)


async def test_who_changes_the_mode_or_the_limits_of_a_session_is_in_the_log(tmp_path: Path) -> None:
    async with serve(tmp_path) as served, served.client() as client:
        created = await client.post("/api/sessions", json={"engine": "mock", "cwd": str(served.work)})
        path = f"/api/sessions/{created.json()['id']}"
        headers = {"x-footplate-surface": "web"}
        for _ in range(2):
            assert (await client.post(f"{path}/mode", json={"mode": "plan"}, headers=headers)).status_code == 204
        assert (await client.post(f"{path}/limits", json={"turns": 3})).status_code == 204
        records = [record for record in await acts(served) if record["act"].startswith("session.")]
    assert [(each["act"], each["by"], each["surface"], each["origin"]) for each in records] == [
        ("session.mode", "operator", "web", "127.0.0.1"),
        ("session.limits", "operator", "api", "127.0.0.1"),
    ]
    assert records[0]["detail"]["mode"] == "plan"
    assert records[1]["detail"]["turns"] == 3


async def asked(client: httpx.AsyncClient) -> str:
    async with asyncio.timeout(10):
        while True:
            requests = (await client.get("/api/requests", params={"state": "open"})).json()["requests"]
            if requests:
                return str(requests[0]["id"])
            await asyncio.sleep(0.02)


async def test_calls_that_write_folder_settings_files_and_projects_are_in_the_log(tmp_path: Path) -> None:
    async with serve(tmp_path) as served, served.client() as client:
        folder = {"directory": str(served.work)}
        mcp = {**folder, "mcpName": "lab"}
        server = {"type": "local", "command": "lab", "env": {"KEY": "secret"}}
        assert (await client.put("/v1/config/mcp", params=mcp, json=server)).status_code == 204
        assert (await client.delete("/v1/config/mcp", params=mcp)).status_code == 204
        skills = {**folder, "skillName": "one"}
        source = {"sources": [{"type": "local", "source": str(served.work)}]}
        assert (await client.put("/v1/config/skills", params=skills, json=source)).status_code == 204
        assert (await client.delete("/v1/config/skills", params=skills)).status_code == 204
        (served.work / "file").touch()
        assert (await client.delete("/v1/fs/entry", params={"path": str(served.work / "file")})).status_code == 200
        project = {"alias": "shop", "path": str(served.work)}
        assert (await client.post("/api/projects", json=project)).status_code == 201
        assert (await client.delete("/api/projects/shop")).status_code == 204
        assert (await client.post("/api/worktrees/gc", json={"dry_run": True})).status_code == 200
        assert (await client.post("/api/worktrees/gc", json={})).status_code == 200
        records = await acts(served)
    assert [(record["act"], record.get("target", "")) for record in records[1:]] == [
        ("config.write", "mcp:lab"),
        ("config.delete", "mcp:lab"),
        ("config.write", "skills:one"),
        ("config.delete", "skills:one"),
        ("file.delete", str(served.work / "file")),
        ("project.add", "shop"),
        ("project.remove", "shop"),
        ("worktree.remove", "all projects"),
    ]
    assert "secret" not in str(records)


async def test_what_is_done_to_agents_is_in_the_log_also_when_it_fails(tmp_path: Path) -> None:
    async with serve(tmp_path, path="/nowhere") as served, served.client() as client:
        for method, path in (
            ("DELETE", "/api/agents/codex"),
            ("POST", "/api/agents/codex/install"),
            ("POST", "/v1/agents/codex/install"),
        ):
            assert (await client.request(method, path, json={})).status_code >= 400
        records = await acts(served)
    written = [(record["act"], record["target"]) for record in records[1:]]
    assert written == [("agent.remove", "codex"), ("agent.install", "codex"), ("agent.install", "codex")]


def test_every_call_that_deletes_or_administers_writes_a_record_or_says_why_not() -> None:
    """A route that is new here belongs into the tests above, or into `OTHER_ACTS` with a reason."""
    recorded = {
        "DELETE /api/sessions/{session}",
        "DELETE /api/sessions/{session}/rules/{rule}",
        "POST /api/tokens",
        "DELETE /api/tokens/{token}",
        "POST /api/projects",
        "DELETE /api/projects/{alias}",
        "DELETE /api/worktrees",
        "POST /api/worktrees/gc",
        "POST /v1/agents/{agent}/install",
        "POST /api/agents/{agent}/install",
        "DELETE /api/agents/{agent}",
        "POST /api/agents/{agent}/doctor",
        "DELETE /v1/config/mcp",
        "DELETE /v1/config/skills",
        "DELETE /v1/fs/entry",
    }
    routes = {
        f"{route.method} {route.path}"
        for route in all_routes()
        if route.tag not in ("retired", "desktop")
        and (route.method == "DELETE" or (route.scope == "admin" and route.method not in ("GET", "WS")))
    }
    assert routes == recorded | set(OTHER_ACTS)


async def test_calls_without_a_valid_token_are_recorded_and_reach_nothing(tmp_path: Path) -> None:
    async with serve(tmp_path) as served:
        async with httpx.AsyncClient(base_url=served.url, trust_env=False) as stranger:
            for _ in range(20):
                refused = await stranger.get("/api/audit", headers={"authorization": "Bearer wrong"})
                assert refused.status_code == 401
        records = await acts(served)
    assert [(record["act"], record["origin"]) for record in records] == [
        ("login.failed", "127.0.0.1"),
        ("login", "127.0.0.1"),
    ]


async def test_only_an_unlimited_administrator_reads_the_log(tmp_path: Path) -> None:
    async with serve(tmp_path) as served, served.client() as client:
        for body, status in (
            ({"name": "driver", "scopes": ["drive", "files"]}, 403),
            ({"name": "limited", "scopes": ["admin"], "projects": [str(served.work)]}, 403),
            ({"name": "other", "scopes": ["admin"]}, 200),
        ):
            token = (await client.post("/api/tokens", json=body)).json()["token"]
            answer = await client.get("/api/audit", headers={"authorization": f"Bearer {token}"})
            assert answer.status_code == status, body


async def test_pages_and_filters(tmp_path: Path, store: MemoryStore) -> None:
    async with serve(tmp_path, store=store) as served, served.client() as client:
        await client.get("/api/sessions")  # the login
        for number in range(1200):
            principal = Principal(by="ada" if number % 3 else "bob", surface="test")
            await served.api.services.audit.record("file.delete", principal, target=f"file {number}")
        numbers: list[int] = []
        after: int | None = 0
        while after is not None:
            page = (await client.get("/api/audit", params={"after": after, "limit": 500})).json()
            numbers += [entry["number"] for entry in page["records"]]
            after = page["after"]
        assert numbers == list(range(1, 1202))
        assert page["head"] == {"number": 1201, "hash": page["records"][-1]["hash"]}
        tail = (await client.get("/api/audit", params={"tail": 3})).json()
        assert [entry["number"] for entry in tail["records"]] == [1199, 1200, 1201]
        bobs = (await client.get("/api/audit", params={"by": "bob", "limit": 10})).json()
        assert [entry["record"]["by"] for entry in bobs["records"]] == ["bob"] * 10
        assert bobs["after"] is not None
        none = (await client.get("/api/audit", params={"act": "answer"})).json()
        assert (none["records"], none["after"]) == ([], None)
        for wrong in ({"limit": 0}, {"limit": 1001}, {"after": -1}, {"tail": "many"}):
            refused = await client.get("/api/audit", params=wrong)
            assert (refused.status_code, refused.headers["content-type"]) == (400, "application/problem+json")
    await store.close()


async def test_what_is_noted_is_never_newer_than_the_records_of_the_page(
    tmp_path: Path, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else `audit verify` reports a cut end when a record is added while it reads."""
    async with serve(tmp_path, store=store) as served, served.client() as client:
        await client.get("/api/sessions")
        served.api.data.mkdir(exist_ok=True)
        read = store.audit.read

        async def read_and_add(after: int = 0, limit: int = 500) -> list[AuditRow]:
            rows = await read(after, limit)
            if after == 0:
                await served.api.services.audit.record("file.delete", Principal(by="ada"))
                write_head(served.api.data, await store.audit.head())
            return rows

        monkeypatch.setattr(store.audit, "read", read_and_add)
        page = (await client.get("/api/audit", params={"limit": 1})).json()
        assert [entry["number"] for entry in page["records"]] == [1]
        assert page["noted"] == []
    await store.close()


async def test_a_record_that_was_changed_is_still_given_out(tmp_path: Path, store: MemoryStore) -> None:
    async with serve(tmp_path, store=store) as served, served.client() as client:
        await client.get("/api/sessions")
        rows = store.audit._rows
        for body in (b"\xff{", rows[0].body + b" "):
            rows[0] = replace(rows[0], body=body)
            (entry,) = (await client.get("/api/audit")).json()["records"]
            assert base64.b64decode(entry["damaged"]) == body
    await store.close()
