"""The audit log over HTTP: who may read it, pages, filters, and which calls write to it."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from websockets.asyncio.client import connect

from footplate.interfaces.http.app import all_routes
from footplate.runtime.audit import Principal
from footplate.runtime.audit_head import write_head
from footplate.store.chain import AuditRow
from footplate.store.memory import MemoryStore
from tests.unit.interfaces.http.acp_wire import Wire, is_method, odd, until
from tests.unit.interfaces.http.reading import stream
from tests.unit.interfaces.http.served import TOKEN, Served, serve

IN_LOG = "the session's own log has it"
ACP = "messages have records of their own; ending a connection leaves its sessions"
PROCESS = "processes have their own table"
FILES = "replaces nothing; docs/reference/audit.md names it"
GIT = "changes the index or adds a commit, which git keeps"
BROWSER = "a browser and its own subscription"

OTHER_ACTS = {
    "POST /api/sessions": IN_LOG,
    "PUT /api/sessions/{session}": "as POST; the mode of one that is there is changed by `session.mode`",
    "POST /api/sessions/{session}/fork": IN_LOG,
    "POST /api/sessions/{session}/title": IN_LOG,
    "POST /api/sessions/{session}/archive": "only hides it from lists",
    "POST /api/sessions/{session}/close": IN_LOG,
    "POST /api/sessions/{session}/prompt": IN_LOG,
    "DELETE /api/sessions/{session}/queue/{prompt}": IN_LOG,
    "POST /api/sessions/{session}/queue/order": IN_LOG,
    "POST /api/sessions/{session}/interrupt": IN_LOG,
    "POST /api/sessions/{session}/continue": IN_LOG,
    "POST /api/sessions/{session}/model": IN_LOG,
    "POST /api/sessions/{session}/effort": IN_LOG,
    "POST /api/sessions/{session}/rewind": IN_LOG,
    "POST /api/sessions/{session}/command": IN_LOG,
    "POST /api/sessions/{session}/tasks/{task}/stop": IN_LOG,
    "POST /api/history/adopt": IN_LOG,
    "POST /api/worktrees": "makes a folder, where there is none",
    "POST /v1/fs/mkdir": FILES,
    "POST /api/git/stage": GIT,
    "POST /api/git/unstage": GIT,
    "POST /api/git/commit": GIT,
    "POST /v1/processes": PROCESS,
    "POST /v1/processes/run": PROCESS,
    "DELETE /v1/processes/{process}": PROCESS,
    "POST /v1/processes/{process}/stop": PROCESS,
    "POST /v1/processes/{process}/kill": PROCESS,
    "POST /v1/processes/{process}/input": PROCESS,
    "POST /v1/processes/{process}/terminal/resize": PROCESS,
    "WS /v1/processes/{process}/terminal/ws": PROCESS,
    "POST /api/push/subscriptions": BROWSER,
    "DELETE /api/push/subscriptions/{subscription}": BROWSER,
    "POST /api/push/subscriptions/{subscription}/test": BROWSER,
    "DELETE /v1/acp/{server_id}": ACP,
    "DELETE /v1/rpc": ACP,
    "DELETE /acp": ACP,
}
"""Calls that change something and write no record, with the reason."""


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


SURFACES = [
    ("my app", "my app"),
    ("policy", None),
    ("POLICY", None),
    ("p-o-l-i-c-y", None),
    ("poli\xadcy", None),
    ("caf\xe9", None),
    ("service", None),
    ("Telegram", None),
    ("", None),
]


@pytest.mark.parametrize(("claimed", "recorded"), SURFACES)
async def test_a_client_names_itself_but_not_as_what_footplate_names(
    tmp_path: Path, claimed: str, recorded: str | None
) -> None:
    async with serve(tmp_path) as served, served.client() as client:
        headers = {"x-footplate-surface": claimed.encode("latin-1")}
        answer = await client.post("/api/worktrees/gc", json={}, headers=headers)  # type: ignore[arg-type]
        assert answer.status_code == 200
        record = (await acts(served))[-1]
    assert (record["surface"], record["by"]) == (recorded or "api", "operator")


@pytest.mark.parametrize(("claimed", "recorded"), [*SURFACES, ("po\u200blicy", None), ("\u0440olicy", None)])
async def test_answers_over_the_websocket_are_those_of_its_token_and_address(
    tmp_path: Path, claimed: str, recorded: str | None
) -> None:
    async with serve(tmp_path) as served, served.client() as client:
        created = await client.post("/api/sessions", json={"engine": "mock", "cwd": str(served.work)})
        session = created.json()["id"]
        await client.post(f"/api/sessions/{session}/prompt", json={"content": "permission"})
        named = {"by": "somebody else", "surface": claimed}
        url = f"{served.url.replace('http', 'ws')}/api/sessions/{session}/ws?access_token={TOKEN}&after=0"
        async with connect(url, proxy=None) as socket:
            for command in (
                {"type": "AnswerRequest", "request": await asked(client), "answer": {"type": "allow"}},
                {"type": "SetMode", "mode": "plan"},
            ):
                await socket.send(json.dumps({"key": "k", **named, **command}))
                async with asyncio.timeout(30):
                    while "done" not in (told := json.loads(await socket.recv())):
                        pass
                assert "problem" not in told, told
        records = (await acts(served))[1:]
    expected = ("operator", recorded or "websocket", "127.0.0.1")
    assert [(each["act"], each["by"], each["surface"], each["origin"]) for each in records] == [
        ("answer", *expected),
        ("session.mode", *expected),
    ]


async def test_clients_that_share_an_acp_connection_are_told_apart(tmp_path: Path) -> None:
    async with serve(tmp_path) as served, served.client() as opener:
        token = (await opener.post("/api/tokens", json={"name": "phone", "scopes": ["drive"]})).json()["token"]
        async with served.client(token) as phone:
            first, second = Wire(opener, "/v1/acp/s1?agent=mock"), Wire(phone, "/v1/acp/s1")
            await first.begin()
            session = await first.open(served.work)
            async with stream(phone, "/v1/acp/s1") as events:
                turn = asyncio.ensure_future(first.say(session, "permission"))
                request = (await until(events, is_method("session/request_permission")))[-1].data
                option = request["params"]["options"][0]["optionId"]
                outcome = {"outcome": {"outcome": "selected", "optionId": option}}
                await second.post({"id": request["id"], "result": outcome}, 202)
                await turn
            await second.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
            await second.call("session/delete", {"sessionId": session})
        records = [record for record in await acts(served) if record["act"] not in ("login", "token.create")]
    assert [(each["act"], each["by"], each["surface"], each["origin"]) for each in records] == [
        ("answer", "phone", "acp", "127.0.0.1"),
        ("session.mode", "phone", "acp", "127.0.0.1"),
        ("session.delete", "phone", "acp", "127.0.0.1"),
    ]


ALLOWED = {"outcome": {"outcome": "selected", "optionId": "yes"}}


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ({"result": ALLOWED}, "Allow"),
        ({"result": {"outcome": {"outcome": "cancelled"}}}, ""),
        ({"error": {"code": -32603, "message": "no"}}, ""),
    ],
)
async def test_answers_to_a_relayed_agent_are_in_the_log(tmp_path: Path, answer: dict[str, Any], chosen: str) -> None:
    async with serve(tmp_path, odd()) as served, served.client() as client:
        wire = Wire(client, "/v1/acp/s1?agent=odd")
        await wire.begin()
        async with stream(client, "/v1/acp/s1") as events:
            waiting = asyncio.ensure_future(wire.call("x/permission"))
            request = (await until(events, is_method("session/request_permission")))[-1].data
        await wire.post({"id": 7.0, **answer}, 202)
        assert await waiting == {"answer": answer.get("result")}
        await wire.call("session/set_mode", {"sessionId": "s9", "modeId": "yolo"})
        await wire.call("session/set_config_option", {"sessionId": "s9", "configId": "mode", "value": "plan"})
        records = (await acts(served))[1:]
    assert [(each["act"], each["by"], each["surface"], each["session"]) for each in records] == [
        ("answer", "operator", "acp", "s9"),
        ("session.mode", "operator", "acp", "s9"),
        ("session.mode", "operator", "acp", "s9"),
    ]
    record = records[0]
    assert (record["target"], record["tool"], record["title"]) == ("7", "execute", "rm -rf build")
    assert (record.get("chosen", ""), record["input"]) == (chosen, request["params"])
    option = {"id": "yes", "label": "Allow", "kind": "allow_once"}
    assert record.get("option") == (option if chosen else None)
    assert record["detail"] == {"agent": "odd", "response": answer.get("result") or answer["error"]}
    assert [each["detail"]["mode"] for each in records[1:]] == ["yolo", "plan"]


async def test_routes_and_logouts_of_a_relayed_agent_are_in_the_log_without_secrets(tmp_path: Path) -> None:
    async with serve(tmp_path, odd()) as served, served.client() as client:
        wire = Wire(client, "/v1/acp/s1?agent=odd")
        await wire.begin()
        secret = {"baseUrl": "https://ada:SECRET@gateway.example/v1?key=SECRET", "headers": {"x-key": "SECRET"}}
        await wire.call("providers/set", {"providerId": "main", **secret})
        await wire.call("providers/set", {"baseUrl": "http://[half"})
        await wire.call("providers/set", {"baseUrl": "ada:SECRET@gateway.example/v1"})
        await wire.call("providers/disable", {"providerId": "main"})
        await wire.call("logout", {})
        records = (await acts(served))[1:]
    assert [(each["act"], each.get("target", ""), each["by"]) for each in records] == [
        ("session.route", "https://gateway.example/v1", "operator"),
        ("session.route", "an address that cannot be read", "operator"),
        ("session.route", "an address that cannot be read", "operator"),
        ("session.route", "", "operator"),
        ("agent.logout", "odd", "operator"),
    ]
    assert "SECRET" not in json.dumps(records)


async def test_an_answer_inside_of_another_message_does_not_reach_a_relayed_agent(tmp_path: Path) -> None:
    """A relayed agent reads lines: JSON over several lines would be several messages."""
    async with serve(tmp_path, odd()) as served, served.client() as client:
        wire = Wire(client, "/v1/acp/s1?agent=odd")
        await wire.begin()
        async with stream(client, "/v1/acp/s1") as events:
            waiting = asyncio.ensure_future(wire.call("x/permission"))
            await until(events, is_method("session/request_permission"))
            hidden = json.dumps({"jsonrpc": "2.0", "id": 7, "result": ALLOWED})
            body = f'{{"jsonrpc": "2.0", "method": "x/note", "params":\n{hidden}\n}}'
            headers = {"content-type": "application/json"}
            assert (await client.post(wire.path, content=body, headers=headers)).status_code == 202
            await until(events, is_method("x/heard"))
        assert not waiting.done()
        await wire.post({"id": 7, "result": ALLOWED}, 202)
        await waiting
        assert [each["act"] for each in (await acts(served))[1:]] == ["answer"]


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


async def test_calls_that_replace_files_and_limits_of_processes_are_in_the_log(tmp_path: Path) -> None:
    async with serve(tmp_path) as served, served.client() as client:
        one, two, folder = (str(served.work / name) for name in ("one", "two", "new"))
        octets = {"content-type": "application/octet-stream"}

        async def put(path: str, *, status: int = 200, only_new: bool = False) -> None:
            headers = {**octets, "if-none-match": "*"} if only_new else octets
            answer = await client.put("/v1/fs/file", params={"path": path}, content=b"x", headers=headers)
            assert answer.status_code == status, answer.text

        async def move(source: str, target: str, *, overwrite: bool, status: int = 200) -> None:
            body = {"from": source, "to": target, "overwrite": overwrite}
            assert (await client.post("/v1/fs/move", json=body)).status_code == status

        await put(one)
        await put(two, only_new=True)
        await put(two, status=412, only_new=True)
        await move(one, two, overwrite=False, status=400)
        await move(one, folder + "/three", overwrite=True)
        assert [record["act"] for record in await acts(served)] == ["login"]
        await put(two)
        await put(one)
        await move(one, two, overwrite=True)
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.addfile(tarfile.TarInfo("two"), io.BytesIO())
        tar = {"content-type": "application/x-tar"}
        for path in (str(served.work / "fresh"), str(served.work)):
            params = {"path": path}
            done = await client.post("/v1/fs/upload-batch", params=params, content=packed.getvalue(), headers=tar)
            assert done.status_code == 200, done.text
        limits = (await client.get("/v1/processes/config")).json()
        assert (await client.post("/v1/processes/config", json={**limits, "maxOutputBytes": 0})).status_code == 400
        changed = {**limits, "maxConcurrentProcesses": 3}
        assert (await client.post("/v1/processes/config", json=changed)).status_code == 200
        records = (await acts(served))[1:]
    assert [(each["act"], each.get("target", ""), each.get("detail", {})) for each in records] == [
        ("file.replace", two, {}),
        ("file.replace", two, {"source": one}),
        ("file.replace", str(served.work), {"archive": True}),
        ("process.limits", "", changed),
    ]


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


def test_every_call_that_changes_something_writes_a_record_or_says_why_not() -> None:
    """A route that is new here belongs into the tests above, or into `OTHER_ACTS` with a reason."""
    recorded = {
        "DELETE /api/sessions/{session}",
        "DELETE /api/sessions/{session}/rules/{rule}",
        "POST /api/sessions/{session}/mode",
        "POST /api/sessions/{session}/option",
        "POST /api/sessions/{session}/limits",
        "WS /api/sessions/{session}/ws",
        "POST /api/requests/{request}/answer",
        "POST /api/requests/answer",
        "POST /v1/acp/{server_id}",
        "POST /v1/rpc",
        "POST /acp",
        "WS /acp",
        "PUT /v1/config/mcp",
        "PUT /v1/config/skills",
        "PUT /v1/fs/file",
        "POST /v1/fs/move",
        "POST /v1/fs/upload-batch",
        "POST /v1/processes/config",
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
        if route.tag not in ("retired", "desktop") and route.method != "GET"
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


async def test_a_token_is_named_by_its_id_because_anybody_may_choose_its_name(tmp_path: Path) -> None:
    async with serve(tmp_path) as served, served.client() as client:
        made = (await client.post("/api/tokens", json={"name": "operator", "scopes": ["admin"]})).json()
        created = await client.post("/api/sessions", json={"engine": "mock", "cwd": str(served.work)})
        session = created.json()["id"]
        headers = {"authorization": f"Bearer {made['token']}"}
        for mine in ({}, headers):
            await client.post(f"/api/sessions/{session}/prompt", json={"content": "permission"})
            answer = {"behavior": "allow", "scope": "session" if mine else "once"}
            answered = await client.post(f"/api/requests/{await asked(client)}/answer", json=answer, headers=mine)
            assert answered.status_code == 200
        (rule,) = (await client.get(f"/api/sessions/{session}/rules")).json()["session"]
        assert (await client.delete(f"/api/sessions/{session}/rules/{rule['id']}", headers=headers)).status_code == 204
        records = [record for record in await acts(served) if record["act"] != "token.create"]
    assert {record["by"] for record in records} == {"operator"}
    issued = made["info"]["id"]
    assert [(record["act"], record.get("token")) for record in records] == [
        ("login", None),
        ("answer", None),
        ("login", issued),
        ("answer", issued),
        ("rule.revoke", issued),
    ]


async def test_a_token_that_may_not_is_recorded_all_the_same(tmp_path: Path) -> None:
    async with serve(tmp_path) as served, served.client() as client:
        made = (await client.post("/api/tokens", json={"name": "reader", "scopes": ["read"]})).json()
        probed = await client.get("/api/audit", headers={"authorization": f"Bearer {made['token']}"})
        assert probed.status_code == 403
        assert (await acts(served))[-1]["by"] == "reader"


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


async def test_a_page_of_large_records_ends_before_all_of_them_are_in_memory(
    tmp_path: Path, store: MemoryStore
) -> None:
    async with serve(tmp_path, store=store) as served, served.client() as client:
        await client.get("/api/sessions")  # the login
        for number in range(8):
            detail = {"input": "x" * 400_000}
            await served.api.services.audit.record("file.delete", Principal(), target=str(number), detail=detail)
        pages: list[list[int]] = []
        after: int | None = 0
        while after is not None:
            page = (await client.get("/api/audit", params={"after": after, "limit": 1000})).json()
            pages.append([entry["number"] for entry in page["records"]])
            after = page["after"]
        assert pages == [[1, 2, 3, 4], [5, 6, 7], [8, 9]]
        tail = (await client.get("/api/audit", params={"tail": 5})).json()
        assert ([entry["number"] for entry in tail["records"]], tail["after"]) == ([5, 6, 7], 7)
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
        for body in (b"\xff{", rows[0].body + b" ", b'{"act":"\xff"}', b'{"other":"\xff"}', b"[" * 100_000):
            rows[0] = replace(rows[0], body=body)
            (entry,) = (await client.get("/api/audit")).json()["records"]
            assert base64.b64decode(entry["damaged"]) == body
            found = await client.get("/api/audit", params={"act": "answer"})
            assert (found.status_code, found.json()["records"]) == (200, [])
    await store.close()
