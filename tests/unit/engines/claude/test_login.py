"""Ways to log in to Claude, and the variables of a gateway."""

from __future__ import annotations

import pytest

from footplate.engines.claude.engine import ClaudeEngine
from footplate.engines.claude.login import ROUTING, find_logins, find_route, gateway_variables, read_status
from footplate.engines.login import Account, Gateway, LoginState, LogsIn
from footplate.errors import InvalidValue


def test_a_machine_with_a_browser_has_two_ways_one_without_has_the_programs_own() -> None:
    assert [each.arguments[-1] for each in find_logins({})] == ["--claudeai", "--console"]
    assert [each.arguments for each in find_logins({"SSH_TTY": "/dev/pts/0"})] == [()]
    assert isinstance(ClaudeEngine(), LogsIn)


def test_a_gateway_gets_every_request_and_no_key_of_the_machine() -> None:
    variables = gateway_variables(Gateway(base_url="http://gate", headers={"a": "1", "b": "2"}))
    assert set(variables) >= set(ROUTING)
    assert variables["ANTHROPIC_BASE_URL"] == "http://gate"
    assert variables["ANTHROPIC_CUSTOM_HEADERS"] == "a: 1\nb: 2"
    assert variables["ANTHROPIC_API_KEY"] == ""
    bedrock = gateway_variables(Gateway(base_url="https://gate", protocol="bedrock"))
    assert (bedrock["CLAUDE_CODE_USE_BEDROCK"], bedrock["ANTHROPIC_BEDROCK_BASE_URL"]) == ("1", "https://gate")
    assert bedrock["ANTHROPIC_BASE_URL"] == ""
    place = Gateway(base_url="https://gate", protocol="vertex", project="p", region="r")
    vertex = gateway_variables(place)
    assert [vertex[f"{name}"] for name in ("CLAUDE_CODE_USE_VERTEX", "ANTHROPIC_VERTEX_BASE_URL")] == [
        "1",
        place.base_url,
    ]
    assert [vertex[name] for name in ("ANTHROPIC_VERTEX_PROJECT_ID", "CLOUD_ML_REGION")] == ["p", "r"]


@pytest.mark.parametrize(
    "gateway",
    [
        Gateway(base_url="gate"),
        Gateway(base_url="http://gate", headers={"a": "1\nauthorization: x"}),
        Gateway(base_url="http://gate", protocol="vertex", project="p"),
    ],
)
def test_an_address_or_a_header_that_is_none_is_refused(gateway: Gateway) -> None:
    with pytest.raises(InvalidValue):
        gateway_variables(gateway)


@pytest.mark.parametrize(
    ("said", "account"),
    [
        (
            '{"loggedIn":true,"apiKeySource":"ANTHROPIC_API_KEY"}',
            Account(label="Anthropic API key (ANTHROPIC_API_KEY)"),
        ),
        (
            '{"loggedIn":true,"subscriptionType":"max","email":"a@b","orgName":"B","apiKeySource":null}',
            Account(label="Claude Max", email="a@b", organization="B"),
        ),
        ('{"loggedIn":false,"apiProvider":"bedrock"}', Account(label="AWS Bedrock")),
    ],
)
def test_who_is_logged_in_is_what_the_cli_says(said: str, account: Account) -> None:
    assert read_status(said) == LoginState(state="authenticated", accounts=(account,))


def test_nobody_is_logged_in_or_nobody_knows() -> None:
    assert read_status('{"loggedIn":false}').state == "unauthenticated"
    assert read_status("what?").state == "unknown"


def test_the_route_is_that_of_the_variables() -> None:
    assert find_route({}) == Gateway(base_url="https://api.anthropic.com")
    assert find_route({"ANTHROPIC_BASE_URL": "http://a"}).base_url == "http://a"
    assert find_route({"CLAUDE_CODE_USE_BEDROCK": "1"}).protocol == "bedrock"
    assert find_route({"CLAUDE_CODE_USE_VERTEX": "1", "ANTHROPIC_VERTEX_BASE_URL": "http://v"}) == Gateway(
        base_url="http://v", protocol="vertex"
    )
