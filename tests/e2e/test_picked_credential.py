"""A credential that the operator picked reaches the model: the real CLI asks with it and with no other."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from footplate.events.runs import Completed, Started
from footplate.runtime.run import Run, RunRequest
from footplate.testing.messages import script
from tests.e2e.server import running_server
from tests.e2e.world import World
from tests.unit.interfaces.http.reading import get, post, run_turn

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

LATER = 9_999_999_999_999
FLAT = {"accessToken": "tok-mounted", "expiresAt": LATER}
PICKED = "~/.claude-oauth-credentials.json#accessToken"
SETTING = "FOOTPLATE__ENGINES__CLAUDE__CREDENTIAL"


def mount_login(world: World, content: dict[str, object]) -> None:
    """The login where other programs put it, beside a key in the environment and a login of the CLI's own."""
    (world.home / ".claude-oauth-credentials.json").write_text(json.dumps(content))
    own = {"accessToken": "tok-own", "refreshToken": "r", "expiresAt": LATER, "scopes": ["user:inference"]}
    (world.home / ".claude").mkdir()
    (world.home / ".claude" / ".credentials.json").write_text(json.dumps({"claudeAiOauth": own}))
    world.env |= {"ANTHROPIC_AUTH_TOKEN": "tok-of-environment", SETTING: PICKED}


def model_logins(world: World) -> list[dict[str, str]]:
    """The headers with which the model was asked, each once."""
    headers = [request.auth for request in world.requests() if request.asks_model]
    return [auth for place, auth in enumerate(headers) if auth not in headers[:place]]


@pytest.mark.both_versions
@pytest.mark.parametrize("one_shot", [False, True])
@pytest.mark.parametrize("content", [FLAT, {"claudeAiOauth": FLAT}], ids=["flat", "nested"])
async def test_a_run_uses_a_mounted_login_that_was_picked(
    world: World, content: dict[str, object], one_shot: bool
) -> None:
    mount_login(world, content)
    request = RunRequest(prompt=script("Hello."), engine="claude", cwd=str(world.work), one_shot=one_shot)
    events = [event async for event in Run(request, environ=world.env).events()]
    started, ended = next(event for event in events if isinstance(event, Started)), events[-1]
    assert isinstance(ended, Completed)
    assert (ended.ok, ended.answer, started.meta.billing) == (True, "Hello.", "subscription")
    assert model_logins(world) == [{"authorization": "Bearer tok-mounted"}]


async def test_a_session_uses_a_mounted_login_that_was_picked(world: World, tmp_path: Path) -> None:
    mount_login(world, FLAT)
    with running_server(tmp_path, env=world.env) as server:
        headers = {"authorization": f"Bearer {server.token}"}
        async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60, trust_env=False) as client:
            listed = (await get(client, "/api/credentials"))["credentials"]
            credentials = [row["credential"] for row in listed if row["engine"] == "claude"]
            used = [row["source"] for row in credentials if row.get("used_by_cli")]
            session = (await post(client, "/api/sessions", 201, engine="claude", cwd=str(world.work)))["id"]
            ended = (await run_turn(client, session, script("Hello.")))[-1].data["event"]
    assert used == [str(world.home / ".claude-oauth-credentials.json")]
    assert (ended["ok"], ended["answer"]) == (True, "Hello.")
    assert model_logins(world) == [{"authorization": "Bearer tok-mounted"}]


async def test_with_a_picked_login_that_has_expired_nothing_is_started(world: World, tmp_path: Path) -> None:
    mount_login(world, {"accessToken": "tok-mounted", "expiresAt": 1000})
    expected = f"the login in '{PICKED}' has expired; renew it where it comes from"
    run = await world.run("hello")
    assert run.started is None
    assert expected in run.completed.error
    with running_server(tmp_path, env=world.env) as server:
        headers = {"authorization": f"Bearer {server.token}"}
        async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60, trust_env=False) as client:
            session = (await post(client, "/api/sessions", 201, engine="claude", cwd=str(world.work)))["id"]
            ended = (await run_turn(client, session, "hello"))[-1].data["event"]
        assert expected in ended["error"]
        assert "tok-mounted" not in server.output
    assert world.requests() == ()
