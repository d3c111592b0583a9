"""How the CLI is started: whole argument lists and whole environments."""

from __future__ import annotations

import pytest

from footplate.engines.base import HookSpec, Installed, Options, ToolServer
from footplate.engines.claude.features import parse_version
from footplate.engines.claude.launch import FLAGS, Facts, build_launch
from footplate.engines.claude.settings import Billing, ClaudeSettings
from footplate.errors import EngineRefused, InvalidValue, UnsupportedOption
from footplate.events.ids import EngineSessionId
from footplate.host.sandbox import Sandbox

NEW, OLD = (Installed(engine="claude", program="/bin/claude", version=version) for version in ("2.1.325", "2.1.197"))
UUID = EngineSessionId("3f1f1f3e-0000-4000-8000-000000000001")
STREAM = ["--output-format", "stream-json", "--verbose"]
LIVE = ["/bin/claude", "-p", "--input-format", "stream-json", *STREAM]
REPLAY = "--replay-user-messages"
TOOLS = ["--allowedTools", "Bash,Read,Edit,Write"]


def argv(options: Options, installed: Installed = NEW, settings: ClaudeSettings | None = None) -> list[str]:
    return [*build_launch(options, installed, {}, settings or ClaudeSettings(), Facts()).argv]


def test_a_plain_live_run_allows_the_default_tools() -> None:
    assert argv(Options(cwd="/w")) == [*LIVE, REPLAY, *TOOLS]


def test_with_somebody_to_ask_nothing_is_allowed_beforehand() -> None:
    assert argv(Options(cwd="/w", asks=True, partial=True)) == [
        *LIVE,
        "--permission-prompt-tool",
        "stdio",
        "--include-partial-messages",
        REPLAY,
        "--forward-subagent-text",
    ]


def test_an_older_cli_is_not_given_flags_it_does_not_know() -> None:
    assert argv(Options(cwd="/w", asks=True, partial=True), OLD) == [
        *LIVE,
        "--permission-prompt-tool",
        "stdio",
        "--include-partial-messages",
        REPLAY,
    ]


def test_a_one_shot_has_its_prompt_behind_two_dashes_and_no_stdin() -> None:
    spawn = build_launch(
        Options(cwd="/w", one_shot=True, prompt="--help me", asks=True), NEW, {}, ClaudeSettings(), Facts()
    )
    assert [*spawn.argv] == ["/bin/claude", "-p", *STREAM, "--", "--help me"]
    assert (spawn.stdin, spawn.cwd) == (False, "/w")


def test_every_option_has_its_flag_and_its_place() -> None:
    options = Options(
        cwd="/w",
        model="opus",
        mode="manual",
        effort="high",
        allow_tools=("Bash(ls *)", "Read"),
        deny_tools=("WebFetch",),
        session_id=UUID,
        max_turns=3,
        max_budget_usd=0.5,
        json_schema='{"type":"object"}',
        system_prompt="You are a lamp.",
        append_system_prompt="Be brief.",
        agents='{"rev":{}}',
        servers=(ToolServer(name="lab", tools=()),),
        add_dirs=("/a", "/b"),
    )
    assert argv(options, settings=ClaudeSettings(model="haiku", permission_mode="plan")) == [
        *LIVE,
        REPLAY,
        *("--session-id", UUID),
        *("--model", "opus"),
        *("--effort", "high"),
        *("--permission-mode", "default"),
        *("--allowedTools", "Bash(ls *),Read"),
        *("--disallowedTools", "WebFetch"),
        *("--max-turns", "3"),
        *("--max-budget-usd", "0.5"),
        *("--json-schema", '{"type":"object"}'),
        *("--system-prompt", "You are a lamp."),
        *("--append-system-prompt", "Be brief."),
        *("--agents", '{"rev":{}}'),
        *("--mcp-config", '{"mcpServers":{"lab":{"type":"sdk","name":"lab"}}}'),
        *("--add-dir", "/a", "/b"),
    ]


def test_an_effort_that_is_a_number_is_a_budget_and_one_that_the_cli_would_ignore_is_refused() -> None:
    assert argv(Options(cwd="/w", effort="8000", asks=True))[-2:] == ["--max-thinking-tokens", "8000"]
    with pytest.raises(InvalidValue, match="banana"):
        argv(Options(cwd="/w", effort="banana"))


def test_the_settings_fill_in_what_is_not_asked_for() -> None:
    settings = ClaudeSettings(
        model="haiku", permission_mode="acceptEdits", allowed_tools=(), dangerously_skip_permissions=True
    )
    assert argv(Options(cwd="/w"), settings=settings) == [
        *LIVE,
        REPLAY,
        *("--model", "haiku"),
        *("--permission-mode", "acceptEdits"),
        "--dangerously-skip-permissions",
    ]


