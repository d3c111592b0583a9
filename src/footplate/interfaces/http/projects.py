"""Projects and their worktrees: repositories by a short name, and the folders in which sessions work on branches."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from msgspec import Meta

from footplate.errors import PermissionDenied
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.overview import reached_rows
from footplate.interfaces.http.routing import Routes
from footplate.runtime.projects import NewProject, Project, Workplace
from footplate.runtime.worktrees import OLD_DAYS, Collected, Worktree, Worktrees
from footplate.store.projection import SessionRow

routes = Routes("projects")


class ProjectInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A project of the settings, or (without an alias) another folder that sessions work in."""

    cwd: str
    sessions: int = 0
    open_requests: int = 0
    cost_usd: float = 0.0
    updated_at: float = 0.0
    alias: str = ""
    default: bool = False
    default_engine: str = ""
    worktrees: str = ""
    worktree_base: str = ""


class ProjectList(msgspec.Struct, frozen=True, kw_only=True):
    """The folders, the latest active first."""

    projects: tuple[ProjectInfo, ...]


def _info(project: Project) -> ProjectInfo:
    return ProjectInfo(
        cwd=project.path,
        alias=project.alias,
        default=project.default,
        default_engine=project.default_engine,
        worktrees=project.worktrees,
        worktree_base=project.worktree_base,
    )


def _with(known: ProjectInfo, row: SessionRow) -> ProjectInfo:
    return msgspec.structs.replace(
        known,
        sessions=known.sessions + 1,
        open_requests=known.open_requests + row.open_requests,
        cost_usd=known.cost_usd + (row.cost_usd or 0.0),
        updated_at=max(known.updated_at, row.updated_at),
    )


@routes.get(
    "/api/projects",
    scope="read",
    summary="The projects of the settings, and the other folders that sessions work in",
    answer=ProjectList,
)
async def list_projects(call: Call) -> ProjectList:
    projects = call.api.services.projects
    named = {each.alias: _info(each) for each in projects.list() if call.grant.reaches_folder(each.path)}
    others: dict[str, ProjectInfo] = {}
    async for row in reached_rows(call):
        alias = projects.context(row.cwd).project
        if alias in named:
            named[alias] = _with(named[alias], row)
        else:
            others[row.cwd] = _with(others.get(row.cwd) or ProjectInfo(cwd=row.cwd), row)
    latest = sorted((*named.values(), *others.values()), key=lambda each: each.updated_at, reverse=True)
    return ProjectList(projects=tuple(latest))


@routes.post(
    "/api/projects",
    scope="admin",
    summary="Write a project into the settings; in a repository `path` may be any folder of it",
    status=201,
    answer=ProjectInfo,
    problems=(409, 500, 503),
)
async def add_project(call: Call, body: NewProject) -> ProjectInfo:
    _require(call, body.path)
    await call.record("project.add", target=body.alias, path=body.path)
    return _info(await asyncio.to_thread(call.api.services.projects.add, body))


@routes.delete(
    "/api/projects/{alias}",
    scope="admin",
    summary="Take a project out of the settings; its folders stay",
    problems=(404, 409, 500),
)
async def remove_project(call: Call) -> None:
    projects = call.api.services.projects
    path = projects.find(call.params["alias"]).path
    _require(call, path)
    await call.record("project.remove", target=call.params["alias"], path=path)
    await asyncio.to_thread(projects.remove, call.params["alias"])


# ------------------------------------------------------------------------------------------------ worktrees


class WorktreeQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Of which project (default: all); `sizes=0` is faster; what was not used for `days` is stale."""

    project: str = ""
    sizes: bool = True
    days: Annotated[float, Meta(ge=0, le=100_000)] = OLD_DAYS


class WorktreeList(msgspec.Struct, frozen=True, kw_only=True):
    """The worktrees; `size` is the sum of theirs, `stale_size` of those that may go."""

    worktrees: tuple[Worktree, ...]
    size: int
    stale_size: int


@routes.get(
    "/api/worktrees",
    scope="read",
    summary="The worktrees of projects: what each takes, holds, and why it is kept (no reason: it is stale)",
    answer=WorktreeList,
    problems=(404, 409, 503),
)
async def list_worktrees(call: Call, query: WorktreeQuery) -> WorktreeList:
    rows = [row async for row in reached_rows(call)]
    worktrees = Worktrees(call.api.services.projects)
    every = await worktrees.list(rows, project=query.project, sizes=query.sizes, days=query.days)
    found = tuple(tree for tree in every if call.grant.reaches_folder(tree.path))
    return WorktreeList(
        worktrees=found,
        size=sum(tree.size or 0 for tree in found),
        stale_size=sum(tree.size or 0 for tree in found if tree.stale),
    )


class NewWorktree(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A branch of a project."""

    project: str
    branch: Annotated[str, Meta(min_length=1, max_length=200)]


@routes.post(
    "/api/worktrees",
    scope="drive",
    summary="The folder of a branch, made where there is none: from the local branch, from origin's, else a new one",
    status=201,
    answer=Workplace,
    problems=(404, 409, 503),
)
async def make_worktree(call: Call, body: NewWorktree) -> Workplace:
    return await place(call, body.project, body.branch)


async def place(call: Call, project: str, branch: str) -> Workplace:
    """Where a session of the project works, if the caller reaches that."""
    projects = call.api.services.projects
    found = projects.find(project)
    _require(call, f"{found.worktrees}/{branch}" if branch else found.path)
    if branch:
        _require(call, found.path)
    return await projects.place(project, branch)


class WorktreeToRemove(msgspec.Struct, frozen=True, kw_only=True):
    """Which one; `force`: also when work in it would be lost."""

    project: str
    branch: str
    force: bool = False


@routes.delete(
    "/api/worktrees",
    scope="drive",
    summary="Remove the worktree of a branch; the branch stays",
    status=200,
    answer=Worktree,
    problems=(404, 409, 503),
)
async def remove_worktree(call: Call, query: WorktreeToRemove) -> Worktree:
    projects = call.api.services.projects
    _require(call, projects.find(query.project).path)
    rows = [row async for row in reached_rows(call)]
    await call.record("worktree.remove", target=f"{query.project}@{query.branch}", force=query.force)
    return await Worktrees(projects).remove(rows, query.project, query.branch, force=query.force)


class Collect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which to collect, and whether only to say what would be removed."""

    project: str = ""
    days: Annotated[float, Meta(ge=0, le=100_000)] = OLD_DAYS
    dry_run: bool = False
    force: bool = False


@routes.post(
    "/api/worktrees/gc",
    scope="admin",
    summary="Remove stale worktrees: none with work that is nowhere else, a running session or a lock unless `force`",
    answer=Collected,
    problems=(404, 409, 503),
)
async def collect_worktrees(call: Call, body: Collect) -> Collected:
    if call.grant.limited:
        raise PermissionDenied(f"the token {call.grant.name!r} is limited; it collects no worktrees")
    rows = [row async for row in reached_rows(call)]
    if not body.dry_run:
        target = body.project or "all projects"
        await call.record("worktree.remove", target=target, days=body.days, force=body.force)
    return await Worktrees(call.api.services.projects).collect(
        rows, project=body.project, days=body.days, force=body.force, dry_run=body.dry_run
    )


def _require(call: Call, folder: str) -> None:
    if not call.grant.reaches_folder(folder):
        raise PermissionDenied(f"the token {call.grant.name!r} does not reach {folder}")
