"""The methods of the mock agent and its errors, on both forms."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from footplate.engines.mock.sessions import mint_id
from footplate.version import __version__
from tests.unit.engines.mock.harness import Client, Json, Outcome, environment, start, stop, text_block

MODES = [
    {"id": "default", "name": "Default"},
    {"id": "plan", "name": "Plan"},
    {"id": "bypassPermissions", "name": "Bypass permissions"},
]


def options(model: str = "mock", mode: str = "default", effort: str = "low") -> list[Json]:
    return [
        {
            "id": "model",
            "name": "Model",
            "type": "select",
            "currentValue": model,
            "category": "model",
            "options": [{"name": "Mock", "value": "mock"}, {"name": "Mock, fast", "value": "mock-fast"}],
        },
        {
            "id": "mode",
            "name": "Mode",
            "type": "select",
            "currentValue": mode,
            "category": "mode",
            "options": [{"name": entry["name"], "value": entry["id"]} for entry in MODES],
        },
        {
            "id": "thought_level",
            "name": "Thinking",
            "type": "select",
            "currentValue": effort,
            "category": "thought_level",
            "options": [{"name": "Low", "value": "low"}, {"name": "High", "value": "high"}],
        },
    ]


def failed(code: int, message: str) -> Outcome:
    return Outcome(updates=[], asked=[], error={"code": code, "message": message})


def test_initialize_tells_what_the_agent_can(client: Client) -> None:
    assert client.greeting == {
        "protocolVersion": 1,
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "embeddedContext": True},
            "sessionCapabilities": {"list": {}},
        },
        "authMethods": [],
        "agentInfo": {"name": "footplate-mock", "version": __version__, "title": "Mock agent"},
    }


def test_a_new_session_has_modes_and_options(client: Client) -> None:
    result = client.call("session/new", {"cwd": "/project", "mcpServers": []}).result
    assert isinstance(result, dict)
    assert result == {
        "sessionId": result["sessionId"],
        "modes": {"currentModeId": "default", "availableModes": MODES},
        "configOptions": options(),
    }


def test_a_mode_is_set_and_told(client: Client) -> None:
    session = client.new_session()
    assert client.call("session/set_mode", {"sessionId": session, "modeId": "plan"}) == Outcome(
        updates=[{"sessionUpdate": "current_mode_update", "currentModeId": "plan"}], asked=[], result={}
    )


def test_an_unknown_mode_is_refused(client: Client) -> None:
    assert client.call("session/set_mode", {"sessionId": client.new_session(), "modeId": "fast"}) == failed(
        -32602, "unknown mode 'fast'; modes: default, plan, bypassPermissions"
    )


def test_an_option_is_set_and_all_are_told(client: Client) -> None:
    session = client.new_session()
    call: Json = {"sessionId": session, "configId": "model", "value": "mock-fast"}
    assert client.call("session/set_config_option", call).result == {"configOptions": options(model="mock-fast")}
    call = {"sessionId": session, "configId": "thought_level", "value": "high"}
    assert client.call("session/set_config_option", call).result == {
        "configOptions": options(model="mock-fast", effort="high")
    }
    call = {"sessionId": session, "configId": "mode", "value": "plan"}
    assert client.call("session/set_config_option", call) == Outcome(
        updates=[{"sessionUpdate": "current_mode_update", "currentModeId": "plan"}],
        asked=[],
        result={"configOptions": options(model="mock-fast", mode="plan", effort="high")},
    )


@pytest.mark.parametrize(("option", "value"), [("model", "gpt"), ("colour", "red"), ("mode", True)])
def test_an_unknown_option_or_value_is_refused(client: Client, option: str, value: object) -> None:
    call: Json = {"sessionId": client.new_session(), "configId": option, "value": value}
    assert client.call("session/set_config_option", call) == failed(
        -32602, f"no option {option!r} with a value {value!r}"
    )


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/prompt", {"prompt": []}),
        ("session/set_mode", {"modeId": "plan"}),
        ("session/set_config_option", {"configId": "model", "value": "mock"}),
        ("session/load", {"cwd": "/project", "mcpServers": []}),
    ],
)
def test_an_unknown_session_is_told_as_such(client: Client, method: str, params: Json) -> None:
    assert client.call(method, {"sessionId": "nobody", **params}) == failed(-32002, "no such session: nobody")


def test_an_unknown_method_is_told_as_such(client: Client) -> None:
    assert client.call("session/dance", {}) == failed(-32601, "Method not found: session/dance")


def test_wrong_parameters_are_told_as_such(client: Client) -> None:
    assert client.call("session/new", {"cwd": 5}) == failed(
        -32602, "Invalid params: Expected `str`, got `int` - at `$.cwd`"
    )


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        (b"{nonsense\n", -32700, "Parse error: JSON is malformed: object keys must be strings (byte 1)"),
        (b"[1]\n", -32600, "Invalid request: Expected `object`, got `array`"),
        (b'{"jsonrpc":"2.0","id":1}\n', -32600, "Invalid request: no method"),
    ],
)
def test_a_line_that_is_no_message_is_answered_and_the_agent_goes_on(
    client: Client, line: bytes, code: int, message: str
) -> None:
    client.agent.write(line)
    assert client.next() == {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    assert client.call("session/list", {"cwd": "/nowhere"}).result == {"sessions": []}


def test_notifications_are_never_answered(client: Client) -> None:
    client.notify("session/cancel", {"sessionId": "nobody"})
    client.notify("session/cancel", {})
    client.notify("session/dance", {})
    client.agent.write(b"\n  \n")
    assert client.call("session/list", {"cwd": "/nowhere"}).result == {"sessions": []}


def test_sessions_are_listed_by_folder_under_their_first_prompt(client: Client) -> None:
    session = client.new_session("/listed")
    client.prompt(session, "hello")
    assert client.call("session/list", {"cwd": "/listed"}).result == {
        "sessions": [{"sessionId": session, "cwd": "/listed", "title": "hello"}]
    }


def test_a_loaded_session_tells_its_history_again(client: Client) -> None:
    session = client.new_session()
    client.prompt(session, "hello")
    assert client.call("session/load", {"sessionId": session, "cwd": "/project", "mcpServers": []}) == Outcome(
        updates=[
            {"sessionUpdate": "user_message_chunk", "content": text_block("hello")},
            {"sessionUpdate": "agent_message_chunk", "content": text_block("mock: hello")},
        ],
        asked=[],
        result={"modes": {"currentModeId": "default", "availableModes": MODES}, "configOptions": options()},
    )


def test_a_session_outlives_its_agent_in_the_data_folder(form: str, tmp_path: Path) -> None:
    env = environment(FOOTPLATE_DATA_DIR=str(tmp_path / "data"))
    agent = start(form, env, tmp_path)
    client = Client(agent)
    session = client.new_session()
    client.prompt(session, "remember me")
    assert stop(agent) == 0
    agent = start(form, env, tmp_path)
    client = Client(agent)
    assert client.call("session/list", {}).result == {
        "sessions": [{"sessionId": session, "cwd": "/project", "title": "remember me"}]
    }
    client.call("session/load", {"sessionId": session, "cwd": "/project", "mcpServers": []})
    texts = [msgspec.json.encode(update) for update in client.prompt(session, "history").updates]
    assert stop(agent) == 0
    assert [b"remember me" in text for text in texts] == [True]


def test_a_session_that_some_mock_agent_made_can_be_loaded_without_its_history(client: Client) -> None:
    session = mint_id()
    outcome = client.call("session/load", {"sessionId": session, "cwd": "/elsewhere", "mcpServers": []})
    assert (outcome.updates, outcome.error) == ([], None)
    assert client.prompt(session, "history").result == {"stopReason": "end_turn"}