@pytest.mark.parametrize(
    ("fork", "session", "flags"),
    [
        (False, None, ["--resume", "abc"]),
        (False, UUID, ["--resume", "abc"]),
        (True, None, ["--resume", "abc", "--fork-session"]),
        (True, UUID, ["--resume", "abc", "--fork-session", "--session-id", UUID]),
    ],
)
def test_a_resumed_session_keeps_its_id_and_a_fork_gets_one(
    fork: bool, session: EngineSessionId | None, flags: list[str]
) -> None:
    options = Options(cwd="/w", resume=EngineSessionId("abc"), fork=fork, session_id=session, allow_tools=())
    assert argv(options) == [*LIVE, REPLAY, *flags]


def test_a_version_that_nobody_could_read_gets_only_what_all_know() -> None:
    unknown = Installed(engine="claude", program="/bin/claude")
    assert "--forward-subagent-text" not in argv(Options(cwd="/w", partial=True), unknown)
    assert "--effort" in argv(Options(cwd="/w", effort="low"), unknown)


def test_what_a_version_cannot_do_is_refused_by_name() -> None:
    ancient = Installed(engine="claude", program="/bin/claude", version="2.0.9")
    with pytest.raises(UnsupportedOption, match=r"--json-schema; update the CLI to 2\.1\.197"):
        argv(Options(cwd="/w", json_schema="{}"), ancient)


def test_no_flag_stands_twice_in_the_table() -> None:
    names = [flag.name for flag in FLAGS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("text", "version"),
    [("2.1.325 (Claude Code)", (2, 1, 325)), ("v2.10.1", (2, 10, 1)), ("", ()), ("none", ())],
)
def test_versions_are_compared_as_numbers(text: str, version: tuple[int, ...]) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (Options(cwd="/w", resume=EngineSessionId("--help")), "resume"),
        (Options(cwd="/w", resume=EngineSessionId("")), "resume"),
        (Options(cwd="/w", session_id=EngineSessionId("mine")), "session_id"),
        (Options(cwd="/w", one_shot=True, prompt="x" * 131_072), "prompt"),
    ],
)
def test_values_that_the_cli_would_choke_on_are_refused(options: Options, named: str) -> None:
    with pytest.raises(InvalidValue, match=named):
        argv(options)


@pytest.mark.parametrize(
    "settings",
    [
        ClaudeSettings(dangerously_skip_permissions=True),
        ClaudeSettings(permission_mode="bypassPermissions"),
    ],
)
def test_permissions_are_not_skipped_as_root_unless_a_sandbox_is_assumed(settings: ClaudeSettings) -> None:
    root, options = Facts(root=True), Options(cwd="/w")
    with pytest.raises(EngineRefused, match="root"):
        build_launch(options, NEW, {}, settings, root)
    with pytest.raises(EngineRefused, match="root"):
        build_launch(options, NEW, {"IS_SANDBOX": "true"}, settings, root)
    assert build_launch(options, NEW, {"IS_SANDBOX": "1"}, settings, root).argv
    assert build_launch(options, NEW, {"CLAUDE_CODE_BUBBLEWRAP": "1"}, settings, root).argv
    assert build_launch(options, NEW, {}, settings, Facts()).argv


def test_an_assumed_sandbox_is_told_to_the_cli() -> None:
    settings = ClaudeSettings(permission_mode="bypassPermissions", assume_sandbox=True)
    assert build_launch(Options(cwd="/w"), NEW, {}, settings, Facts(root=True)).env["IS_SANDBOX"] == "1"


def test_a_sandbox_of_ours_is_told_to_the_cli() -> None:
    settings, options = ClaudeSettings(permission_mode="bypassPermissions"), Options(cwd="/w", sandbox=Sandbox())
    assert build_launch(options, NEW, {}, settings, Facts(root=True)).env["IS_SANDBOX"] == "1"


def test_a_profile_of_the_session_counts_more_than_that_of_the_settings() -> None:
    settings, environ = ClaudeSettings(profile="~/one"), {"HOME": "/home/me", "CLAUDE_CONFIG_DIR": "/c"}
    for options, folder in ((Options(cwd="/w"), "/home/me/one"), (Options(cwd="/w", profile="/two"), "/two")):
        spawn = build_launch(options, NEW, environ, settings, Facts())
        assert (spawn.env["CLAUDE_CONFIG_DIR"], spawn.writes) == (folder, (folder,))


def test_in_a_sandbox_the_cli_writes_its_own_files_but_not_what_others_obey() -> None:
    spawn = build_launch(Options(cwd="/w", add_dirs=("/x",)), NEW, {"HOME": "/h"}, ClaudeSettings(), Facts())
    assert spawn.writes == ("/h/.claude", "/h/.claude.json", "/x")
    assert "/h/.claude/settings.json" in spawn.reads
    assert all(path.startswith("/h/.claude/") for path in spawn.reads)


