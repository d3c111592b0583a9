"""What agents do that the schema does not know: models of their own, `resume` that is not there, usage in `_meta`."""

from __future__ import annotations

from pathlib import Path

import pytest

from footplate.engines.acp.converse import AcpConversation
from footplate.engines.base import Options
from footplate.engines.declared import Declared, read_declared
from footplate.errors import ConfigError, InvalidValue
from footplate.events.commands import Interrupt, SetModel
from footplate.events.ids import ToolCallId
from footplate.events.model import (
    ConfigChanged,
    EngineAttached,
    ModelChanged,
    Notice,
    RequestOpened,
    ToolEnded,
    ToolStarted,
    TurnEnded,
)
from footplate.events.requests import Allow
from footplate.events.tools import CommandDetail
from footplate.events.usage import Usage
from tests.unit.engines.acp.playing import AGENT, SESSION, Json, Play, call, progress, say

MODELS: Json = {
    "currentModelId": "small",
    "availableModels": [{"modelId": "small", "name": "Small"}, {"modelId": "big", "name": "Big", "description": None}],
}


def chosen(event: object) -> dict[str, tuple[str, list[str]]]:
    assert isinstance(event, ConfigChanged)
    return {each.category: (each.value, [value.value for value in each.values]) for each in event.options}


def test_models_outside_of_the_options_are_an_option_and_are_set_by_their_own_method() -> None:
    play = Play()
    play.open(models=MODELS)
    attached, config = play.events
    assert isinstance(attached, EngineAttached)
    assert attached.model == "small"
    assert chosen(config) == {"model": ("small", ["small", "big"])}
    play.command(SetModel(key="1", model="big"))
    assert play.last("session/set_model")["params"] == {"sessionId": SESSION, "modelId": "big"}
    changed, config = play.answer("session/set_model", {})
    assert changed == ModelChanged(model="big")
    assert chosen(config) == {"model": ("big", ["small", "big"])}
    with pytest.raises(InvalidValue, match="one of small, big"):
        play.command(SetModel(key="2", model="huge"))


def test_a_model_in_force_that_is_not_listed_is_listed() -> None:
    play = Play()
    play.open(models={**MODELS, "currentModelId": "own"})
    assert chosen(play.events[-1]) == {"model": ("own", ["own", "small", "big"])}


@pytest.mark.parametrize("models", [{"availableModels": "none"}, {}, [], None])
def test_models_that_cannot_be_read_are_none(models: object) -> None:
    play = Play()
    play.open(models=models)
    assert len(play.events) == 1


def test_an_agent_that_announces_resume_and_does_not_have_it_is_made_to_load() -> None:
    agent: Json = {**AGENT, "agentCapabilities": {"loadSession": True, "sessionCapabilities": {"resume": {}}}}
    play = Play(Options(cwd="/project", resume=SESSION), agent=agent)
    play.begin()
    play.answer("initialize", agent)
    assert play.fail("session/resume", -32601, "Method not found") == []
    assert play.frames[-1]["method"] == "session/load"
    [attached] = play.answer("session/load", None)
    assert isinstance(attached, EngineAttached)
    assert (attached.engine_session_id, attached.reason) == (SESSION, "resumed")


def test_usage_beside_the_end_of_a_turn_counts() -> None:
    play = Play()
    play.open()
    play.prompt()
    quota = {"token_count": {"input_tokens": 200, "output_tokens": 20}}
    end = play.answer("session/prompt", {"stopReason": "end_turn", "_meta": {"quota": quota}})[-1]
    assert isinstance(end, TurnEnded)
    assert end.usage == Usage(input_tokens=200, output_tokens=20)


def test_usage_beside_chunks_is_added_up_turn_by_turn() -> None:
    play = Play()
    play.open()
    for _ in range(2):
        play.prompt()
        for tokens in (100, 50):
            usage = {"inputTokens": tokens, "outputTokens": 1, "thoughtTokens": 0, "cachedReadTokens": 20}
            play.update(say("", _meta={"usage": usage}))
        end = play.answer("session/prompt", {"stopReason": "end_turn"})[-1]
        assert isinstance(end, TurnEnded)
        assert end.usage == Usage(input_tokens=150, output_tokens=2, cache_read_tokens=40)


