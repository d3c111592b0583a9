"""Codex as an engine: its command line, where it is found, and what it refuses."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from footplate.engines.base import Credential, Exit, Installed, Options, Reaction, Spawn
from footplate.engines.codex.engine import CodexEngine, create
from footplate.engines.codex.launch import build_exec, build_server
from footplate.engines.codex.settings import CodexSettings
from footplate.errors import ConfigError, EngineNotExecutable, EngineNotFound, InvalidValue, UnsupportedOption
from footplate.events.base import ResumeToken
from footplate.events.commands import Interrupt
from footplate.events.ids import EngineSessionId
from footplate.events.model import EngineAttached, EngineDetached
from footplate.host.lines import Block

PLAIN = Options(cwd="/project", prompt="do it", one_shot=True)
ENVIRON = {"HOME": "/home/me", "CODEX_HOME": "/c", "OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "no", "SECRET": "no"}
PASSED = {"HOME": "/home/me", "CODEX_HOME": "/c", "OPENAI_API_KEY": "k"}
HEAD = ("codex", "exec", "--json", "--skip-git-repo-check", "-C", "/project")


@pytest.mark.parametrize(
    ("changes", "argv"),
    [
        ({}, (*HEAD, "--", "do it")),
        ({"prompt": "--help"}, (*HEAD, "--", "--help")),
        ({"resume": "t-1"}, (*HEAD, "resume", "--", "t-1", "do it")),
        (
            {"model": "m", "mode": "read-only", "effort": "high", "add_dirs": ("/a", "/b")},
            (
                *HEAD,
                "-m",
                "m",
                "-s",
                "read-only",
                "-c",
                'model_reasoning_effort="high"',
                "--add-dir",
                "/a",
                "--add-dir",
                "/b",
                "--",
                "do it",
            ),
        ),
    ],
)
def test_trap_6_the_command_line_is_a_value_and_stdin_is_closed(
    changes: dict[str, object], argv: tuple[str, ...]
) -> None:
    options = msgspec.structs.replace(PLAIN, **changes)
    assert build_exec(options, "codex", ENVIRON, CodexSettings()) == Spawn(
        argv=argv, env=PASSED, cwd="/project", stdin=False
    )


@pytest.mark.parametrize(
    ("changes", "option"),
    [
        ({"asks": True}, "permissions and questions"),
        ({"allow_tools": ("Bash",)}, "a list of allowed tools"),
        ({"deny_tools": ("Bash",)}, "a list of denied tools"),
        ({"fork": True}, "a fork of a session"),
        ({"session_id": "x"}, "a chosen session id"),
        ({"max_turns": 3}, "a limit of turns"),
        ({"max_budget_usd": 1.0}, "a limit of money"),
        ({"json_schema": "{}"}, "structured output"),
        ({"append_system_prompt": "x"}, "an appended system prompt"),
        ({"one_shot": False}, "a live conversation"),
    ],
)
def test_what_it_cannot_do_is_refused_by_name(changes: dict[str, object], option: str) -> None:
    with pytest.raises(UnsupportedOption) as refused:
        build_exec(msgspec.structs.replace(PLAIN, **changes), "codex", {}, CodexSettings())
    assert refused.value.option == option


@pytest.mark.parametrize("changes", [{"mode": "plan"}, {"effort": "much"}, {"prompt": ""}, {"prompt": "x" * 130_000}])
def test_what_it_cannot_take_is_refused_with_what_it_can(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidValue):
        build_exec(msgspec.structs.replace(PLAIN, **changes), "codex", {}, CodexSettings())


def program(folder: Path, script: str) -> dict[str, str]:
    path = folder / "codex"
    path.write_text(script)
    path.chmod(0o755)
    return {"PATH": f"{folder}:{os.defpath}"}


async def test_it_is_found_on_the_path_with_its_version(tmp_path: Path) -> None:
    environ = program(tmp_path, "#!/bin/sh\necho codex-cli 0.166.0\n")
    assert await CodexEngine().locate(environ) == Installed(
        engine="codex", program=str(tmp_path / "codex"), version="0.166.0"
    )


async def test_a_program_without_a_version_is_taken_as_it_is(tmp_path: Path) -> None:
    environ = program(tmp_path, "#!/bin/sh\nexit 1\n")
    assert (await CodexEngine().locate(environ)).version == ""


async def test_without_the_program_it_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(EngineNotFound, match="npm install -g @openai/codex"):
        await CodexEngine().locate({"PATH": str(tmp_path)})


async def test_a_program_that_cannot_be_started_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(EngineNotExecutable):
        await CodexEngine().locate(program(tmp_path, "#!/no/such/interpreter\n"))


def test_its_program_is_a_setting() -> None:
    with pytest.raises(ConfigError, match="program"):
        create({"progam": "x"})
    assert create({"program": "/opt/codex"}).name == "codex"


def test_a_conversation_speaks_and_cannot_be_spoken_to() -> None:
    options = msgspec.structs.replace(PLAIN, model="m", mode="read-only")
    conversation = CodexEngine().converse(options, Installed(engine="codex", version="1.2.3"))
    assert conversation.begin() == Reaction()
    assert conversation.feed(Block(b'{"type":"thread.started","thread_id":"t"}\n')) == Reaction(
        events=[
            EngineAttached(
                engine="codex",
                engine_session_id=EngineSessionId("t"),
                version="1.2.3",
                model="m",
                mode="read-only",
                cwd="/project",
            )
        ]
    )
    with pytest.raises(UnsupportedOption, match="codex does not support Interrupt"):
        conversation.command(Interrupt(key="i"))
    assert conversation.finish(Exit(code=0)).events == [EngineDetached(reason="the agent ended", exit_code=0)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("codex resume abc", "abc"),
        ("`codex resume abc`", "abc"),
        ("  Codex Resume abc", "abc"),
        ("codex resume one\ncodex resume two\n", "two"),
        ("run codex resume abc", None),
        ("codex --resume abc", None),
    ],
)
def test_a_resume_line_is_found_on_a_line_of_its_own(text: str, value: str | None) -> None:
    token = None if value is None else ResumeToken(engine="codex", value=EngineSessionId(value))
    assert CodexEngine().extract_resume(text) == token
    assert CodexEngine().is_resume_line(text) is (value is not None and "\n" not in text)


def test_a_resume_line_can_be_read_back() -> None:
    engine, token = CodexEngine(), ResumeToken(engine="codex", value=EngineSessionId("t-1"))
    assert engine.extract_resume(engine.format_resume(token)) == token


def test_live_it_is_its_app_server_and_is_told_the_rest_over_the_wire() -> None:
    settings = CodexSettings(env={"A": "1"}, env_pass=("SEC*",))
    options = Options(cwd="/project", asks=True, mode="plan", effort="high", fork=True, env={"OF_SESSION": "o"})
    env = {**PASSED, "SECRET": "no", "A": "1", "OF_SESSION": "o"}
    expected = Spawn(argv=("codex", "app-server"), env=env, cwd="/project")
    assert build_server(options, "codex", ENVIRON, settings) == expected


@pytest.mark.parametrize(
    "options",
    [
        Options(cwd="/", max_turns=3),
        Options(cwd="/", session_id=EngineSessionId("x")),
        Options(cwd="/", agents="{}"),
        Options(cwd="/", mode="yolo"),
        Options(cwd="/", effort="much"),
    ],
)
def test_live_what_it_cannot_do_is_refused_by_name(options: Options) -> None:
    with pytest.raises((UnsupportedOption, InvalidValue)):
        build_server(options, "codex", {}, CodexSettings())


def test_its_credentials_are_named_by_place_and_never_by_value(tmp_path: Path) -> None:
    login = tmp_path / "auth.json"
    login.write_text("{}")
    engine = CodexEngine(CodexSettings(env={"CODEX_API_KEY": "secret"}))
    assert engine.credentials({"CODEX_HOME": str(tmp_path), "OPENAI_API_KEY": "secret", "GH_TOKEN": "not passed"}) == (
        Credential(kind="api_key", source="environment", field="OPENAI_API_KEY", used_by_cli=True),
        Credential(kind="api_key", source="[engines.codex] env", field="CODEX_API_KEY", used_by_cli=True),
        Credential(kind="oauth", source=str(login), used_by_cli=True),
    )
    assert [option.id for option in engine.choices({})] == ["mode", "effort"]
