"""Projects: repositories by a short name, whose branches are worktrees. Every surface asks here where a session works.

The settings may change while a service runs (`footplate init` in a terminal): each call sees them as they are now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

import msgspec

from footplate.config.live import LiveSettings
from footplate.config.places import data_folder, settings_file
from footplate.config.projects import ProjectSettings, alias_problem
from footplate.config.settings import Settings
from footplate.config.writing import change_settings
from footplate.engines.catalog import engine_names
from footplate.engines.commands import with_agents
from footplate.errors import Conflict, InvalidValue, UnknownEngine, UnknownProject
from footplate.host.environment import expand_home
from footplate.host.git import Git
from footplate.host.locks import SessionLock
from footplate.host.worktrees import list_trees, make_tree

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

LOCK: Final = "worktrees:"


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """One project with its folders as they are on this machine."""

    alias: str
    path: str
    worktrees: str
    default_engine: str = ""
    worktree_base: str = ""
    default: bool = False


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """Which project a folder belongs to, and which branch's worktree it is; empty where that cannot be said."""

    project: str = ""
    branch: str = ""


class Workplace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session works, and on which engine unless something else is named. `made`: its worktree is new."""

    cwd: str
    engine: str
    made: bool = False


class NewProject(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A project to be named in the settings. In a repository `path` may be any folder of it."""

    alias: str
    path: str
    default_engine: str = ""
    worktrees_dir: str = ""
    worktree_base: str = ""
    default: bool = False


class Projects:
    """The projects of the settings."""

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self._live = LiveSettings(settings, environ)
        self._environ = environ

    # --------------------------------------------------------------------------------------------- look

    def list(self) -> tuple[Project, ...]:
        """Every project, by name."""
        settings = self._live.now
        return tuple(self._project(settings, alias, settings.projects[alias]) for alias in sorted(settings.projects))

    def find(self, alias: str) -> Project:
        """The project of that name, whatever its capitals; without a name the default one. Raises `UnknownProject`."""
        known = self.list()
        wanted = alias.lower() or self._live.now.default_project
        for project in known:
            if project.alias == wanted:
                return project
        raise UnknownProject(alias, tuple(project.alias for project in known))

    def context(self, cwd: str) -> Context:
        """What a folder is of. Looks at no disk."""
        folder = PurePosixPath(cwd)
        for project in sorted(self.list(), key=lambda each: len(each.worktrees), reverse=True):
            if PurePosixPath(project.worktrees) in folder.parents:
                return Context(project=project.alias, branch=str(folder.relative_to(project.worktrees)))
        inside = [
            each for each in self.list() if (base := PurePosixPath(each.path)) == folder or base in folder.parents
        ]
        return Context(project=max(inside, key=lambda each: len(each.path)).alias) if inside else Context()

    def git(self, project: Project) -> Git:
        """git in the main checkout of the project."""
        return Git(project.path, self._environ)

    # --------------------------------------------------------------------------------------------- work

    async def place(self, alias: str, branch: str = "") -> Workplace:
        """Where a session of the project works: its main checkout, or the worktree of the branch, made if need be."""
        project = self.find(alias)
        if not await asyncio.to_thread(Path(project.path).is_dir):
            raise InvalidValue(f"[projects.{project.alias}] path", project.path, "a folder that exists")
        engine = project.default_engine or self._live.now.default_engine
        if not branch:
            return Workplace(cwd=project.path, engine=engine)
        async with SessionLock(data_folder(self._environ) / "locks", f"{LOCK}{project.path}", wait=True):
            git = self.git(project)
            cwd, made = await asyncio.to_thread(make_tree, git, project.worktrees, branch, project.worktree_base)
        return Workplace(cwd=cwd, engine=engine, made=made)

    # --------------------------------------------------------------------------------------------- change

    def add(self, new: NewProject, *, replace: bool = False) -> Project:
        """Write a project into the settings file; the same name for another folder is refused. Blocking."""
        self._check(new)
        path = self._main_checkout(new.path)
        before = self._live.now.projects.get(new.alias)
        if before is not None and not replace and expand_home(before.path, self._environ) != path:
            raise Conflict(f"the project {new.alias!r} is {before.path}; remove it first, or use another name")
        values = {"path": path, "default_engine": new.default_engine, "worktree_base": new.worktree_base}
        if new.worktrees_dir:
            values["worktrees_dir"] = new.worktrees_dir

        def change(document: TOMLDocument) -> None:
            import tomlkit  # noqa: PLC0415

            projects = document.setdefault("projects", tomlkit.table(is_super_table=True))
            table = projects.setdefault(new.alias, tomlkit.table())
            for name, value in values.items():
                if value:
                    table[name] = value
                else:
                    table.pop(name, None)
            if new.default:
                document["default_project"] = new.alias

        change_settings(settings_file(self._environ), change)
        return self.find(new.alias)

    def remove(self, alias: str) -> None:
        """Take a project out of the settings file; its folders stay. Blocking. Raises `UnknownProject`."""
        project = self.find(alias)

        def change(document: TOMLDocument) -> None:
            if project.alias not in document.get("projects", {}):
                raise Conflict(f"the project {alias!r} does not stand in the settings file; a variable sets it")
            document["projects"].pop(project.alias)
            if document.get("default_project") == project.alias:
                document.pop("default_project")

        change_settings(settings_file(self._environ), change)

    # --------------------------------------------------------------------------------------------- inside

    def _project(self, settings: Settings, alias: str, given: ProjectSettings) -> Project:
        path = expand_home(given.path, self._environ).rstrip("/") or "/"
        worktrees = str(PurePosixPath(path) / expand_home(given.worktrees_dir, self._environ))
        return Project(
            alias=alias,
            path=path,
            worktrees=worktrees,
            default_engine=given.default_engine,
            worktree_base=given.worktree_base,
            default=settings.default_project == alias,
        )

    def _check(self, new: NewProject) -> None:
        engines = engine_names(with_agents(self._live.now, self._environ))
        problem = alias_problem(new.alias, engines)
        if problem:
            raise InvalidValue("alias", new.alias, problem)
        if new.default_engine and new.default_engine not in engines:
            raise UnknownEngine(new.default_engine, engines)

    def _main_checkout(self, path: str) -> str:
        """The main checkout of the repository in which the path lies; the folder itself where there is none."""
        folder = Path(expand_home(path, self._environ))
        if not folder.is_absolute() or not folder.is_dir():
            raise InvalidValue("path", path, "an absolute folder that exists")
        git = Git(str(folder.resolve()), self._environ)
        own, common = git.line("rev-parse", "--absolute-git-dir"), git.line("rev-parse", "--git-common-dir")
        if not own:
            return git.folder
        inside = own == str((folder.resolve() / common).resolve())
        main = git.line("rev-parse", "--show-toplevel") if inside else list_trees(git)[0].path
        if not main or git.at(main).line("rev-parse", "--is-inside-work-tree") != "true":
            raise InvalidValue("path", path, "a repository that has a checkout, not a bare one")
        return main
