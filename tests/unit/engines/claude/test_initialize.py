"""`initialize`: the CLI is there, says what it offers, and which requests are still open."""

from __future__ import annotations

import msgspec
import pytest

from footplate.engines.base import HookSpec, Options, Reply, ToolServer
from footplate.events import facts as f
from footplate.events.ids import EngineSessionId
from footplate.events.model import (
    CommandsChanged,
    ConfigChanged,
    ConfigOption,
    Notice,
    RequestOpened,
)
from tests.unit.engines.claude.dialogue import Dialogue, recorded_answer
from tests.unit.engines.claude.playing import VERSIONS

SMALL = {
    "commands": [{"name": "compact", "description": "x" * 300, "argumentHint": "<words>"}, {"name": ""}, 7],
    "models": [
        {"value": "default", "resolvedModel": "big-1", "displayName": "Default", "supportedEffortLevels": ["low"]},
        {"value": "small", "displayName": "Small", "supportsAutoMode": True},
    ],
}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_answer_of_every_version_tells_commands_models_modes_and_efforts(version: str) -> None:
    dialogue = Dialogue(version)
    dialogue.begin()
    readiness = [dialogue.conversation.ready]
    reaction = dialogue.answers(recorded_answer(version, "controls", "initialize"))
    readiness.append(dialogue.conversation.ready)
    assert readiness == [False, True]
    commands, config = reaction.events
    assert isinstance(commands, CommandsChanged)
    assert "compact" in {command.name for command in commands.commands}
    assert max(len(command.description) for command in commands.commands) <= 240
    assert isinstance(config, ConfigChanged)
    mode, model, effort, *switches = config.options
    assert [switch.id for switch in switches] == ["fast", "ultracode"]
    assert (mode.value, [value.value for value in mode.values]) == (
        "default",
        ["default", "acceptEdits", "plan", "dontAsk", "auto"],
    )
    assert {"default", "sonnet", "haiku"} <= {value.value for value in model.values}
    assert [value.value for value in effort.values] == ["low", "medium", "high", "xhigh", "max"]


def test_a_mode_is_offered_only_where_it_can_work_and_an_effort_only_where_the_model_has_it() -> None:
    dialogue = Dialogue(options=Options(cwd="/", model="small"), may_bypass=True)
    dialogue.begin()
    [commands, config] = dialogue.answers(SMALL).events
    assert isinstance(commands, CommandsChanged)
    assert [command.description[-2:] for command in commands.commands] == ["x…"]
    assert isinstance(config, ConfigChanged)
    assert [option.id for option in config.options] == ["mode", "model"]
    assert config.options[0].values[-1].value == "bypassPermissions"
    without = Dialogue()
    without.begin()
    config = without.answers({**SMALL, "models": SMALL["models"][:1]}).events[1]
    assert isinstance(config, ConfigChanged)
    assert [value.value for value in config.options[0].values] == ["default", "acceptEdits", "plan", "dontAsk"]
    assert config.options[2] == ConfigOption(
        id="effort", label="Effort", category="thought_level", values=config.options[2].values
    )


def test_what_is_asked_before_the_answer_is_answered_with_it() -> None:
    dialogue = Dialogue()
    dialogue.begin()
    assert dialogue.conversation.awaits
    assert dialogue.query("about").replies == ()
    replies = dialogue.answers({"claude_code_version": "2.1.325", "capabilities": ["a"], "pid": 7}).replies
    early, initialized = replies
    assert (early.key, initialized) == ("q", Reply(key=""))
    assert early.result is not None
    assert msgspec.json.decode(early.result, type=f.About) == f.About(
        version="2.1.325", capabilities=("a",), pid=7, mode="default"
    )
    assert not dialogue.conversation.awaits


def test_what_we_have_of_our_own_is_registered() -> None:
    options = Options(
        cwd="/",
        hooks=(
            HookSpec(event="PreToolUse", name="guard", matcher="Bash", timeout_s=5),
            HookSpec(event="Stop", name="bell"),
        ),
        servers=(ToolServer(name="lab", tools=()),),
    )
    dialogue = Dialogue(options=options)
    dialogue.begin()
    assert dialogue.request() == {
        "subtype": "initialize",
        "hooks": {
            "PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["guard"], "timeout": 5.0}],
            "Stop": [{"hookCallbackIds": ["bell"]}],
        },
        "sdkMcpServers": ["lab"],
    }


def test_requests_that_are_open_in_a_living_cli_are_asked_once() -> None:
    asked = {
        "type": "control_request",
        "request_id": "open-1",
        "request": {"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "t", "input": {"command": "ls"}},
    }
    dialogue = Dialogue(options=Options(cwd="/", asks=True, resume=EngineSessionId("s")))
    dialogue.begin()
    before = dialogue.says(asked).events
    assert [event.request.id for event in before if isinstance(event, RequestOpened)] == ["open-1"]
    other = {**asked, "request_id": "open-2"}
    after = dialogue.answers({}, pending_permission_requests=[asked, other, "?"]).events
    assert [event.request.id for event in after if isinstance(event, RequestOpened)] == ["open-2"]


@pytest.mark.parametrize(
    ("version", "level"), [("2.1.9", "warning"), ("2.2.0", "debug"), ("2.1.300", None), ("", None)]
)
def test_a_version_that_was_never_measured_is_remarked_on(version: str, level: str | None) -> None:
    told = [event for event in Dialogue(version).begin().events if isinstance(event, Notice)]
    assert [(notice.level, notice.code) for notice in told] == ([(level, "cli_version")] if level else [])


def test_answers_to_whoever_talked_to_the_process_before_are_not_ours() -> None:
    names = []
    for epoch in (0, 7):
        dialogue = Dialogue(options=Options(cwd="/", epoch=epoch))
        dialogue.begin()
        names.append(dialogue.asked[0]["request_id"])
    assert names == ["footplate-1", "footplate-7-1"]


def test_an_initialize_that_fails_is_a_reply_that_says_so() -> None:
    dialogue = Dialogue()
    dialogue.begin()
    [reply] = dialogue.answers(error="not today").replies
    assert reply == Reply(key="", error="initialize: not today")
