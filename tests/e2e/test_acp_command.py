"""`footplate acp claude` for real editors: both official SDKs play every recorded conversation on the real CLI."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from footplate.testing.messages import say, script, tool
from tests.acp_schema import check, check_answer, check_sent
from tests.e2e import editor_scenarios as s
from tests.e2e.editor_players import play_python, play_typescript
from tests.e2e.editor_process import edited
from tests.e2e.server import running_server
from tests.e2e.world import VERSIONS, World, wait_until_gone
from tests.unit.runtime.acp.client import RpcFailed

pytestmark = pytest.mark.timeout(240)
Play = Callable[[World, list[str], list[s.Json]], Awaitable[s.Json]]


def _played(seen: s.Json) -> dict[str, Any]:
    for each in seen["played"]:
        for update in each["updates"]:
            check("SessionNotification", update)
        for asked in each["asked"]:
            check_sent(asked["method"], asked["params"])
        for step, result in zip(each["steps"], each["results"], strict=True):
            if "error" not in result:
                check_answer(step["method"], result)
    return {each["name"]: each for each in seen["played"]}


@pytest.mark.parametrize("play", [play_typescript, play_python], ids=["typescript", "python"])
async def test_an_sdk_plays_every_recorded_conversation(world: World, play: Play) -> None:
    world.env["CLAUDE_CODE_ENABLE_TODO_TOOLS"] = "1"
    seen = await play(world, world.command("acp", "claude"), s.scenarios(world.work, world.home))
    assert seen["exit"] == 0
    wait_until_gone(str(world.home))
    check("InitializeResponse", seen["initialize"])
    played = _played(seen)
    assert {path.stem for path in s.RECORDINGS.glob("*.jsonl")} == {*played, "initialize"}
    for name, mine in played.items():
        _compare(mine, s.Recording(name))
    assert len(played["session_list"]["results"][0]["sessions"]) == 1
    plan = played["plan_exit_accept"]["asked"][0]["params"]["toolCall"]
    assert plan["content"][0]["content"]["text"] == "# Plan\n1. Do it", "theirs was empty"
    assert not (world.work / "never.txt").exists()
    assert "SECRETWORD" in str(world.bodies())
    assert "hello from the editor's server" in s.said(played["mcp_stdio"]["updates"])
    replayed = played["load_replay"]["updates"]
    assert s.said(replayed).startswith("Hello from the fake model.")
    assert len(s.calls(replayed)) >= len(s.calls(played["bash_allow"]["updates"] + played["edit_diff"]["updates"]))
    costs = [each["update"].get("cost") for each in replayed if each["update"]["sessionUpdate"] == "usage_update"]
    assert all(costs[costs.index(next(filter(None, costs))) :]), "once known, every update tells the cost"


TOLD_ONCE = {"available_commands_update", "session_info_update"}
"""What a session tells once: here most conversations share one."""

SHORTER = ("session_list", "load_replay", "session_fork", "session_new")
"""Conversations of which the recording begins with prompts that are played elsewhere here."""


def _compare(mine: s.Json, theirs: s.Recording) -> None:
    """Same or better than the recording."""
    name = mine["name"]
    prompts = [each["method"] == "session/prompt" for each in mine["steps"]]
    outcomes = [s.outcome(each) for each, is_prompt in zip(mine["results"], prompts, strict=True) if is_prompt]
    if name not in SHORTER:
        assert outcomes == theirs.outcomes, name
        assert s.kinds(theirs.updates) - s.kinds(mine["updates"]) <= TOLD_ONCE, name
        assert [each["method"] for each in mine["asked"]][-len(theirs.asked) :] == [
            each["method"] for each in theirs.asked
        ] or not theirs.asked, name
    for ours, known in zip(mine["asked"], theirs.asked, strict=False):
        offered = {each["kind"] for each in ours["params"].get("options", ())}
        assert offered >= {each["kind"] for each in known["params"].get("options", ())}, name
    if name in ("bash_allow", "bash_reject", "write_diff", "edit_diff", "set_mode_accept_edits", "ask_user_question"):
        assert _shown(mine["updates"]) == _shown(theirs.updates), name


def _shown(updates: list[s.Json]) -> list[tuple[object, ...]]:
    """What a person sees of the tool calls in the end."""
    return [
        (each["title"], each["kind"], each["status"], [item["type"] for item in each["content"]])
        for each in s.calls(updates)
    ]


async def test_options_of_the_sdk_reach_the_cli_and_raw_messages_come_back(world: World) -> None:
    beside = world.home / "beside"
    beside.mkdir()
    options = {
        "systemPrompt": {"type": "preset", "preset": "claude_code", "append": "SAY-WORD-ONE"},
        "disallowedTools": ["WebSearch"],
        "env": {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"},
        "stopHookActive": True,
    }
    meta = {"claudeCode": {"options": options, "emitRawSDKMessages": [{"type": "result"}]}}
    async with edited(world) as client:
        opened = await client.call(
            "session/new", cwd=str(world.work), mcpServers=[], additionalDirectories=[str(beside)], _meta=meta
        )
        assert opened["_meta"]["footplate"]["message"].endswith("left out: stopHookActive")
        session = opened["sessionId"]
        assert await client.say(session, script("Hello")) == "end_turn"
        asked = str(world.bodies()[-1])
        assert "SAY-WORD-ONE" in asked
        assert str(beside) in asked
        assert "TaskCreate" in asked
        assert "WebSearch" not in asked
        raw = await client.hear(lambda each: each.get("method") == "_claude/sdkMessage")
        assert (raw["params"]["sessionId"], raw["params"]["message"]["type"]) == (session, "result")
        wrong = {"claudeCode": {"options": {"extraArgs": {"output-format": "text"}}}}
        with pytest.raises(RpcFailed) as refused:
            await client.call("session/new", cwd=str(world.work), mcpServers=[], _meta=wrong)
        assert refused.value.code == -32602


async def test_switches_prompts_of_servers_and_answers_of_tools_are_those_that_editors_know(world: World) -> None:
    (world.work / "note.txt").write_text("kept\n")
    server = world.home / "desk.py"
    server.write_text(s.PROMPTS)
    options = {"mcpServers": {"desk": {"command": sys.executable, "args": [str(server)]}}, "maxBudgetUsd": 5}
    meta = {"claudeCode": {"options": options}}
    async with edited(world, can={"session": {"configOptions": {"boolean": {}}}}) as client:
        opened = await client.call("session/new", cwd=str(world.work), mcpServers=[], _meta=meta)
        session = opened["sessionId"]
        told = {each["id"]: each for each in opened["configOptions"]}
        assert [(told[name]["type"], told[name]["currentValue"]) for name in ("fast", "ultracode")] == [
            ("boolean", False),
            ("boolean", False),
        ]
        for name in ("fast", "ultracode"):
            choice = {"sessionId": session, "configId": name, "type": "boolean", "value": True}
            changed = await client.call("session/set_config_option", **choice)
            assert {each["id"]: each["currentValue"] for each in changed["configOptions"]}[name] is True
        if world.version == "new":
            await client.hear(lambda each: "mcp:desk:greet" in str(each))
        else:  # it does not tell when the server is there; its first turn waits for it
            assert await client.say(session, script("Hello")) == "end_turn"
        assert await client.say(session, "/mcp:desk:greet Ann") == "end_turn"
        asked = world.bodies()[-1]
        assert "PLEASE-GREET Ann" in str(asked["messages"])
        assert asked["speed"] == "fast"
        await client.call("session/close", sessionId=session)
        await client.call("session/resume", sessionId=session, cwd=str(world.work), mcpServers=[])
        read = tool("Read", {"file_path": str(world.work / "note.txt")})
        assert await client.say(session, script(read, "Read.")) == "end_turn"
        assert world.bodies()[-1]["speed"] == "fast", "the next process has it as well"
        assert "ultracode" in str(world.bodies()[-1]["messages"]).lower()
        (ended,) = (each for each in client.updates(session, "tool_call_update") if each.get("status") == "completed")
        response = ended["_meta"]["claudeCode"]["toolResponse"]
        assert (response["type"], response["file"]["content"]) == ("text", "kept\n")


async def test_logins_are_handed_over_to_a_terminal_and_a_gateway_needs_none(world: World) -> None:
    base, header = world.env.pop("ANTHROPIC_BASE_URL"), "x-api-key"
    world.env.pop("ANTHROPIC_API_KEY", None)
    can = {"auth": {"terminal": True, "_meta": {"gateway": True}}, "_meta": {"terminal-auth": True}}
    async with edited(world, can=can) as client:
        methods = {each["id"]: each for each in client.heard[0]["result"]["authMethods"]}
        login = methods["claude-ai-login"]
        assert login["args"] == ["--cli", "auth", "login", "--claudeai"]
        again = login["_meta"]["terminal-auth"]
        assert [again["command"], *again["args"]] == [*world.command("acp", "claude"), *login["args"]]
        with pytest.raises(RpcFailed):
            await client.call("authenticate", methodId="gateway")
        gateway = {"gateway": {"baseUrl": base, "headers": {header: "open sesame"}}}
        await client.call("authenticate", methodId="gateway", _meta=gateway)
        session = await client.open(world.work)
        assert await client.say(session, script("Through the gateway")) == "end_turn"
        assert world.requests()[-1].auth[header] == "open sesame"
        status = await client.call("auth/status")
        assert (status["state"], base in status["accounts"][0]["label"]) == ("authenticated", True)
        (main,) = (await client.call("providers/list"))["providers"]
        assert (main["providerId"], main["current"]) == ("main", {"apiType": "anthropic", "baseUrl": base})
        for wrong in ({"providerId": "other"}, {"apiType": "openai"}, {"baseUrl": "nowhere"}, {"apiType": "vertex"}):
            with pytest.raises(RpcFailed) as refused:
                await client.call("providers/set", **{**main["current"], "providerId": "main", **wrong})
            assert refused.value.code == -32602
        route = {"providerId": "main", **main["current"], "headers": {header: "another word"}}
        await client.call("providers/set", **route)
        assert await client.say(session, script("Another way")) == "end_turn", "an open session goes there, too"
        assert world.requests()[-1].auth[header] == "another word"
        await client.call("providers/disable", providerId="main")
        told = await client.hear(lambda each: each.get("method") == "auth/status_update")
        assert told["params"]["state"] == "unauthenticated"
        (main,) = (await client.call("providers/list"))["providers"]
        assert main["current"]["baseUrl"] == "https://api.anthropic.com"
        await client.call("logout")
    handed = world.footplate("acp", "claude", "--cli", "--version")
    assert VERSIONS[world.version] in handed.stdout
    assert world.footplate("acp", "mock", "--cli").returncode == 2
    assert world.footplate("acp", "claude", "what").returncode == 2
    assert world.footplate("acp", "nobody").returncode == 2


async def test_a_session_of_the_cli_itself_is_loaded_under_its_own_name(world: World) -> None:
    cli = [str(world.home / "bin" / "claude"), "-p", script("Said in a terminal"), "--output-format", "json"]
    ran = await asyncio.create_subprocess_exec(*cli, env=world.env, cwd=world.work, stdout=asyncio.subprocess.PIPE)
    told, _ = await ran.communicate()
    name = json.loads(told)["session_id"]
    async with edited(world) as client:
        await client.call("session/load", sessionId=name, cwd=str(world.work), mcpServers=[])
        assert client.text(name) == "Said in a terminal"
        assert await client.say(name, script("Said in the editor")) == "end_turn"
        assert client.text(name) == "Said in a terminalSaid in the editor"
        with pytest.raises(RpcFailed) as unknown:
            await client.call("session/load", sessionId=str(uuid.uuid4()), cwd=str(world.work), mcpServers=[])
        assert unknown.value.code == -32002


async def test_a_session_in_the_editor_is_answered_from_elsewhere(world: World, tmp_path: Path) -> None:
    with running_server(tmp_path, "--no-token", env=world.env) as server:
        async with edited(world, "--attach") as client:
            session = await client.open(world.work)
            rpc_id = await client.prompt(session, script(tool("Bash", {"command": "touch made"}), "Done."))
            asked = await client.asked()
            async with httpx.AsyncClient(base_url=server.url, trust_env=False) as phone:
                (request,) = (await phone.get("/api/requests", params={"state": "open"})).json()["requests"]
                said = await phone.post(f"/api/requests/{request['id']}/answer", json={"behavior": "allow"})
                said.raise_for_status()
            withdrawn = await client.hear(lambda each: each.get("method") == "$/cancel_request")
            assert withdrawn["params"]["requestId"] == asked["id"]
            assert (await client.answer(rpc_id))["stopReason"] == "end_turn"
            assert (world.work / "made").exists()
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(30) == 0


async def test_nothing_is_left_when_the_editor_leaves_in_the_middle_of_a_turn(world: World) -> None:
    async with edited(world) as client:
        session = await client.open(world.work)
        await client.prompt(session, script(tool("Bash", {"command": "touch made"})))
        await client.asked()
    wait_until_gone(str(world.home))
    assert not (world.work / "made").exists()


async def test_messages_wait_or_join_a_turn_and_small_pieces_are_joined_exactly(world: World) -> None:
    async with edited(world, can={"_meta": {"footplate": {"coalesce": True}}}) as client:
        session = await client.open(world.work)
        first = await client.prompt(session, script(tool("Bash", {"command": "touch made"}), "First. "))
        asked = await client.asked()
        second = await client.prompt(session, script("Second. "))
        words = [{"type": "text", "text": "MIND-THE-GAP"}]
        await client.call("_session/steering", sessionId=session, prompt=words)
        await client.reply(asked, {"outcome": {"outcome": "selected", "optionId": "allow"}})
        for rpc_id in (first, second):
            assert (await client.answer(rpc_id))["stopReason"] == "end_turn"
        assert client.text(session).index("First. ") < client.text(session).index("Second. ")
        assert "MIND-THE-GAP" in str(world.bodies())
        before = len(client.updates(session, "agent_message_chunk"))
        text = "".join(f"word {number} " for number in range(600))
        assert await client.say(session, script(say(text, chunk=4))) == "end_turn"
        chunks = client.updates(session, "agent_message_chunk")[before:]
        assert "".join(each["content"]["text"] for each in chunks) == text
        assert len(chunks) < len(text) / 4, "some came together"
