"""Skills of a folder: fetched or found, and put together as one plugin that an agent is started with.

A source is a folder of this machine, a git repository, or `owner/name` on GitHub. What cannot be had is told and left
out; the agent starts without it.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from footplate.engines.base import Spawn as Command
from footplate.errors import FootplateError, InvalidValue
from footplate.host.environment import build_environment
from footplate.host.spawn import Spawn
from footplate.host.spawner import Spawner
from footplate.runtime.folder_config import FolderFile, SkillsConfig, SkillSource
from footplate.store.base import Store

MANIFEST: Final = "SKILL.md"
PLUGIN: Final = "footplate-skills"
LOCAL: Final = ("local", "path", "directory", "folder")
FETCH_S: Final = 120.0


class Gathered(msgspec.Struct, frozen=True, kw_only=True):
    """The plugin folder (empty: there are no skills), and what could not be had, in words."""

    folder: str = ""
    problems: tuple[str, ...] = ()


class SkillShelf:
    """Where skills are fetched to and put together, below the data folder."""

    def __init__(self, place: Path, keeper: Spawner, environ: Mapping[str, str]) -> None:
        self._place = place
        self._keeper = keeper
        self._environ = environ

    async def gather(self, store: Store, cwd: str) -> Gathered:
        """Every skill that was stored for the folder through us."""
        entries = await FolderFile(store, "skills", SkillsConfig, cwd).read_trusted()
        found: dict[str, Path] = {}
        problems: list[str] = []
        for name, entry in entries.items():
            for source in entry.sources:
                try:
                    found |= await self._find(source, cwd)
                except (FootplateError, OSError) as problem:
                    problems.append(f"skills {name!r} from {source.source}: {problem}")
        folder = await asyncio.to_thread(build_plugin, self._place / "plugins", found) if found else ""
        return Gathered(folder=folder, problems=tuple(problems))

    async def _find(self, source: SkillSource, cwd: str) -> dict[str, Path]:
        base = self._local(source, cwd) if source.type in LOCAL else await self._fetch(source)
        if source.subpath:
            base = base / source.subpath
        return await asyncio.to_thread(lambda: dict(pick_skills(base, source.skills)))

    def _local(self, source: SkillSource, cwd: str) -> Path:
        home = self._environ.get("HOME", "/")
        text = source.source.replace("~", home, 1) if source.source.startswith("~/") else source.source
        return Path(cwd) / text

    async def _fetch(self, source: SkillSource) -> Path:
        key = hashlib.sha256(f"{source.type} {source.source} {source.ref or ''}".encode()).hexdigest()[:16]
        place = self._place / "sources" / key
        if await asyncio.to_thread(place.is_dir):
            return place
        command = plan_fetch(source, place.with_suffix(".new"), self._environ)
        await asyncio.to_thread(_make_room, place)
        process = await self._keeper.spawn(Spawn(argv=command.argv, env=dict(command.env), cwd=command.cwd))
        process.close_stdin()
        try:
            async with asyncio.timeout(FETCH_S):
                while await process.read() is not None:
                    pass
        except TimeoutError:
            raise InvalidValue("source", source.source, f"a repository that is there within {FETCH_S:g} s") from None
        finally:
            ended = await process.end(close_wait=2.0)
        if ended.code != 0:
            raise InvalidValue("source", source.source, "a repository that git can clone")
        await asyncio.to_thread(place.with_suffix(".new").replace, place)
        return place


def plan_fetch(source: SkillSource, place: Path, environ: Mapping[str, str]) -> Command:
    """The git command that fetches a source. Raises `InvalidValue` for one that would be an option of git."""
    address = f"https://github.com/{source.source}.git" if source.type == "github" else source.source
    for value in (address, source.ref or ""):
        if value.startswith("-"):
            raise InvalidValue("source", value, "an address, or a branch or tag")
    ref = ("--branch", source.ref) if source.ref else ()
    argv = ("git", "clone", "--quiet", "--depth", "1", *ref, "--", address, str(place))
    env = build_environment(environ, extra={"GIT_TERMINAL_PROMPT": "0"})
    return Command(argv=argv, env=env, cwd=str(place.parent), stdin=False)


def pick_skills(base: Path, names: tuple[str, ...] | None) -> Iterator[tuple[str, Path]]:
    """The skills below a folder by name: the folder itself, its children, or those in its `skills`."""
    candidates = [base, *_children(base), *_children(base / "skills"), *_children(base / ".claude" / "skills")]
    found = {folder.name: folder for folder in candidates if (folder / MANIFEST).is_file()}
    missing = [name for name in names or () if name not in found]
    if missing or not found:
        raise InvalidValue("skills", missing[0] if missing else str(base), f"a folder there with a {MANIFEST}")
    yield from ((name, folder) for name, folder in found.items() if not names or name in names)


def _children(folder: Path) -> list[Path]:
    return sorted(child for child in folder.iterdir() if child.is_dir()) if folder.is_dir() else []


def build_plugin(place: Path, skills: Mapping[str, Path]) -> str:
    """A plugin folder with copies of these skills; one that is there already, file for file, is used again."""
    folder = place / _digest(skills)
    if folder.is_dir():
        return str(folder)
    fresh = place / f"{folder.name}.{os.getpid()}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    (fresh / ".claude-plugin").mkdir(parents=True)
    (fresh / ".claude-plugin" / "plugin.json").write_bytes(msgspec.json.encode({"name": PLUGIN, "version": "1.0.0"}))
    for name, source in skills.items():
        shutil.copytree(source, fresh / "skills" / name, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    try:
        fresh.replace(folder)
    except OSError:  # another session was quicker with the very same
        shutil.rmtree(fresh, ignore_errors=True)
    return str(folder)


def _digest(skills: Mapping[str, Path]) -> str:
    seen = hashlib.sha256()
    for name, folder in sorted(skills.items()):
        for path in sorted(folder.rglob("*")):
            stat = path.lstat()
            seen.update(f"{name} {path.relative_to(folder)} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return seen.hexdigest()[:24]


def _make_room(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(place.with_suffix(".new"), ignore_errors=True)