MACHINE = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "LC_ALL": "C",
    "https_proxy": "http://p",
    "SECRET": "s",
    "PYTHONPATH": "/x",
    "ANTHROPIC_BASE_URL": "http://a",
    "CLAUDE_CONFIG_DIR": "/c",
    "CLAUDE_CODE_SIMPLE": "1",
    "CLAUDECODE": "1",
    "CLAUDE_CODE_ENTRYPOINT": "cli",
    "CLAUDE_CODE_SSE_PORT": "9",
    "AWS_REGION": "eu",
    "GOOGLE_CLOUD_PROJECT": "g",
    "CLOUD_ML_REGION": "r",
    "DISABLE_TELEMETRY": "1",
    "BASH_MAX_TIMEOUT_MS": "5",
    "MCP_TIMEOUT": "6",
}
PASSED = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "LC_ALL": "C",
    "https_proxy": "http://p",
    "ANTHROPIC_BASE_URL": "http://a",
    "CLAUDE_CONFIG_DIR": "/c",
    "CLAUDE_CODE_SIMPLE": "1",
    "DISABLE_TELEMETRY": "1",
    "BASH_MAX_TIMEOUT_MS": "5",
    "MCP_TIMEOUT": "6",
    "CLAUDE_CODE_MAX_RETRIES": "4",
    "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "1",
}


def env(environ: dict[str, str], settings: ClaudeSettings | None = None, **options: object) -> dict[str, str]:
    asked = Options(cwd="/w", **options)  # type: ignore[arg-type]
    return dict(build_launch(asked, NEW, environ, settings or ClaudeSettings(), Facts()).env)


def test_the_environment_is_built_from_the_list() -> None:
    assert env(MACHINE) == PASSED


def test_with_somebody_to_ask_the_tool_search_is_off_unless_the_user_wants_it() -> None:
    assert env(MACHINE, asks=True) == {**PASSED, "ENABLE_TOOL_SEARCH": "false"}
    assert env({**MACHINE, "ENABLE_TOOL_SEARCH": "auto"}, asks=True)["ENABLE_TOOL_SEARCH"] == "auto"


def test_a_live_process_keeps_copies_of_what_it_changes_unless_the_user_does_not_want_it() -> None:
    name = "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"
    assert env({**MACHINE, name: "0"})[name] == "0"
    assert name not in env(MACHINE, one_shot=True, prompt="hi")


def test_hooks_and_tools_of_ours_need_a_live_process() -> None:
    with pytest.raises(UnsupportedOption, match="one-shot"):
        env(MACHINE, one_shot=True, prompt="hi", hooks=(HookSpec(event="Stop", name="h"),))


@pytest.mark.parametrize(
    ("switch", "more"),
    [
        ("CLAUDE_CODE_USE_BEDROCK", {"AWS_REGION": "eu"}),
        ("CLAUDE_CODE_USE_VERTEX", {"GOOGLE_CLOUD_PROJECT": "g", "CLOUD_ML_REGION": "r"}),
    ],
)
def test_the_names_of_a_cloud_pass_only_when_it_is_on(switch: str, more: dict[str, str]) -> None:
    assert env({**MACHINE, switch: "1"}) == {**PASSED, switch: "1", **more}


def test_what_was_set_on_purpose_wins() -> None:
    settings = ClaudeSettings(
        env_pass=("SECR*",), env={"A": "1", "PATH": "/opt"}, profile="/profiles/project", max_retries=2
    )
    assert env({**MACHINE, "CLAUDE_CODE_MAX_RETRIES": "7"}, settings, env={"A": "2"}) == {
        **PASSED,
        "SECRET": "s",
        "PATH": "/opt",
        "CLAUDE_CONFIG_DIR": "/profiles/project",
        "CLAUDE_CODE_MAX_RETRIES": "7",
        "A": "2",
    }


@pytest.mark.parametrize(
    ("billing", "environ", "login", "payer", "key_passed"),
    [
        ("auto", {"ANTHROPIC_API_KEY": "k"}, False, "api_key", True),
        ("auto", {"ANTHROPIC_API_KEY": "k"}, True, "subscription", False),
        ("auto", {"ANTHROPIC_API_KEY": "k", "CLAUDE_CODE_OAUTH_TOKEN": "t"}, False, "subscription", False),
        ("auto", {}, False, "none", False),
        (True, {"ANTHROPIC_API_KEY": "k"}, True, "api_key", True),
        (False, {"ANTHROPIC_API_KEY": "k"}, False, "none", False),
        (False, {"ANTHROPIC_API_KEY": "k"}, True, "subscription", False),
        ("auto", {"ANTHROPIC_AUTH_TOKEN": "t"}, False, "auth_token", False),
        ("auto", {"CLAUDE_CODE_USE_BEDROCK": "1"}, True, "bedrock", False),
        ("auto", {"CLAUDE_CODE_USE_VERTEX": "1"}, False, "vertex", False),
    ],
)
def test_who_pays_is_decided_by_the_setting_and_the_login_and_noted(
    billing: Billing, environ: dict[str, str], login: bool, payer: str, key_passed: bool
) -> None:
    settings = ClaudeSettings(use_api_billing=billing)
    spawn = build_launch(Options(cwd="/w"), NEW, environ, settings, Facts(login=login))
    assert spawn.notes == {"billing": payer}
    assert ("ANTHROPIC_API_KEY" in spawn.env) is key_passed