def test_words_in_a_request_about_a_command_are_not_its_output() -> None:
    play = Play()
    play.open()
    play.prompt()
    words = [{"type": "content", "content": {"type": "text", "text": "[in the folder /w] (writes)"}}]
    asked = {"toolCallId": "c1", "title": "echo hi", "kind": "execute", "status": "pending", "content": words}
    options = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]
    opened = play.request(7, "session/request_permission", toolCall=asked, options=options)[-1]
    assert isinstance(opened, RequestOpened)
    play.reply(opened.request.id, Allow())
    ended = play.update(progress("c1", status="completed", content=[]))[-1]
    assert ended == ToolEnded(
        call=ToolCallId("c1"), ok=True, outcome="completed", detail=CommandDetail(command="echo hi")
    )


def test_a_command_is_told_of_when_it_is_known_and_keeps_its_folder() -> None:
    play = Play()
    play.open()
    play.prompt()
    started = play.update(call("c1", kind="execute", status="pending", rawInput={"cwd": "/w"}))[-1]
    assert isinstance(started, ToolStarted)
    assert started.detail is None
    play.update(progress("c1", status="in_progress", rawInput={"command": "ls", "cwd": "/w"}))
    play.update(progress("c1", rawInput={"command": "ls"}))
    ended = play.update(progress("c1", status="completed"))[-1]
    assert isinstance(ended, ToolEnded)
    assert ended.detail == CommandDetail(command="ls", cwd="/w")


def test_a_cancelled_prompt_that_is_answered_by_an_error_was_interrupted() -> None:
    play = Play()
    play.open()
    play.prompt()
    play.command(Interrupt(key="stop"))
    end = play.fail("session/prompt", -32603, "Internal error", details="Request was aborted")[-1]
    assert isinstance(end, TurnEnded)
    assert (end.ok, end.stop_reason, end.error) == (False, "interrupted", "interrupted")


def test_what_is_so_already_is_not_set_again() -> None:
    play = Play(Options(cwd="/project", model="small"))
    play.prompt()
    play.open(models=MODELS)
    assert [frame["method"] for frame in play.frames] == ["initialize", "session/new", "session/prompt"]


def test_servers_of_the_folder_go_to_an_agent_that_reaches_them_and_the_others_are_told() -> None:
    servers = {
        "own": Declared(command="srv", args=("-x",), env={"A": "1"}),
        "far": Declared(type="http", url="http://x", headers={"H": "v"}),
        "old": Declared(type="sse", url="http://y"),
    }
    play = Play(Options(cwd="/project", plugins=("/skills",)))
    play.conversation = AcpConversation("acp", Options(cwd="/project", plugins=("/skills",)), servers=servers)
    play.begin()
    play.answer("initialize", {**AGENT, "agentCapabilities": {"mcpCapabilities": {"http": True}}})
    params = play.last("session/new")["params"]
    assert isinstance(params, dict)
    assert params["mcpServers"] == [
        {"name": "own", "command": "srv", "args": ["-x"], "env": [{"name": "A", "value": "1"}]},
        {"type": "http", "name": "far", "url": "http://x", "headers": [{"name": "H", "value": "v"}]},
    ]
    notices = [event.text for event in play.answer("session/new", {"sessionId": SESSION}) if isinstance(event, Notice)]
    assert notices == [
        "acp cannot be given the MCP server 'old'; it goes on without",
        "acp cannot be given the skills of the folder; it goes on without",
    ]


def test_the_file_of_servers_is_read_and_a_broken_one_is_told(tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    file.write_text('{"mcpServers": {"own": {"type": "stdio", "command": "srv"}}}')
    assert read_declared(str(file)) == {"own": Declared(command="srv")}
    assert read_declared("") == {}
    file.write_text("no")
    with pytest.raises(ConfigError, match="store the servers"):
        read_declared(str(file))
