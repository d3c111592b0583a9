"""Options of the Claude Agent SDK, as editors hand them over, become ours."""

from __future__ import annotations

import json

import msgspec
import pytest

from footplate.engines.base import Installed, Options, Spawn
from footplate.engines.claude.engine import ClaudeEngine
from footplate.engines.claude.sdk_options import read_sdk_options
from footplate.engines.declared import Declared
from footplate.engines.tuning import Extras, Tunable, Tuning
from footplate.errors import InvalidValue


def _read(options: object) -> Tuning:
    return read_sdk_options(msgspec.Raw(json.dumps(options).encode()))


def test_what_has_a_place_of_its_own_goes_there() -> None:
    options = {
        "model": "opus",
        "permissionMode": "plan",
        "effort": "high",
        "env": {"A": "1", "B": None},
        "outputFormat": {"type": "json_schema", "schema": {"type": "object"}},
        "allowedTools": ["Read"],
        "disallowedTools": ["Bash"],
        "maxTurns": 3,
        "systemPrompt": "You are terse.",
        "agents": {"tester": {"description": "tests"}},
        "additionalDirectories": ["/b"],
        "plugins": [{"type": "local", "path": "/p"}],
        "maxBudgetUsd": 1.5,
        "mcpServers": {"a": {"command": "/a", "args": ["-x"]}, "b": {"type": "http", "url": "http://b"}},
        "enableFileCheckpointing": True,
        "allowDangerouslySkipPermissions": True,
        "includePartialMessages": True,
        "hooks": {},
        "spawnClaudeCodeProcess": 1,
    }
    assert _read(options) == Tuning(
        model="opus",
        mode="plan",
        effort="high",
        env={"A": "1"},
        max_budget_usd=1.5,
        servers={"a": Declared(command="/a", args=("-x",)), "b": Declared(type="http", url="http://b")},
        output_schema='{"type": "object"}',
        extras=Extras(
            allow_tools=("Read",),
            deny_tools=("Bash",),
            max_turns=3,
            system_prompt="You are terse.",
            agents='{"tester":{"description": "tests"}}',
            add_dirs=("/b",),
            plugins=("/p",),
        ),
        unknown=("allowDangerouslySkipPermissions", "spawnClaudeCodeProcess"),
    )


def test_what_is_only_a_flag_of_the_cli_stands_behind_ours() -> None:
    tuning = _read(
        {
            "systemPrompt": {"type": "preset", "preset": "claude_code", "append": "Be kind."},
            "fallbackModel": "haiku",
            "settingSources": [],
            "settings": {"a": 1},
            "betas": ["one", "two"],
            "tools": ["Read", "Bash"],
            "strictMcpConfig": True,
            "maxThinkingTokens": 0,
            "extraArgs": {"debug-file": "/x", "brief": None},
        }
    )
    expected = [
        *("--settings", '{"a":1}', "--setting-sources", "", "--tools", "Read,Bash", "--strict-mcp-config"),
        *("--max-thinking-tokens", "0", "--betas", "one", "two", "--debug-file", "/x", "--brief"),
    ]
    assert list(tuning.extras.arguments) == ["--fallback-model", "haiku", *expected]
    assert tuning.extras.append_system_prompt == "Be kind."
    engine = ClaudeEngine()
    assert isinstance(engine, Tunable)
    options = Options(cwd="/", **msgspec.structs.asdict(tuning.extras))
    launch = engine.launch(options, Installed(engine="claude", program="/claude", version="2.1.325"), {"HOME": "/h"})
    assert isinstance(launch, Spawn)
    assert launch.argv[-len(tuning.extras.arguments) :] == tuning.extras.arguments


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({"thinking": {"type": "disabled"}}, "--thinking disabled"),
        ({"thinking": {"type": "adaptive", "display": "omitted"}}, "--thinking adaptive --thinking-display omitted"),
        ({"thinking": {"type": "enabled", "budgetTokens": 2000}}, "--max-thinking-tokens 2000"),
        ({"thinking": {"type": "enabled"}}, "--thinking adaptive"),
        ({"taskBudget": {"total": 9000}, "includeHookEvents": True}, "--task-budget 9000 --include-hook-events"),
        ({"sandbox": {"enabled": True}, "settings": {"a": 1}}, '--settings {"a":1,"sandbox":{"enabled":true}}'),
        ({"debug": True, "debugFile": "/d"}, "--debug-file /d --debug"),
        (
            {"systemPrompt": {"type": "preset", "excludeDynamicSections": True}},
            "--exclude-dynamic-system-prompt-sections",
        ),
    ],
)
def test_an_option_is_the_flag_that_the_sdk_makes_of_it(options: object, arguments: str) -> None:
    assert " ".join(_read(options).extras.arguments) == arguments


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"maxTurns": "many"}, "maxTurns"),
        ({"permissionMode": "yolo"}, "yolo"),
        ({"extraArgs": {"permission-mode": "plan"}}, "permission-mode"),
        ({"extraArgs": {"--print": None}}, "--print"),
        ({"maxBudgetUsd": 0}, "maxBudgetUsd"),
        ({"sandbox": {}, "settings": "/a/file"}, "sandbox"),
        ({"thinking": {"type": "hard"}}, "thinking"),
        ([], "object"),
    ],
)
def test_what_cannot_be_is_refused_by_name(options: object, told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        _read(options)
