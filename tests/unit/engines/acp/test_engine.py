"""ACP agents as engines: where the program is, what reaches it, resume lines, the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from footplate.config.acp import AcpAgentSettings
from footplate.config.settings import Settings
from footplate.engines.base import Credential, Described, HookSpec, Installed, Options, Spawn
from footplate.engines.catalog import engine_names, find_resume, make_engine
from footplate.errors import ConfigError, EngineNotExecutable, EngineNotFound, UnknownEngine, UnsupportedOption
from footplate.events.base import ResumeToken
from footplate.events.ids import EngineSessionId

OWN = Settings(
    acp_agents={
        "own": AcpAgentSettings(command=("own-agent", "--acp"), env={"MINE": "1"}, env_pass=("OWN_*",)),
        "claude": AcpAgentSettings(command=("claude-agent-acp",)),
    }
)


def program(folder: Path, name: str, *, mode: int = 0o755) -> dict[str, str]:
    """A program of that name in a package, and an environment in which it is found."""
    package = folder / "node_modules" / name
    (package / "dist").mkdir(parents=True)
    (package / "package.json").write_text('{"name": "x", "version": "1.2.3"}')
    made = package / "dist" / "cli.js"
    made.write_text("")
    made.chmod(mode)
    shelf = folder / "bin"
    shelf.mkdir()
    (shelf / name).symlink_to(made)
    return {"PATH": str(shelf), "HOME": str(folder)}


async def test_an_agent_is_found_on_the_path_with_the_version_of_its_package(tmp_path: Path) -> None:
    environ = program(tmp_path, "gemini") | {"GEMINI_API_KEY": "k", "GEMINI_MODEL": "m", "OTHER_API_KEY": "o"}
    installed = await make_engine("gemini").locate(environ)
    expected = str(tmp_path / "bin" / "gemini")
    assert installed == Installed(engine="gemini", program=expected, version="1.2.3", keys=("GEMINI_API_KEY",))


async def test_an_install_of_our_own_is_used_where_there_is_no_other(tmp_path: Path) -> None:
    environ = {"PATH": "/nonexistent", "HOME": str(tmp_path), "FOOTPLATE_DATA_DIR": str(tmp_path / "data")}
    own = tmp_path / "data" / "installs" / "qwen" / "bin"
    own.mkdir(parents=True)
    (own / "qwen").write_text("")
    (own / "qwen").chmod(0o755)
    assert (await make_engine("qwen").locate(environ)).program == str(own / "qwen")


async def test_an_agent_that_is_not_there_says_how_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(EngineNotFound, match="npm install -g opencode-ai"):
        await make_engine("opencode").locate({"PATH": "/nonexistent", "HOME": str(tmp_path)})
    with pytest.raises(EngineNotFound, match=r"correct \[acp_agents.own\] command"):
        await make_engine("own", OWN).locate({"PATH": "/nonexistent", "HOME": str(tmp_path)})


async def test_a_file_that_cannot_be_run_is_told_as_that(tmp_path: Path) -> None:
    environ = program(tmp_path, "gemini", mode=0o644)
    settings = Settings(engines={"gemini": {"program": str(tmp_path / "bin" / "gemini")}})
    with pytest.raises(EngineNotExecutable, match="permission denied"):
        await make_engine("gemini", settings).locate(environ)


def test_the_command_and_the_environment_are_built_from_lists() -> None:
    settings = Settings(engines={"gemini": {"args": ["--debug"], "env": {"A": "1"}, "env_pass": ["B_*"]}})
    environ = {"PATH": "/bin", "HOME": "/h", "GEMINI_API_KEY": "k", "SECRET": "s", "B_1": "b"}
    options = Options(cwd="/project", env={"OF_SESSION": "o"})
    launch = make_engine("gemini", settings).launch(options, Installed(engine="gemini", program="/x/gemini"), environ)
    env = {"PATH": "/bin", "HOME": "/h", "GEMINI_API_KEY": "k", "B_1": "b", "A": "1", "OF_SESSION": "o"}
    assert launch == Spawn(argv=("/x/gemini", "--acp", "--debug"), env=env, cwd="/project")


def test_a_command_of_the_settings_is_an_engine() -> None:
    assert engine_names(OWN)[-1] == "own"
    engine = make_engine("own", OWN)
    environ = {"PATH": "/bin", "HOME": "/h", "OWN_KEY": "k", "OTHER": "o"}
    launch = engine.launch(Options(cwd="/project"), Installed(engine="own", program="/x/own-agent"), environ)
    env = {"PATH": "/bin", "HOME": "/h", "OWN_KEY": "k", "MINE": "1"}
    assert launch == Spawn(argv=("/x/own-agent", "--acp"), env=env, cwd="/project")
    assert (engine.name, engine.title) == ("own", "own")


def test_a_command_does_not_take_the_place_of_an_engine() -> None:
    assert make_engine("claude", OWN).title == "Claude Code"


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("gemini", Settings(engines={"gemini": {"modle": "x"}}), "modle"),
        ("own", Settings(acp_agents=OWN.acp_agents, engines={"own": {"program": "x"}}), "program"),
    ],
)
def test_a_setting_that_nobody_knows_is_an_error(name: str, settings: Settings, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make_engine(name, settings)


def test_an_engine_that_does_not_exist_is_told_with_all_that_do() -> None:
    with pytest.raises(UnknownEngine, match=r"gemini.*own"):
        make_engine("nonesuch", OWN)


@pytest.mark.parametrize(
    ("engine", "line"),
    [
        ("opencode", "opencode --session ses_1"),
        ("qwen", "qwen --resume ses_1"),
        ("gemini", "footplate run --engine gemini --resume ses_1"),
        ("own", "footplate run --engine own --resume ses_1"),
    ],
)
def test_a_session_is_taken_up_by_the_agents_own_command_or_by_ours(engine: str, line: str) -> None:
    token = ResumeToken(engine=engine, value=EngineSessionId("ses_1"))
    made = make_engine(engine, OWN)
    assert made.format_resume(token) == line
    assert made.is_resume_line(f"  `{line}`")
    assert not made.is_resume_line(f"{line} and more")
    assert find_resume(f"some words\n`{line}`\nmore", OWN) == token


@pytest.mark.parametrize(
    "options",
    [
        Options(cwd="/", system_prompt="x"),
        Options(cwd="/", agents="{}"),
        Options(cwd="/", hooks=(HookSpec(event="PreToolUse", name="x"),)),
        Options(cwd="/", max_turns=3),
        Options(cwd="/", one_shot=True),
    ],
)
def test_what_the_protocol_cannot_say_is_refused_by_name(options: Options) -> None:
    with pytest.raises(UnsupportedOption, match="qwen does not support"):
        make_engine("qwen").launch(options, Installed(engine="qwen", program="/x"), {})


def test_credentials_are_named_by_place_and_never_by_value(tmp_path: Path) -> None:
    settings = Settings(engines={"gemini": {"env": {"GOOGLE_API_KEY": "secret"}}})
    engine = make_engine("gemini", settings)
    assert isinstance(engine, Described)
    assert engine.needs_login
    login = tmp_path / ".gemini" / "oauth_creds.json"
    login.parent.mkdir()
    login.write_text("{}")
    found = engine.credentials({"HOME": str(tmp_path), "GEMINI_API_KEY": "secret", "OPENAI_API_KEY": "not passed"})
    assert found == (
        Credential(kind="api_key", source="environment", field="GEMINI_API_KEY", used_by_cli=True),
        Credential(kind="api_key", source="[engines.gemini] env", field="GOOGLE_API_KEY", used_by_cli=True),
        Credential(kind="oauth", source=str(login), used_by_cli=True),
    )


def test_modes_that_everybody_has_can_be_chosen_before_a_session_is_there() -> None:
    qwen, own = make_engine("qwen"), make_engine("own", OWN)
    assert isinstance(qwen, Described)
    assert isinstance(own, Described)
    [modes] = qwen.choices({})
    assert [value.value for value in modes.values] == ["plan", "default", "auto-edit", "yolo"]
    assert (own.choices({}), own.needs_login) == ((), False)
