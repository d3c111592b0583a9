"""`footplate credentials extract`: what is found, whose it is, by which variable it goes, and what is shown of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from footplate.interfaces.cli.extraction import extract
from footplate.main import command_line

KEY, TOKEN = "sk-ant-of-the-test-0001", "oat-of-the-test-0002"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a login of Claude, one of Codex and one of OpenCode."""
    _write(tmp_path / ".claude/.credentials.json", {"claudeAiOauth": {"accessToken": TOKEN, "expiresAt": 9e12}})
    _write(tmp_path / ".codex/auth.json", {"OPENAI_API_KEY": None, "tokens": {"access_token": "codex-token"}})
    _write(tmp_path / ".local/share/opencode/auth.json", {"groq": {"type": "api", "key": "gsk-1"}})
    return tmp_path


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def _found(environ: dict[str, str], *, oauth: bool = True) -> dict[str, tuple[str, str, str]]:
    return {name: (each.kind, each.value, each.variable) for name, each in extract(environ, oauth=oauth).items()}


def test_a_token_of_a_login_goes_by_the_variable_of_tokens(home: Path) -> None:
    assert _found({"HOME": str(home)}) == {
        "anthropic": ("oauth", TOKEN, "CLAUDE_CODE_OAUTH_TOKEN"),
        "openai": ("oauth", "codex-token", ""),
        "groq": ("api_key", "gsk-1", ""),
    }


def test_a_variable_comes_before_a_file_and_tokens_can_be_left_out(home: Path) -> None:
    assert _found({"HOME": str(home), "ANTHROPIC_API_KEY": KEY})["anthropic"] == ("api_key", KEY, "ANTHROPIC_API_KEY")
    assert _found({"HOME": str(home)}, oauth=False) == {"groq": ("api_key", "gsk-1", "")}


def test_what_has_expired_or_cannot_be_read_is_no_find(home: Path) -> None:
    _write(home / ".claude/.credentials.json", {"claudeAiOauth": {"accessToken": TOKEN, "expiresAt": 1000}})
    (home / ".codex/auth.json").write_text("{ broken")
    assert set(_found({"HOME": str(home)})) == {"groq"}


def test_values_are_shown_only_when_asked_for(home: Path) -> None:
    def call(*args: str) -> str:
        env = {"HOME": str(home), "ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": "it's one", "CODEX_HOME": None}
        result = CliRunner(env=env).invoke(command_line(), ["credentials", *args])
        assert result.exit_code == 0, result.output
        return result.output

    assert KEY not in call("extract", "--json")
    assert json.loads(call("extract", "--json", "--reveal"))["anthropic"]["value"] == KEY
    assert list(json.loads(call("extract", "--json", "--agent", "codex"))) == ["openai"]
    assert call("extract-env", "--export") == (
        f"export ANTHROPIC_API_KEY={KEY}\nexport OPENAI_API_KEY='it'\"'\"'s one'\n"
    )
