"""Sessions by the published `sandbox-agent` SDK 0.4.2, unchanged, against `footplate serve`: mock and the real CLI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from footplate.testing.messages import script, tool
from tests.e2e.server import running_server
from tests.e2e.test_sdk import run_script
from tests.e2e.world import World

SAID = ("agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan")
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


def drive(server: Any, folder: Path, agent: str, prompts: list[str], *, hang: str, sign: str) -> Any:
    arguments = (server.url, server.token, str(folder), agent, json.dumps(prompts))
    return run_script("turns.mjs", *arguments, env={"HANG": hang, "HANG_SIGN": sign})


def check_order(order: list[Any]) -> None:
    """The answer to a prompt stands behind all that its turn said and did."""
    prompts = [each["id"] for each in order if each.get("method") == "session/prompt"]
    assert len(prompts) > 1
    for prompt in prompts:
        answers = [at for at, each in enumerate(order) if each["sender"] == "agent" and each.get("id") == prompt]
        for each in order[answers[0] + 1 :] if answers else ():
            if each["sender"] == "client":
                break
            assert each.get("update") not in SAID, order


def check(found: Any) -> None:
    """What holds whatever the agent."""
    check_order(found["order"])
    assert found["dense"] is True
    assert (found["mode"], found["model"]) == ("plan", found["wantedModel"])
    assert found["noMode"] != "set"
    assert found["cancelled"]["stopReason"] == "cancelled"
    assert found["resumed"]["stopReason"] == "end_turn"


def test_the_sdk_drives_sessions_of_the_mock_agent(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with running_server(tmp_path) as server:
        prompts = ["stream 200", "permission", "question", "error", "tool"]
        found = drive(server, work, "mock", prompts, hang="hang", sign="hang begin")
    check(found)
    assert [each.get("stopReason") for each in found["answers"]] == ["end_turn"] * 3 + [None, "end_turn"]
    assert "requested" in found["answers"][3]["error"]
    chunks = "".join(f"chunk {index}" for index in range(200))
    assert found["text"] == f"{chunks}permission: allowquestion: Redtool done"
    assert found["permissions"][0]["availableReplies"] == ["once", "always", "reject"]


def test_the_sdk_drives_sessions_of_the_real_cli(world: World, tmp_path: Path) -> None:
    run = script(tool("Bash", {"command": "touch made; echo ran"}), "It said: $LAST")
    slow = script(tool("Bash", {"command": "tail -f /dev/null"}), "never")
    with running_server(tmp_path, env=world.env) as server:
        found = drive(server, world.work, "claude", [script("Hello"), run], hang=slow, sign="tail -f")
    check(found)
    assert found["text"] == "HelloIt said: ran"
    assert (world.work / "made").exists()
