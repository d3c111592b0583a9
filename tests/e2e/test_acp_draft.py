"""The draft of ACP version 2 behind its setting, on the mock agent and on the real CLI; every message judged by it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from footplate.testing.messages import api_error, script, tool
from tests.acp_schema import DRAFT
from tests.e2e.editor_process import edited
from tests.e2e.world import World
from tests.unit.runtime.acp.client import AcpClient, RpcFailed

pytestmark = pytest.mark.timeout(120)


@asynccontextmanager
async def drafted(world: World, engine: str) -> AsyncIterator[AcpClient]:
    """An editor that speaks the draft."""
    world.env |= {"FOOTPLATE__ACP__DRAFT": "true", "FOOTPLATE_MOCK_PACE_MS": "0"}
    hello = {"protocolVersion": 2, "info": {"name": "test", "version": "1"}, "capabilities": {}}
    async with edited(world, engine=engine, judge=DRAFT, hello=hello) as client:
        assert client.heard[0]["result"]["protocolVersion"] == 2
        yield client


def _of(message: dict[str, Any]) -> dict[str, Any]:
    return message.get("params", {}).get("update", {})  # type: ignore[no-any-return]


def _states(client: AcpClient, session: str) -> list[tuple[Any, ...]]:
    return [(each["state"], each.get("stopReason")) for each in client.updates(session, "state_update")]


async def _turn(client: AcpClient, session: str, text: str) -> str:
    """A whole turn; why it ended."""
    before = len([each for each in _states(client, session) if each[0] == "idle"])
    answer = await client.answer(await client.prompt(session, text))
    assert answer["messageId"]
    await client.hear(lambda _: len([each for each in _states(client, session) if each[0] == "idle"]) > before)
    return str(_states(client, session)[-1][1])


async def test_a_prompt_is_answered_at_once_and_its_end_is_a_state(world: World) -> None:
    async with drafted(world, "mock") as client:
        session = await client.open(world.work)
        assert await _turn(client, session, "stream 3") == "end_turn"
        assert client.text(session) == "chunk 0chunk 1chunk 2"
        assert client.updates(session, "user_message")[0]["content"] == [{"type": "text", "text": "stream 3"}]
        assert await _turn(client, session, "plan") == "end_turn"
        assert client.updates(session, "plan_update")[-1]["plan"]["entries"]
        assert await _turn(client, session, "error") == "error"
        await client.prompt(session, "hang")
        await client.hear(lambda _: "hang begin" in client.text(session))
        await client.notify("session/cancel", {"sessionId": session})
        await client.hear(lambda _: _states(client, session)[-1] == ("idle", "cancelled"))
        told = len(client.heard)
        replay = {"sessionId": session, "cwd": str(world.work)}
        await client.call("session/resume", **replay)
        assert not any("chunk 0" in str(each) for each in client.heard[told:])
        await client.call("session/resume", **replay, replayFrom={"type": "start"})
        assert any("chunk 0" in str(each) for each in client.heard[told:])
        for method in ("session/set_mode", "session/load", "authenticate"):
            with pytest.raises(RpcFailed) as gone:
                await client.call(method, sessionId=session, modeId="plan", cwd="/", mcpServers=[], methodId="x")
            assert gone.value.code == -32601
        with pytest.raises(RpcFailed) as unknown:
            await client.call("session/prompt", sessionId="nobody", prompt=[{"type": "text", "text": "?"}])
        assert unknown.value.code == -32002


async def test_a_permission_has_its_call_as_subject_and_a_diff_is_a_patch(world: World) -> None:
    path = world.work / "f.txt"
    write = tool("Write", {"file_path": str(path), "content": "one\ntwo\n"})
    async with drafted(world, "claude") as client:
        opened = await client.call("session/new", cwd=str(world.work))
        session = opened["sessionId"]
        assert "mode" in [each["configId"] for each in opened["configOptions"]]
        await client.prompt(session, script(write, "Done."))
        asked = await client.asked()
        assert asked["params"]["subject"]["toolCall"]["kind"] == "edit"
        assert _states(client, session)[-1][0] == "requires_action"
        patch = asked["params"]["subject"]["toolCall"]["content"][0]["patch"]["text"]
        assert patch.startswith(f"diff --git {path} {path}\nnew file mode 100644\n--- /dev/null\n+++ {path}\n")
        assert patch.endswith("+one\n+two\n")
        await client.reply(asked, {"outcome": {"outcome": "selected", "optionId": "allow"}})
        await client.hear(lambda _: _states(client, session)[-1] == ("idle", "end_turn"))
        assert path.read_text() == "one\ntwo\n"
        mode = {"sessionId": session, "configId": "mode", "type": "id", "value": "plan"}
        assert (await client.call("session/set_config_option", **mode))["configOptions"]
        assert await _turn(client, session, script(api_error(400, message="no"))) == "error"
        mode["value"] = "default"
        await client.call("session/set_config_option", **mode)
        lasting = {"command": "echo begun; tail -f /dev/null", "run_in_background": True}
        await client.prompt(session, script(tool("Bash", lasting), "Running."))
        await client.reply(await client.asked(nth=1), {"outcome": {"outcome": "selected", "optionId": "allow"}})
        call = await client.hear(
            lambda each: _of(each).get("capabilities") == {"cancel": {}} and "toolCallId" in _of(each)
        )
        name = _of(call)["toolCallId"]
        assert client.updates(session, "terminal_update")[0]["terminalId"] == name
        await client.hear(lambda _: _states(client, session)[-1] == ("idle", "end_turn"))
        await client.call("tool_call/cancel", sessionId=session, toolCallId=name)
        await client.hear(lambda each: _of(each).get("toolCallId") == name and _of(each).get("status") == "cancelled")
        with pytest.raises(RpcFailed) as over:
            await client.call("terminal/cancel", sessionId=session, terminalId=name)
        assert over.value.code == -32602


async def test_without_the_setting_version_1_is_spoken(world: World) -> None:
    hello = {"protocolVersion": 2, "clientCapabilities": {}}
    async with edited(world, engine="mock", hello=hello) as client:
        assert client.heard[0]["result"]["protocolVersion"] == 1
