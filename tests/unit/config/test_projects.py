"""Projects in the settings: names, paths, and a file that is changed with its comments kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from footplate.config.live import LiveSettings
from footplate.config.projects import RESERVED, alias_problem
from footplate.config.settings import Settings, load_settings
from footplate.config.writing import change_settings
from footplate.engines.catalog import engine_names
from footplate.errors import ConfigError
from footplate.main import command_line


def _load(folder: Path, text: str) -> Settings:
    path = folder / "footplate.toml"
    path.write_text(text)
    return load_settings({"FOOTPLATE_CONFIG": str(path)})


@pytest.mark.parametrize("alias", ["shop", "a", "web_2", "x" * 32])
def test_a_name_of_a_project(alias: str) -> None:
    assert alias_problem(alias) == ""


@pytest.mark.parametrize("alias", ["", "Shop", "my-shop", "x" * 33, "a/b", "..", "run", "claude", "ctx", "usage"])
def test_a_name_that_cannot_be_one(alias: str) -> None:
    assert alias_problem(alias)


def test_every_command_and_every_engine_is_a_reserved_word() -> None:
    from footplate.interfaces.cli.app import COMMANDS

    command_line()
    words = {name.replace("-", "_") for name in (*COMMANDS, *engine_names())}
    assert words - RESERVED == set(), "add these to config/projects.py"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[projects.Shop]\npath = "/x"\n', "[projects.Shop] cannot be used: a name is 1 to 32 of a-z"),
        ('[projects.run]\npath = "/x"\n', "'run' is a word of the command line"),
        ('[projects.shop]\npath = "src/shop"\n', "'src/shop' is relative"),
        ('[projects.shop]\npath = "/x"\nworktrees_dir = "../w"\n', "climbs"),
        ('default_project = "shop"\n', "default_project 'shop' is not in [projects]"),
    ],
)
def test_a_project_that_cannot_be_used_is_told(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=r".") as caught:
        _load(tmp_path, text)
    assert told in str(caught.value)


def test_a_file_is_changed_with_its_comments_kept(tmp_path: Path) -> None:
    path = tmp_path / "new" / "footplate.toml"
    change_settings(path, lambda document: document.update({"default_engine": "mock"}))
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text('# mine\ndefault_engine = "mock"  # for now\n\n[http]\n# slow\nstop_s = 3\n')
    path.chmod(0o644)
    change_settings(path, lambda document: document.update({"default_engine": "codex"}))
    assert path.read_text() == '# mine\ndefault_engine = "codex"  # for now\n\n[http]\n# slow\nstop_s = 3\n'
    assert path.stat().st_mode & 0o777 == 0o644
    assert [each.name for each in path.parent.iterdir()] == ["footplate.toml"]


def test_what_could_not_be_read_back_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "footplate.toml"
    path.write_text('default_engine = "mock"\n')
    with pytest.raises(ConfigError, match="unknown field"):
        change_settings(path, lambda document: document.update({"defalt": 1}))
    assert path.read_text() == 'default_engine = "mock"\n'
    path.write_text("broken = \n")
    with pytest.raises(ConfigError, match="not TOML"):
        change_settings(path, lambda document: document.update({"default_engine": "mock"}))


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles" / "footplate.toml", tmp_path / "footplate.toml"
    real.parent.mkdir()
    real.write_text("")
    link.symlink_to(real)
    change_settings(link, lambda document: document.update({"default_engine": "mock"}))
    assert link.is_symlink()
    assert real.read_text() == 'default_engine = "mock"\n'


def test_settings_follow_their_file_and_a_bad_one_keeps_the_old(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "footplate.toml"
    path.write_text('default_engine = "mock"\n')
    environ = {"FOOTPLATE_CONFIG": str(path)}
    live = LiveSettings(load_settings(environ), environ)
    assert live.now.default_engine == "mock"
    path.write_text('default_engine = "codex" # another\n')
    assert live.now.default_engine == "codex"
    path.write_text("defalt = 3\n")
    assert live.now.default_engine == "codex"
    assert "stay in force" in caplog.text
