"""`AcpAgent` on the real Claude CLI: what an editor sees and answers, every message judged by the published schema."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from footplate.config.settings import Settings
from footplate.host.process import Keeper
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.store.sqlite import SqliteStore
from footplate.testing.messages import api_error, say, script, tool
from tests.e2e.world import World
from tests.unit.runtime.acp.client import RpcFailed, connected

pytestmark = [pytest.mark.timeout(120), pytest.mark.both_versions]
PLANNING = (tool("Write", {"file_path": "$PLANFILE", "content": "# Plan\n1. Do it"}), tool("ExitPlanMode", {}))
QUESTION = {
    "questions": [
        {
            "question": "Which colour?",
            "header": "Colour",
            "multiSelect": False,
            "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}],
        }
    ]
}


@pytest.fixture
async def services(world: World, tmp_path: Path) -> AsyncIterator[Services]:
    """A real file and a keeper."""
    store = await SqliteStore.open(tmp_path / "store")
    async with Keeper.start() as keeper:
        yield Services(store, keeper, settings=Settings(), environ=world.env, data=tmp_path / "data")
    await store.close()


@pytest.fixture
async def hub(services: Services) -> AsyncIterator[Hub]:
    """A hub over them."""
    async with Hub.open(services) as made:
        yield made


async def test_a_new_session_offers_what_the_cli_offers_and_a_prompt_streams(
    hub: Hub, services: Services, world: World
) -> None:
    async with connected(hub, services, "claude") as client:
        opened = await client.call("session/new", cwd=str(world.work), mcpServers=[])
        session = opened["sessionId"]
        modes = [mode["id"] for mode in opened["modes"]["availableModes"]]
        assert {"default", "acceptEdits", "plan"} <= set(modes)
        assert "bypassPermissions" not in modes, "it could not be switched on, so it is not offered"
        options = {option["id"]: option for option in opened["configOptions"]}
        assert len(options["model"]["options"]) > 1
        await client.hear(lambda _: bool(client.updates(session, "available_commands_update")))
        answer = await client.answer(await client.prompt(session, script("Hello you")))
        assert answer["stopReason"] == "end_turn"
        assert answer["usage"]["outputTokens"] > 0
        assert client.text(session) == "Hello you"
        assert client.updates(session, "usage_update")[-1]["cost"]["amount"] > 0
        await client.call("session/set_mode", sessionId=session, modeId="plan")
        assert client.updates(session, "current_mode_update")[-1]["currentModeId"] == "plan"


async def test_a_command_is_asked_for_and_shown_in_a_terminal(hub: Hub, services: Services, world: World) -> None:
    async with connected(hub, services, "claude", can={"_meta": {"terminal_output": True}}) as client:
        session = await client.open(world.work)
        run = script(tool("Bash", {"command": "touch made; echo ran"}), "It said: $LAST")
        rpc_id = await client.prompt(session, run)
        asked = await client.asked()
        assert not (world.work / "made").exists()
        call = asked["params"]["toolCall"]
        assert (call["kind"], call["title"]) == ("execute", "touch made; echo ran")
        kinds = [each["kind"] for each in asked["params"]["options"]]
        assert "allow_always" in kinds, "there is an always, also where the CLI proposes no rule"
        await client.reply(asked, {"outcome": {"outcome": "selected", "optionId": "allow"}})
        assert (await client.answer(rpc_id))["stopReason"] == "end_turn"
        assert client.text(session) == "It said: ran"
        assert (world.work / "made").exists()
        (begun,) = client.updates(session, "tool_call")
        assert begun["_meta"]["claudeCode"]["toolName"] == "Bash"
        ended = client.updates(session, "tool_call_update")[-1]
        assert ended["status"] == "completed"
        shown = [each["_meta"].get("terminal_output", {}) for each in client.updates(session, "tool_call_update")]
        assert "ran" in "".join(each.get("data", "") for each in shown)


async def test_an_edit_shows_its_real_diff(hub: Hub, services: Services, world: World) -> None:
    (world.work / "f.txt").write_text("line one\nline two\n")
    path = str(world.work / "f.txt")
    async with connected(hub, services, "claude") as client:
        session = await client.open(world.work)
        await client.call("session/set_mode", sessionId=session, modeId="acceptEdits")
        edit = tool("Edit", {"file_path": path, "old_string": "line one", "new_string": "line 1"})
        assert await client.say(session, script(tool("Read", {"file_path": path}), edit, "Done.")) == "end_turn"
        ended = client.updates(session, "tool_call_update")[-1]
        assert ended["content"] == [
            {"type": "diff", "path": path, "oldText": "line one\nline two", "newText": "line 1\nline two"}
        ]
        assert ended["locations"] == [{"path": path, "line": 1}]


@pytest.mark.parametrize("forms", [True, False], ids=["form", "options"])
async def test_a_question_is_answered(hub: Hub, services: Services, world: World, forms: bool) -> None:
    can: dict[str, object] = {"elicitation": {"form": {}}} if forms else {}
    async with connected(hub, services, "claude", can=can) as client:
        session = await client.open(world.work)
        rpc_id = await client.prompt(session, script(tool("AskUserQuestion", QUESTION), "It said: $LAST"))
        if forms:
            asked = await client.asked("elicitation/create")
            await client.reply(asked, {"action": "accept", "content": {"question_0": "Blue"}})
        else:
            asked = await client.asked()
            await client.reply(asked, {"outcome": {"outcome": "selected", "optionId": "choice-1"}})
        assert (await client.answer(rpc_id))["stopReason"] == "end_turn"
        assert "Blue" in client.text(session)


async def test_a_plan_is_inside_of_its_request_and_accepting_it_changes_the_mode(
    hub: Hub, services: Services, world: World
) -> None:
    async with connected(hub, services, "claude") as client:
        session = await client.open(world.work)
        await client.call("session/set_mode", sessionId=session, modeId="plan")
        rpc_id = await client.prompt(session, script(*PLANNING, "Begun."))
        asked = await client.asked()
        assert asked["params"]["toolCall"]["kind"] == "switch_mode"
        assert asked["params"]["toolCall"]["content"][0]["content"]["text"] == "# Plan\n1. Do it"
        await client.reply(asked, {"outcome": {"outcome": "selected", "optionId": "allow"}})
        assert (await client.answer(rpc_id))["stopReason"] == "end_turn"
        assert client.updates(session, "current_mode_update")[-1]["currentModeId"] == "default"


async def test_a_turn_is_cancelled_and_the_next_one_runs(hub: Hub, services: Services, world: World) -> None:
    async with connected(hub, services, "claude") as client:
        session = await client.open(world.work)
        rpc_id = await client.prompt(session, script(tool("Bash", {"command": "touch made"}), "never"))
        await client.asked()
        await client.notify("session/cancel", {"sessionId": session})
        assert (await client.answer(rpc_id))["stopReason"] == "cancelled"
        assert client.updates(session, "tool_call_update")[-1]["status"] == "failed"
        assert await client.say(session, script("Here again")) == "end_turn"


async def test_load_replays_thoughts_tools_and_text_and_a_fork_goes_its_own_way(
    hub: Hub, services: Services, world: World
) -> None:
    (world.work / "f.txt").write_text("words\n")
    async with connected(hub, services, "claude") as client:
        session = await client.open(world.work)
        read = tool("Read", {"file_path": str(world.work / "f.txt")})
        assert await client.say(session, script(read, say("Read it.", thinking="hm"))) == "end_turn"
        engine_id = (await hub.get(session)).view().resume  # type: ignore[arg-type]
        assert engine_id is not None
    async with connected(hub, services, "claude") as client:
        await client.call("session/load", sessionId=engine_id.value, cwd=str(world.work), mcpServers=[])
        kinds = {each["sessionUpdate"] for each in client.updates(engine_id.value)}
        assert {"user_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"} <= kinds
        assert client.text(engine_id.value) == "Read it."
        forked = (await client.call("session/fork", sessionId=session, cwd=str(world.work)))["sessionId"]
        assert forked != session
        assert await client.say(forked, script("On my own")) == "end_turn"
        assert client.text(forked) == "On my own"


async def test_an_api_error_is_an_error_of_the_prompt(hub: Hub, services: Services, world: World) -> None:
    async with connected(hub, services, "claude") as client:
        session = await client.open(world.work)
        with pytest.raises(RpcFailed) as failed:
            await client.say(session, script(api_error(400, message="scripted refusal")))
        assert failed.value.code == -32603


SERVER = """
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    if "id" not in call:
        continue
    answers = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "greeter", "version": "1"}},
        "tools/list": {"tools": [{"name": "greet", "description": "greets", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "hello from the client's server"}]},
    }
    print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": answers.get(call["method"], {})}), flush=True)
"""


async def test_an_mcp_server_of_the_client_reaches_the_agent(hub: Hub, services: Services, world: World) -> None:
    program = world.home / "greeter.py"
    program.write_text(SERVER)
    server = {"name": "greeter", "command": sys.executable, "args": [str(program)], "env": []}
    async with connected(hub, services, "claude") as client:
        opened = await client.call("session/new", cwd=str(world.work), mcpServers=[server])
        session = opened["sessionId"]
        rpc_id = await client.prompt(session, script(tool("mcp__greeter__greet", {}), "It said: $LAST"))
        await client.reply(await client.asked(), {"outcome": {"outcome": "selected", "optionId": "allow"}})
        assert (await client.answer(rpc_id))["stopReason"] == "end_turn"
        assert "hello from the client's server" in client.text(session)
