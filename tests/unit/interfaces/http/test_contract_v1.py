"""What the published clients expect of `/v1`: recorded exchanges and their statuses, beside sessions and files."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path

import httpx
import jsonschema
import pytest

from footplate.config.settings import Settings
from footplate.interfaces.http.guard import Cors, Doors
from footplate.runtime.folder_config import LocalMcp, RemoteMcp, declare, write_servers
from tests.unit.interfaces.http.reading import Json, get, post
from tests.unit.interfaces.http.served import Served, serve


async def test_the_root_and_the_health_answer(client: httpx.AsyncClient, served: Served) -> None:
    async with served.client("") as stranger:
        assert (await get(stranger, "/"))["name"] == "Footplate"
        assert (await stranger.get("/v1/health")).status_code == 401
    assert await get(client, "/v1/health") == {"status": "ok"}
    deep = await get(client, "/v1/health", deep=1)
    assert deep["status"] == "ok"
    assert {check["name"]: check["ok"] for check in deep["checks"]} == {"store": True, "keeper": True, "disk": True}


async def test_the_mock_agent_is_there_with_its_choices(client: httpx.AsyncClient) -> None:
    listed = await get(client, "/v1/agents")
    by_name = {agent["id"]: agent for agent in listed["agents"]}
    assert {"claude", "codex", "mock"} <= set(by_name)
    assert (by_name["mock"]["installed"], by_name["mock"]["credentialsAvailable"]) == (True, True)
    assert (by_name["claude"]["installed"], by_name["claude"]["credentialsAvailable"]) == (False, False)
    assert len(by_name["mock"]["capabilities"]) == 18
    assert "version" not in by_name["mock"]
    mock = await get(client, "/v1/agents/mock", config="true")
    assert mock["version"]
    choices = {option["id"]: option for option in mock["configOptions"]}
    assert [value["value"] for value in choices["model"]["options"]] == ["mock", "mock-fast"]
    assert choices["mode"]["currentValue"] == "default"
    assert choices["mode"]["type"] == "select"
    unknown = await get(client, "/v1/agents/nobody", 400)
    assert (unknown["type"], unknown["agent"]) == ("urn:sandbox-agent:error:unsupported_agent", "nobody")


async def test_an_agent_that_is_there_is_not_installed_again(client: httpx.AsyncClient) -> None:
    report = await post(client, "/v1/agents/mock/install")
    assert report["already_installed"] is True
    assert [(each["kind"], each["source"]) for each in report["artifacts"]] == [("agent_process", "builtin")]
    odd = await post(client, "/v1/agents/claude/install", 400, agentVersion="1; rm -rf /")
    assert "version" in odd["detail"]


NPM = """#!/bin/sh
test "$1" = install || exit 9
for last; do :; done
case "$last" in *@0.0.1) echo "no such version" >&2; exit 3;; esac
program="node_modules/@anthropic-ai/claude-code-{platform}/claude"
mkdir -p "$(dirname "$program")"
cp "$(dirname "$0")/claude.sh" "$program"
"""
CLAUDE = """#!/bin/sh
if [ "$1" = --version ]; then echo "9.9.9 (Claude Code)"; exit; fi
read line
echo '{"type":"control_response","response":{"subtype":"success","request_id":"1"}}'
"""
"""What npm does, as far as we need it: the last argument is the package, it is called in the folder."""


async def test_claude_is_installed_into_the_data_folder_and_found_there(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), "arm64")
    (tools / "npm").write_text(NPM.format(platform=f"{sys.platform}-{machine}"))
    (tools / "npm").chmod(0o755)
    (tools / "claude.sh").write_text(CLAUDE)
    async with serve(tmp_path, path=f"{tools}:/usr/bin:/bin") as served, served.client() as client:
        failed = await post(client, "/v1/agents/claude/install", 500, agentVersion="0.0.1")
        assert "no such version" in failed["detail"]
        report = await post(client, "/v1/agents/claude/install")
        assert report["already_installed"] is False
        (artifact,) = report["artifacts"]
        assert (artifact["kind"], artifact["source"]) == ("native_agent", "registry")
        assert artifact["path"].startswith(str(tmp_path / "data" / "installs"))
        agent = await get(client, "/v1/agents/claude", config="true")
        assert (agent["installed"], agent["version"], agent["path"]) == (True, "9.9.9", artifact["path"])
        again = await post(client, "/v1/agents/claude/install")
        assert again["already_installed"] is True


async def test_credentials_are_told_by_place_and_never_by_value(tmp_path: Path) -> None:
    secret = "sk-ant-" + "x" * 20
    (tmp_path / ".claude.json").write_text(json.dumps({"apiKey": secret, "primaryApiKey": secret}))
    (tmp_path / ".claude").mkdir()
    login = {"accessToken": secret, "refreshToken": "r", "expiresAt": 1_000_000_000_000, "scopes": []}
    (tmp_path / ".claude" / ".credentials.json").write_text(json.dumps({"claudeAiOauth": login}))
    async with serve(tmp_path) as served, served.client() as client:
        answer = await client.get("/api/credentials")
        agent = await get(client, "/v1/agents/claude")
    assert secret not in answer.text
    found = [each["credential"] for each in answer.json()["credentials"]]
    assert [(each["kind"], each["field"], each.get("used_by_cli", False)) for each in found] == [
        ("api_key", "primaryApiKey", True),
        ("api_key", "apiKey", False),
        ("oauth", "accessToken", True),
    ]
    assert found[2]["expired"] is True
    assert agent["credentialsAvailable"] is True


async def test_mcp_servers_of_a_folder_are_stored_as_the_contract_says(
    client: httpx.AsyncClient, served: Served
) -> None:
    where: Json = {"directory": str(served.work), "mcpName": "a"}
    missing = await get(client, "/v1/config/mcp", 404, **where)
    assert missing == {
        "type": "urn:sandbox-agent:error:session_not_found",
        "title": "Session Not Found",
        "status": 404,
        "detail": "session not found: mcp:a",
        "sessionId": "mcp:a",
    }
    local = {"type": "local", "command": "node", "args": ["s.js"], "env": {"A": "1"}}
    assert (await client.put("/v1/config/mcp", params=where, json=local)).status_code == 204
    assert await get(client, "/v1/config/mcp", **where) == local
    remote = {"type": "remote", "url": "http://x/mcp", "headers": {"h": "v"}}
    other = {**where, "mcpName": "r"}
    assert (await client.put("/v1/config/mcp", params=other, json={**remote, "oauth": None})).status_code == 204
    assert await get(client, "/v1/config/mcp", **other) == remote
    stored = served.work / ".sandbox-agent" / "config" / "mcp.json"
    assert json.loads(stored.read_text()) == {"a": local, "r": remote}
    assert stored.read_text().startswith("{\n  ")
    for bad in ({"type": "bogus"}, {"command": "x"}, {"type": "local"}):
        assert (await client.put("/v1/config/mcp", params=where, json=bad)).status_code == 422
    for _ in range(2):
        assert (await client.delete("/v1/config/mcp", params=where)).status_code == 204
    bad_queries: tuple[Json, ...] = ({"directory": str(served.work)}, {"directory": "", "mcpName": "a"})
    for bad_query in bad_queries:
        refused = await get(client, "/v1/config/mcp", 400, **bad_query)
        assert refused["type"] == "urn:sandbox-agent:error:invalid_request"


async def test_skills_of_a_folder_are_stored_as_the_contract_says(client: httpx.AsyncClient, served: Served) -> None:
    where: Json = {"directory": str(served.work), "skillName": "s"}
    skills = {"sources": [{"type": "github", "source": "o/r", "skills": ["a"], "ref": "main", "subpath": "x"}]}
    assert (await client.put("/v1/config/skills", params=where, json=skills)).status_code == 204
    assert await get(client, "/v1/config/skills", **where) == skills
    assert (await client.put("/v1/config/skills", params=where, json={"x": 1})).status_code == 422
    assert (await client.delete("/v1/config/skills", params=where)).status_code == 204
    missing = await get(client, "/v1/config/skills", 404, **where)
    assert missing["sessionId"] == "skills:s"


async def test_an_agent_gets_the_servers_that_were_stored_through_us_and_no_others(
    client: httpx.AsyncClient, served: Served
) -> None:
    where: Json = {"directory": str(served.work), "mcpName": "a"}
    await client.put("/v1/config/mcp", params=where, json={"type": "local", "command": "node"})
    store, place = served.api.store, served.work.parent / "mcp"
    given = await write_servers(store, str(served.work), {}, place, {})
    assert list(json.loads((place / given).read_text())["mcpServers"]) == ["a"]
    assert (place / given).stat().st_mode & 0o077 == 0
    stored = served.work / ".sandbox-agent" / "config" / "mcp.json"
    stored.write_text('{"evil": {"type": "local", "command": "rm"}}')
    assert await write_servers(store, str(served.work), {}, place, {}) == ""


def test_headers_of_a_remote_server_get_the_values_of_variables() -> None:
    remote = RemoteMcp(url="http://x", bearer_token_env_var="T", env_headers={"x-key": "K", "x-none": "N"})
    headers = {"x-key": "k", "Authorization": "Bearer t"}
    assert declare(remote, {"T": "t", "K": "k"}) == {"type": "http", "url": "http://x", "headers": headers}
    local = declare(LocalMcp(command="c", args=("a",), cwd="/d"), {})
    assert local["args"] == ("-c", 'cd "$0" && exec "$@"', "/d", "c", "a")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "start", 503),
        ("GET", "screenshot", 503),
        ("POST", "mouse/move", 503),
        ("GET", "windows/focused", 503),
        ("POST", "windows/1/focus", 503),
        ("GET", "recordings/x", 404),
        ("DELETE", "recordings/x", 404),
        ("GET", "recordings/x/download", 404),
        ("POST", "recording/start", 409),
        ("POST", "stream/start", 409),
        ("GET", "recordings", 200),
        ("GET", "stream/status", 200),
        ("POST", "stop", 200),
    ],
)
async def test_the_desktop_answers_as_on_a_machine_without_one(
    client: httpx.AsyncClient, method: str, path: str, status: int
) -> None:
    answer = await client.request(method, f"/v1/desktop/{path}")
    assert answer.status_code == status
    if status == 503:
        told = answer.json()
        assert told["type"] == "urn:sandbox-agent:error:desktop_dependencies_missing"
        assert told["code"] == "desktop_dependencies_missing"
        assert told["installCommand"]
        assert told["missingDependencies"]


async def test_the_status_of_the_desktop_says_what_is_missing(client: httpx.AsyncClient) -> None:
    told = await get(client, "/v1/desktop/status")
    assert told["state"] == "install_required"
    assert told["lastError"]["code"] == "desktop_dependencies_missing"
    assert told["missingDependencies"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/sessions"),
        ("POST", "/v1/sessions/x"),
        ("POST", "/v1/sessions/x/messages/stream"),
        ("GET", "/v1/sessions/x/events/sse"),
        ("POST", "/v1/sessions/x/permissions/p/reply"),
        ("GET", "/v1/agents/mock/modes"),
        ("GET", "/v1/agents/mock/models"),
        ("GET", "/v1/events"),
    ],
)
async def test_retired_paths_say_what_to_use(client: httpx.AsyncClient, method: str, path: str) -> None:
    answer = await client.request(method, path)
    assert (answer.status_code, answer.headers["content-type"]) == (410, "application/problem+json")
    assert "use " in answer.json()["detail"]


async def test_the_opencode_surface_is_switched_off(client: httpx.AsyncClient) -> None:
    for path in ("/opencode", "/opencode/session"):
        answer = await client.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")


async def test_a_listed_origin_is_told_that_it_may_call(tmp_path: Path) -> None:
    doors = Doors(cors=Cors(origins=("http://app.example",), methods=("GET", "POST"), headers=("authorization",)))
    asks = {"origin": "http://app.example", "access-control-request-method": "POST"}
    async with serve(tmp_path, Settings(), doors) as served, served.client("") as stranger, served.client() as client:
        preflight = await stranger.options("/v1/agents", headers=asks)
        call = await client.get("/v1/health", headers={"origin": "http://app.example"})
        other = await stranger.options("/v1/agents", headers={**asks, "origin": "http://other.example"})
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-origin"] == "http://app.example"
    assert preflight.headers["access-control-allow-methods"] == "GET,POST"
    assert call.headers["access-control-allow-origin"] == "http://app.example"
    assert other.status_code == 403
    assert "access-control-allow-origin" not in other.headers


async def test_numbers_for_prometheus_count_calls_by_route(client: httpx.AsyncClient, served: Served) -> None:
    await post(client, "/api/sessions", 201, engine="mock", cwd=str(served.work))
    await client.get("/api/sessions/nobody")
    page = (await client.get("/metrics")).text
    assert 'footplate_sessions{state="idle"} 1.0' in page
    assert 'footplate_http_call_seconds_count{method="POST",path="/api/sessions",status="201"} 1.0' in page
    assert 'path="/api/sessions/{session}",status="404"' in page
    assert "footplate_http_running 1.0" in page
    assert 'footplate_processes{status="running"} 0.0' in (await client.get("/metrics")).text
    ran = await post(client, "/v1/processes", command="sleep", args=["300"])
    assert 'footplate_processes{status="running"} 1.0' in (await client.get("/metrics")).text
    await post(client, f"/v1/processes/{ran['id']}/kill?waitMs=20000")


async def test_the_server_tells_about_itself(client: httpx.AsyncClient, served: Served) -> None:
    info = await get(client, "/api/info")
    assert (info["token"], info["default_engine"]) == ("operator", "claude")
    engines = await get(client, "/api/engines")
    assert {engine["name"] for engine in engines["engines"]} >= {"claude", "mock"}
    models = await get(client, "/api/models")
    (fast,) = [each for each in models["models"] if each["model"] == "mock-fast"]
    assert (fast["engine"], fast["label"], fast["source"]) == ("mock", "Mock, fast", "built-in list")
    limits = {each["model"]: (each["context_tokens"], each["output_tokens"]) for each in models["models"]}
    assert limits["opus"] == limits["claude-opus-5-5"] == (1_000_000, 128_000)
    assert limits["claude-opus-4-1-20250805"] == (200_000, 32_000)
    doctor = await get(client, "/api/doctor")
    assert doctor["ok"] is True
    await post(client, "/api/sessions", 201, engine="mock", cwd=str(served.work))
    projects = await get(client, "/api/projects")
    assert [(each["cwd"], each["sessions"]) for each in projects["projects"]] == [(str(served.work), 1)]
    usage = await get(client, "/api/usage")
    assert [(each["engine"], each["sessions"]) for each in usage["engines"]] == [("mock", 1)]
    assert (await get(client, "/api/history"))["entries"] == []
    unknown = await post(client, "/api/history/adopt", 404, session="0000-no-such")
    assert unknown["type"] == "urn:sandbox-agent:error:session_not_found"


async def test_the_served_openapi_is_the_one_that_is_checked_in(client: httpx.AsyncClient) -> None:
    served = (await client.get("/openapi.json")).json()
    kept = json.loads((Path(__file__).parents[4] / "docs" / "openapi.json").read_text())
    assert served == kept, "run `make reference`"
    assert served["openapi"] == "3.1.0"
    for path, operations in served["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"], f"{method} {path}"
            assert "401" in operation["responses"] or operation["security"] == []
    for schema in served["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
