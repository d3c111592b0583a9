"""`footplate acp claude` for real editors: both official SDKs play every recorded conversation on the real CLI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.acp_schema import check, check_answer, check_sent
from tests.e2e import editor_scenarios as s
from tests.e2e.editor_players import play_python, play_typescript
from tests.e2e.world import World, wait_until_gone

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
