"""Which credential the CLI gets when the operator picks one, and how the list of credentials shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from footplate.engines.base import Installed, Options
from footplate.engines.claude.engine import ClaudeEngine
from footplate.engines.claude.settings import ClaudeSettings
from footplate.errors import EngineRefused

INSTALLED = Installed(engine="claude", program="/bin/claude", version="2.1.325")
LATER = "2999-01-01T00:00:00+00:00"
LOGIN_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A home with a credential in every place, and one in every variable."""
    (tmp_path / ".claude.json.api").write_text(json.dumps({"apiKey": "sk-ant-file"}))
    (tmp_path / ".claude-oauth-credentials.json").write_text(json.dumps({"accessToken": "tok", "expiresAt": LATER}))
    return {
        "HOME": str(tmp_path),
        "ANTHROPIC_API_KEY": "sk-ant-env",
        "CLAUDE_API_KEY": "sk-ant-other",
        "ANTHROPIC_AUTH_TOKEN": "tok-auth",
        "CLAUDE_CODE_OAUTH_TOKEN": "tok-oauth",
    }


@pytest.mark.parametrize(
    ("picked", "passed"),
    [
        ("~/.claude.json.api#apiKey", {"ANTHROPIC_API_KEY": "sk-ant-file"}),
        ("CLAUDE_API_KEY", {"ANTHROPIC_API_KEY": "sk-ant-other"}),
        ("ANTHROPIC_AUTH_TOKEN", {"ANTHROPIC_AUTH_TOKEN": "tok-auth"}),
        ("CLAUDE_CODE_OAUTH_TOKEN", {"CLAUDE_CODE_OAUTH_TOKEN": "tok-oauth"}),
        ("~/.claude-oauth-credentials.json#accessToken", {"CLAUDE_CODE_OAUTH_TOKEN": "tok"}),
    ],
)
def test_the_cli_gets_the_picked_credential_and_no_other(
    environ: dict[str, str], picked: str, passed: dict[str, str]
) -> None:
    engine = ClaudeEngine(ClaudeSettings(credential=picked, env={"ANTHROPIC_API_KEY": "sk-ant-settings", "A": "1"}))
    env = engine.launch(Options(cwd="/w"), INSTALLED, environ).env
    assert {name: env[name] for name in LOGIN_VARIABLES if name in env} == passed
    assert env["A"] == "1"
    listed = [credential for credential in engine.credentials(environ) if credential.used_by_cli]
    assert [credential.field for credential in listed] == [picked.rpartition("#")[2]]


def test_every_credential_that_is_listed_can_be_picked(environ: dict[str, str]) -> None:
    environ["ANTHROPIC_API_KEY"] = "a-key-of-a-gateway"
    chosen = {"CLAUDE_CODE_OAUTH_TOKEN": "tok-settings", "ANTHROPIC_API_KEY": "key-settings"}
    listed = ClaudeEngine(ClaudeSettings(env=chosen)).credentials(environ)
    assert len(listed) == 8
    for credential in listed:
        picked = f"{credential.source}#{credential.field}"
        engine = ClaudeEngine(ClaudeSettings(credential=picked.removeprefix("environment#"), env=chosen))
        passed = engine.launch(Options(cwd="/w"), INSTALLED, environ).env
        assert len([name for name in LOGIN_VARIABLES if name in passed]) == 1, picked
        (used,) = [each for each in engine.credentials(environ) if each.used_by_cli]
        assert (used.source, used.field) == (credential.source, credential.field)


def test_a_variable_that_only_the_settings_have_is_picked_by_its_name(environ: dict[str, str]) -> None:
    del environ["ANTHROPIC_API_KEY"]
    engine = ClaudeEngine(ClaudeSettings(credential="ANTHROPIC_API_KEY", env={"ANTHROPIC_API_KEY": "key-settings"}))
    env = engine.launch(Options(cwd="/w"), INSTALLED, environ).env
    assert {name: env[name] for name in LOGIN_VARIABLES if name in env} == {"ANTHROPIC_API_KEY": "key-settings"}
    assert [each.source for each in engine.credentials(environ) if each.used_by_cli] == ["[engines.claude] env"]


@pytest.mark.parametrize(
    "picked", ["HOME", "NOBODY", "~/.claude.json.api#accessToken", "~/none.json#accessToken", "~/.claude.json.api#no"]
)
def test_what_holds_no_credential_is_refused_by_name(environ: dict[str, str], picked: str) -> None:
    engine = ClaudeEngine(ClaudeSettings(credential=picked))
    with pytest.raises(
        EngineRefused, match=r"\[engines\.claude\] credential: .* holds no API key and no login"
    ) as caught:
        engine.launch(Options(cwd="/w"), INSTALLED, environ)
    assert repr(picked) in str(caught.value)
    assert not [credential for credential in engine.credentials(environ) if credential.used_by_cli]
