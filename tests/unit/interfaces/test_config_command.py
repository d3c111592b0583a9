"""`footplate config`: the file from the command line, its comments kept, its mistakes told with what to write."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from footplate.config.schema import settings_schema
from footplate.config.settings import load_settings
from footplate.engines.catalog import BUILT_IN
from footplate.engines.sections import section_shapes
from footplate.errors import ConfigError
from footplate.main import command_line

FILE = """# my settings
default_engine = "mock"  # for now

[http]
stop_s = 3.0
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "footplate.toml"
    path.write_text(FILE)
    monkeypatch.setenv("FOOTPLATE_CONFIG", str(path))
    monkeypatch.setenv("HOME", str(tmp_path))
    return path


def _run(*args: str, code: int = 0) -> Result:
    result = CliRunner().invoke(command_line(), ["config", *args])
    assert result.exit_code == code, result.output
    return result


def test_a_setting_is_set_and_taken_out_with_comments_kept(file: Path) -> None:
    _run("set", "http.stop_s", "5")
    _run("set", "default_engine", "codex")
    _run("set", "engines.claude.allowed_tools", '["Read"]')
    assert file.read_text() == (
        '# my settings\ndefault_engine = "codex"  # for now\n\n[http]\nstop_s = 5\n\n'
        '[engines.claude]\nallowed_tools = ["Read"]\n'
    )
    _run("unset", "engines.claude.allowed_tools")
    assert "engines" not in file.read_text()
    assert "# for now" in file.read_text()
    assert "is not set in the file" in _run("unset", "http.log", code=2).output


def test_a_setting_is_read_wherever_it_comes_from(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTPLATE__HTTP__LOG", "json")
    assert _run("get", "default_engine").output == "mock\n"
    assert _run("get", "http.stop_s").output == "3.0\n"
    assert _run("get", "http.heartbeat_s").output == "15.0\n"
    assert json.loads(_run("get", "http").output)["log"] == "json"
    listed = [json.loads(line) for line in _run("list", "--json").output.splitlines()]
    assert {each["key"]: each["source"] for each in listed} == {
        "default_engine": "file",
        "http.stop_s": "file",
        "http.log": "environment",
    }
    assert len(_run("list", "--all").output.splitlines()) > 30


def test_a_secret_is_not_listed(file: Path) -> None:
    file.write_text('[[notify]]\nkind = "webhook"\ntarget = "http://x"\n[engines.claude]\napi_token = "hush"\n')
    assert "hush" not in _run("list").output
    assert "hush" in _run("list", "--show-secrets").output


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("set", "http.stp_s", "3"), "did you mean 'stop_s'?"),
        (("set", "http.stop_s", "soon"), "Expected `float`, got `str` - at `$.http.stop_s`"),
        (("set", "default_engine.x", "3"), "'default_engine' is a value, not a section"),
        (("set", "engines.claude.modle", "opus"), "did you mean 'model'?"),
        (("set", "engines.clade.model", "opus"), "did you mean 'claude'?"),
        (("set", "projects.shop.path", "here"), "'here' is relative"),
        (("get", "htp.stop_s"), "did you mean 'http'?"),
        (("get", "http.stp"), "did you mean 'stop_s'?"),
        (("set", "http..x", "1"), "an empty part"),
    ],
)
def test_a_mistake_changes_nothing_and_is_told(file: Path, args: tuple[str, ...], told: str) -> None:
    assert told in _run(*args, code=2).output
    assert file.read_text() == FILE


def test_the_file_is_checked(file: Path) -> None:
    assert _run("check").output == f"{file}: fine\n"
    file.write_text("[http]\nstp_s = 3\n")
    assert "did you mean 'stop_s'?" in _run("check", code=2).output
    assert json.loads(_run("check", "--json", code=2).output)["ok"] is False
    assert json.loads(_run("path", "--json").output) == {"path": str(file), "exists": True}


def test_the_section_of_an_agent_of_the_catalog_can_be_set(file: Path) -> None:
    _run("set", "engines.copilot.sandbox", "bwrap")
    assert _run("check").output == f"{file}: fine\n"
    assert "there is no engine of that name" in _run("set", "engines.copilott.sandbox", "bwrap", code=2).output


def test_an_edited_file_takes_its_place_only_when_it_can_be_used(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\ncat "$NEXT" > "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text('default_engine = "codex"\n')
    bad.write_text("defalt = 1\n")
    monkeypatch.setenv("NEXT", str(bad))
    said = _run("edit", code=2).output
    assert ("unknown field `defalt`" in said, "goes on with it" in said) == (True, True)
    assert file.read_text() == FILE
    monkeypatch.setenv("NEXT", str(good))
    _run("edit")
    assert file.read_text() == 'default_engine = "codex"\n'
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bad", "editor", "footplate.toml", "good"]
    monkeypatch.setenv("EDITOR", "false")
    assert "nothing was changed" in _run("edit", code=2).output


def test_a_secret_stands_in_a_variable_or_in_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("from the file\n")
    path = tmp_path / "footplate.toml"
    path.write_text(
        '[[notify]]\nkind = "webhook"\ntarget = { env = "HOOK" }\n[notify.headers]\nx = { file = "~/secret" }\n'
    )
    environ = {"FOOTPLATE_CONFIG": str(path), "HOME": str(tmp_path), "HOOK": "http://hook"}
    (hook,) = load_settings(environ).notify
    assert (hook.target, hook.headers) == ("http://hook", {"x": "from the file"})
    with pytest.raises(ConfigError, match="the variable HOOK is not set"):
        load_settings({name: value for name, value in environ.items() if name != "HOOK"})
    secret.unlink()
    with pytest.raises(ConfigError, match=r"secret.*No such file"):
        load_settings(environ)


def test_the_schema_takes_what_the_program_takes() -> None:
    schema = settings_schema(section_shapes())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    good = {
        "default_engine": "mock",
        "http": {"stop_s": 3},
        "engines": {"claude": {"model": "opus", "memory_mb": 100}, "another": {"x": 1}},
        "projects": {"shop": {"path": "/src/shop"}},
        "notify": [{"kind": "webhook", "target": {"env": "HOOK"}}],
    }
    assert list(validator.iter_errors(good)) == []
    for bad in ({"defalt": 1}, {"http": {"stp_s": 1}}, {"engines": {"claude": {"modle": "x"}}}):
        assert list(validator.iter_errors(bad)), bad
    printed = json.loads(_run("schema").output)
    assert printed == json.loads(json.dumps(schema))


def test_every_built_in_engine_tells_the_shape_of_its_section() -> None:
    assert set(section_shapes()) == set(BUILT_IN)
