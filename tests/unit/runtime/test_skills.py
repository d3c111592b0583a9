"""Skills of a folder: found, fetched with real git, put together once, and told when they cannot be had."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from footplate.errors import ConfigError, InvalidValue
from footplate.runtime.folder_config import FolderFile, SkillsConfig, SkillSource
from footplate.runtime.services import Services
from footplate.runtime.skills import SkillShelf, build_plugin, pick_skills, plan_fetch


def _skill(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: d\n---\nText.\n")
    return folder


def test_skills_are_picked_from_a_folder_its_children_and_its_skills(tmp_path: Path) -> None:
    for place in ("one", "skills/two", ".claude/skills/three", "no-skill/deep/four"):
        _skill(tmp_path / place)
    assert [name for name, _ in pick_skills(tmp_path, None)] == ["one", "two", "three"]
    assert [name for name, _ in pick_skills(tmp_path, ("two",))] == ["two"]
    assert [name for name, _ in pick_skills(tmp_path / "one", None)] == ["one"]
    with pytest.raises(InvalidValue, match="four"):
        dict(pick_skills(tmp_path, ("four",)))
    with pytest.raises(InvalidValue, match="nothing"):
        dict(pick_skills(tmp_path / "nothing", None))


def test_the_same_skills_are_put_together_once_and_changed_ones_anew(tmp_path: Path) -> None:
    skill = _skill(tmp_path / "one")
    first = build_plugin(tmp_path / "plugins", {"one": skill})
    assert build_plugin(tmp_path / "plugins", {"one": skill}) == first
    assert (Path(first) / "skills" / "one" / "SKILL.md").is_file()
    assert (Path(first) / ".claude-plugin" / "plugin.json").is_file()
    (skill / "more.txt").write_text("more")
    assert build_plugin(tmp_path / "plugins", {"one": skill}) != first


def test_a_source_cannot_be_an_option_of_git(tmp_path: Path) -> None:
    fetch = plan_fetch(SkillSource(type="github", source="o/r", ref="main"), tmp_path / "x", {})
    address = ("--branch", "main", "--", "https://github.com/o/r.git", str(tmp_path / "x"))
    assert fetch.argv == ("git", "clone", "--quiet", "--depth", "1", *address)
    for bad in (SkillSource(type="git", source="--upload-pack=x"), SkillSource(type="git", source="a", ref="-b")):
        with pytest.raises(InvalidValue):
            plan_fetch(bad, tmp_path / "x", {})


async def test_a_repository_is_cloned_once_and_what_is_missing_is_told(services: Services, tmp_path: Path) -> None:
    repository, work = tmp_path / "repository", tmp_path / "work"
    work.mkdir()
    _skill(repository / "skills" / "greeting")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.example", "-C", str(repository)]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        await asyncio.to_thread(subprocess.run, [*git, *arguments], check=True)
    sources = (
        SkillSource(type="git", source=f"file://{repository}"),
        SkillSource(type="git", source=f"file://{tmp_path}/nothing"),
    )
    await FolderFile(services.store, "skills", SkillsConfig, str(work)).put("s", SkillsConfig(sources=sources))
    shelf = SkillShelf(tmp_path / "shelf", services.keeper, services.environ)
    gathered = await shelf.gather(services.store, str(work))
    assert sorted(path.name for path in (tmp_path / "shelf" / "sources").iterdir() if path.suffix != ".new")
    assert gathered.folder
    assert len(gathered.problems) == 1
    assert "nothing" in gathered.problems[0]
    again = await shelf.gather(services.store, str(work))
    assert again.folder == gathered.folder


async def test_a_file_of_a_folder_that_is_not_utf_8_is_named(services: Services, tmp_path: Path) -> None:
    config = FolderFile(services.store, "skills", SkillsConfig, str(tmp_path))
    config.path.parent.mkdir(parents=True)
    config.path.write_bytes(b'{"s":{"sources":[{"type":"git","source":"caf\xe9"}]}}')
    with pytest.raises(ConfigError, match=r"skills\.json.*mend or remove the file"):
        await config.read()
