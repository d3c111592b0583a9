"""Settings: one file, overridden by the environment, and an error that says what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from footplate.config.keys import find_setting
from footplate.config.places import data_folder, settings_file
from footplate.config.settings import Settings, common_settings, known_engines, load_settings
from footplate.config.writing import check_text
from footplate.engines.catalog import engine_names
from footplate.engines.known_agents import OFFERS
from footplate.errors import ConfigError


def _file(folder: Path, text: str) -> dict[str, str]:
    path = folder / "footplate.toml"
    path.write_text(text)
    return {"FOOTPLATE_CONFIG": str(path)}


def test_no_file_gives_the_defaults(tmp_path: Path) -> None:
    assert load_settings({"HOME": str(tmp_path)}) == Settings()


def test_the_file_is_found_in_the_config_folder(tmp_path: Path) -> None:
    path = tmp_path / ".config" / "footplate" / "footplate.toml"
    path.parent.mkdir(parents=True)
    path.write_text('default_engine = "mock"\n')
    assert settings_file({"HOME": str(tmp_path)}) == path
    assert load_settings({"HOME": str(tmp_path)}).default_engine == "mock"


def test_xdg_folders_are_honoured() -> None:
    assert settings_file({"XDG_CONFIG_HOME": "/c"}) == Path("/c/footplate/footplate.toml")
    assert data_folder({"XDG_DATA_HOME": "/d"}) == Path("/d/footplate")
    assert data_folder({"HOME": "/h"}) == Path("/h/.local/share/footplate")
    assert data_folder({"FOOTPLATE_DATA_DIR": "/x", "XDG_DATA_HOME": "/d"}) == Path("/x")


def test_a_variable_overrides_the_file(tmp_path: Path) -> None:
    env = _file(tmp_path, 'default_engine = "codex"\n[engines.claude]\nmodel = "sonnet"\n')
    env |= {
        "FOOTPLATE__DEFAULT_ENGINE": "mock",
        "FOOTPLATE__ENGINES__CLAUDE__MODEL": "opus",
        "FOOTPLATE__ENGINES__CLAUDE__ALLOWED_TOOLS": '["Read"]',
        "FOOTPLATE__ENGINES__CLAUDE__RUN_TIMEOUT_S": "2.5",
    }
    settings = load_settings(env)
    assert settings.default_engine == "mock"
    assert settings.engines["claude"] == {"model": "opus", "allowed_tools": ["Read"], "run_timeout_s": 2.5}
    assert common_settings(settings, "claude").run_timeout_s == 2.5


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('defalt_engine = "x"', "did you mean 'default_engine'?"),
        ('[claude]\nmodel = "opus"', "unknown section [claude]; settings of an engine belong in [engines.claude]"),
        ("[codex]", "unknown section [codex]; settings of an engine belong in [engines.codex]"),
        ("[mock]", "unknown section [mock]; settings of an engine belong in [engines.mock]"),
        ("[copilot]", "unknown section [copilot]; settings of an engine belong in [engines.copilot]"),
        ('[acp_agents.ours]\ncommand = ["x"]\n[ours]', "settings of an engine belong in [engines.ours]"),
        ("[http]\nopencode = true", "the OpenCode-compatible surface does not exist yet"),
        ("[http]\nopencode = true", "; remove it or write `opencode = false`"),
        ("zzz = 1", "known settings here: default_engine, rules, runtime, http, "),
        ('[files]\nroots = ["projects"]', "'projects' in roots is relative; write /a/folder or ~/a/folder"),
        ("default_engine = 3", "Expected `str`, got `int`"),
        ("default_engine = ", "not TOML"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_with_what_to_do(tmp_path: Path, text: str, told: str) -> None:
    env = _file(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_settings(env)
    assert told in str(caught.value)
    assert env["FOOTPLATE_CONFIG"] in str(caught.value)


def test_an_engine_section_at_the_top_level_is_refused_from_a_variable_and_by_config_set_too(tmp_path: Path) -> None:
    env = _file(tmp_path, "")
    with pytest.raises(ConfigError, match=r"belong in \[engines\.claude\]"):
        load_settings({**env, "FOOTPLATE__CLAUDE__MODEL": "opus"})
    with pytest.raises(ConfigError, match=r"belong in \[engines\.claude\]"):
        check_text(tmp_path / "footplate.toml", '[claude]\nmodel = "opus"')
    with pytest.raises(ConfigError, match=r"did you mean 'engines\.claude\.model'\?"):
        find_setting(load_settings(env), "claude.model")


def test_every_built_in_and_known_engine_is_recognised_as_a_misplaced_section() -> None:
    assert {*engine_names(), *(offer.id for offer in OFFERS)} <= known_engines({})


def test_the_opencode_switch_may_be_false_but_not_true(tmp_path: Path) -> None:
    env = _file(tmp_path, "[http]\nopencode = false\n")
    assert load_settings(env).http.opencode is False
    with pytest.raises(ConfigError, match="`opencode = true`"):
        load_settings({**env, "FOOTPLATE__HTTP__OPENCODE": "true"})


def test_a_named_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load_settings({"FOOTPLATE_CONFIG": str(tmp_path / "none.toml")})


@pytest.mark.parametrize(
    ("name", "told"),
    [("FOOTPLATE__DEFAULT_ENGINE__X", "is a value, not a section"), ("FOOTPLATE__A____B", "an empty part")],
)
def test_a_variable_that_fits_nowhere_is_an_error(tmp_path: Path, name: str, told: str) -> None:
    env = _file(tmp_path, 'default_engine = "mock"\n')
    with pytest.raises(ConfigError, match=told):
        load_settings({**env, name: "x"})
