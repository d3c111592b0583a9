"""Ways to log in to Claude, and the variables of a gateway."""

from __future__ import annotations

import pytest

from footplate.engines.claude.engine import ClaudeEngine
from footplate.engines.claude.login import ROUTING, find_logins, gateway_variables
from footplate.engines.login import Gateway, LogsIn
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


@pytest.mark.parametrize(
    "gateway", [Gateway(base_url="gate"), Gateway(base_url="http://gate", headers={"a": "1\nauthorization: x"})]
)
def test_an_address_or_a_header_that_is_none_is_refused(gateway: Gateway) -> None:
    with pytest.raises(InvalidValue):
        gateway_variables(gateway)
