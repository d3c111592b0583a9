"""Permissions cannot be skipped as root: no surface offers that mode, each refuses it with the reason of the CLI."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import httpx
import pytest

from footplate.config.settings import Settings
from footplate.engines.claude.launch import ROOT_REFUSAL
from footplate.errors import EngineRefused
from footplate.runtime.roster import Roster
from tests.unit.interfaces.http.reading import get, post
from tests.unit.interfaces.http.served import Served, serve

BYPASS = "bypassPermissions"


def section(**claude: object) -> Settings:
    return Settings(engines={"claude": claude})


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


async def refusal(client: httpx.AsyncClient, path: str, **body: object) -> str:
    """The detail of a 400 that a call gets."""
    problem = await post(client, path, 400, **body)
    assert problem["type"].endswith("agent_refused")
    return str(problem["detail"])


async def offered(client: httpx.AsyncClient, session: str) -> dict[str, bool]:
    """Where the mode is offered."""

    def modes(options: list[dict[str, Any]], name: str) -> list[str]:
        return [value["value"] for option in options if option["id"] == "mode" for value in option[name]]

    engines = (await get(client, "/api/engines"))["engines"]
    claude = next(engine for engine in engines if engine["name"] == "claude")
    agent = await get(client, "/v1/agents/claude", config="true")
    return {
        "session": BYPASS in (await get(client, f"/api/sessions/{session}"))["modes"],
        "capabilities": BYPASS in claude["capabilities"]["modes"],
        "choices": BYPASS in modes(claude["choices"], "values"),
        "agent": BYPASS in modes(agent["configOptions"], "options"),
    }


async def new_session(client: httpx.AsyncClient, served: Served, **body: object) -> str:
    return str((await post(client, "/api/sessions", 201, engine="claude", cwd=str(served.work), **body))["id"])


@pytest.mark.usefixtures("root")
async def test_as_root_the_mode_is_nowhere_offered_and_refused_with_the_reason_of_the_cli(tmp_path: Path) -> None:
    async with serve(tmp_path) as served, served.client() as client:
        session = await new_session(client, served)
        assert await offered(client, session) == dict.fromkeys(("session", "capabilities", "choices", "agent"), False)
        new = await refusal(client, "/api/sessions", engine="claude", cwd=str(served.work), mode=BYPASS)
        changed = await refusal(client, f"/api/sessions/{session}/mode", mode=BYPASS)
        assert new == changed
        assert ROOT_REFUSAL in new
        assert 'set sandbox = "bwrap"' in new
        assert (await get(client, f"/api/sessions/{session}"))["mode"] == ""
        assert [row["id"] for row in (await get(client, "/api/sessions"))["sessions"]] == [session]


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("setting", [{"permission_mode": BYPASS}, {"dangerously_skip_permissions": True}])
async def test_as_root_a_default_of_the_settings_that_skips_permissions_refuses_new_sessions(
    tmp_path: Path, setting: dict[str, object]
) -> None:
    async with serve(tmp_path, section(**setting)) as served, served.client() as client:
        assert ROOT_REFUSAL in await refusal(client, "/api/sessions", engine="claude", cwd=str(served.work))


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(
    ("settings", "env"),
    [
        pytest.param(section(assume_sandbox=True), {}, id="assume_sandbox"),
        pytest.param(section(sandbox="bwrap"), {}, id="bwrap"),
        pytest.param(section(env={"IS_SANDBOX": "1"}), {}, id="variable-in-settings"),
        pytest.param(Settings(), {"IS_SANDBOX": "1"}, id="variable"),
    ],
)
async def test_in_a_sandbox_the_mode_stays_also_as_root(
    tmp_path: Path, settings: Settings, env: dict[str, str]
) -> None:
    async with serve(tmp_path, settings, env=env) as served, served.client() as client:
        session = await new_session(client, served, mode=BYPASS)
        assert await offered(client, session) == dict.fromkeys(("session", "capabilities", "choices", "agent"), True)
        await post(client, f"/api/sessions/{session}/mode", 204, mode="plan")
        await post(client, f"/api/sessions/{session}/mode", 204, mode=BYPASS)


async def test_for_another_user_the_mode_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    async with serve(tmp_path) as served, served.client() as client:
        session = await new_session(client, served, mode=BYPASS)
        assert await offered(client, session) == dict.fromkeys(("session", "capabilities", "choices", "agent"), True)


@pytest.mark.usefixtures("root")
async def test_a_session_in_its_own_sandbox_has_the_mode_beside_one_that_has_it_not(tmp_path: Path) -> None:
    async with serve(tmp_path) as served, served.client() as client:
        boxed = await new_session(client, served, env={"IS_SANDBOX": "1"}, mode=BYPASS)
        plain = await new_session(client, served)
        assert BYPASS in (await get(client, f"/api/sessions/{boxed}"))["modes"]
        assert BYPASS not in (await get(client, f"/api/sessions/{plain}"))["modes"]


async def test_a_mode_that_nobody_knows_is_refused_before_the_first_prompt(tmp_path: Path) -> None:
    async with serve(tmp_path) as served, served.client() as client:
        session = await new_session(client, served)
        problem = await post(client, f"/api/sessions/{session}/mode", 400, mode="nonsense")
        assert "mode: 'nonsense' cannot be used; expected one of default" in problem["detail"]


@pytest.mark.usefixtures("root")
async def test_as_root_the_mode_is_refused_as_an_option_as_well_before_the_agent_has_told_its_options(
    tmp_path: Path,
) -> None:
    async with serve(tmp_path) as served, served.client() as client:
        session = await new_session(client, served)
        assert ROOT_REFUSAL in await refusal(client, f"/api/sessions/{session}/option", option="mode", value=BYPASS)
        assert (await get(client, f"/api/sessions/{session}"))["mode"] == ""


@pytest.mark.usefixtures("root")
def test_a_chat_neither_lists_nor_takes_it_as_root() -> None:
    roster = Roster(Settings(), {"HOME": "/nowhere"})
    assert BYPASS not in roster.capabilities("claude").modes
    with pytest.raises(EngineRefused, match="root/sudo"):
        roster.check_mode("claude", BYPASS)
    roster.check_mode("claude", "plan")
    boxed = Roster(section(assume_sandbox=True), {"HOME": "/nowhere"})
    assert BYPASS in boxed.capabilities("claude").modes
    boxed.check_mode("claude", BYPASS)
