"""Sections of `[transports]`: what cannot work is told by name, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from footplate.chat.checkup import check_transports
from footplate.chat.packages import entries
from footplate.chat.plugins import GROUP, PluginKind
from footplate.config.chat import TransportSettings
from footplate.config.settings import Settings, load_settings
from footplate.errors import ConfigError
from footplate.runtime.checkup import Patient


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with a transport, as pip leaves it."""
    folder = tmp_path / "site" / "footplate_pigeon-0.1.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: footplate-pigeon\nVersion: 0.1\n")
    (folder / "entry_points.txt").write_text(f"[{GROUP}]\npigeon = contextlib:nullcontext\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    entries.cache_clear()


def settings(**section: object) -> Settings:
    return Settings(transports={"home": TransportSettings(**section)})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({}, "nobody may use the bot"),
        ({"allowed_user_ids": ("ada",)}, "no transport 'home' is installed"),
        ({"allowed_user_ids": ("ada",), "uses": "dove"}, "or name one of: .*pigeon"),
        ({"allowed_user_ids": ("ada",), "uses": "pigeon", "enabled": False}, "the section is gone"),
    ],
)
def test_a_section_that_cannot_work_says_why(section: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        PluginKind("home").check(settings(**section))


def test_one_transport_can_run_under_several_names_and_is_opened_anew_for_its_options() -> None:
    kind = PluginKind("home")
    before = settings(allowed_user_ids=("ada",), uses="pigeon", options={"loft": 1})
    kind.check(before)
    assert kind.identity(before) == kind.identity(settings(uses="pigeon", options={"loft": 1}, tick_s=1.0))
    assert kind.identity(before) != kind.identity(settings(uses="pigeon", options={"loft": 2}))


async def test_doctor_looks_at_every_section(tmp_path: Path) -> None:
    path = tmp_path / "footplate.toml"
    good = '[transports.home]\nuses = "pigeon"\nallowed_user_ids = ["ada"]\n'
    path.write_text(f'{good}[transports.away]\nallowed_user_ids = ["ada"]\n[transports.off]\nenabled = false\n')
    environ = {"FOOTPLATE_CONFIG": str(path)}
    found = await check_transports(Patient(environ, tmp_path, load_settings(environ)))
    assert [(each.name, each.status) for each in found] == [("home", "ok"), ("away", "fail")]
    assert "no transport 'away' is installed" in found[1].text
