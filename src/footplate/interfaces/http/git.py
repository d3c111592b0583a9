"""git for the page's panel: what changed, what a commit would take, what was committed, which branches there are.

The scope is `drive` and not `files`: git runs programs that the repository names (hooks, filters), so that who may
write files and call git may run commands.
"""

from __future__ import annotations

import asyncio
import posixpath
from typing import Annotated

import msgspec
from msgspec import Meta

from footplate.errors import InvalidValue
from footplate.host.git_output import Branch, Commit, Status
from footplate.host.repository import Diff, Repository
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.files import reachable
from footplate.interfaces.http.routing import Routes

routes = Routes("git")
File = Annotated[str, Meta(min_length=1, max_length=4096)]
Files = Annotated[tuple[File, ...], Meta(max_length=1000)]


def open_repository(call: Call, path: str) -> Repository:
    """The checkout in which the folder lies, if the caller reaches all of it. Blocking."""
    files = reachable(call)
    folder = files.stat(path)
    if folder.entry_type != "directory":
        raise InvalidValue("path", path, "a folder")
    found = Repository(posixpath.realpath(folder.path), call.api.services.environ)
    files.stat(found.root)
    return found


class FolderQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A folder of the checkout."""

    path: str


@routes.get(
    "/api/git/status",
    scope="drive",
    summary="Where a checkout stands, with every file that is not as in the last commit",
    answer=Status,
    problems=(409, 503),
)
async def git_status(call: Call, query: FolderQuery) -> Status:
    return await asyncio.to_thread(lambda: open_repository(call, query.path).status())


class DiffQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What to compare: what is not staged, what is (`staged`), or what a `commit` brought; some `file`s or all."""

    path: str
    file: tuple[File, ...] = ()
    staged: bool = False
    commit: str = ""


@routes.get(
    "/api/git/diff",
    scope="drive",
    summary="What changed, as a unified diff; files that git does not know yet are shown whole",
    answer=Diff,
    problems=(409, 503),
)
async def git_diff(call: Call, query: DiffQuery) -> Diff:
    def look() -> Diff:
        return open_repository(call, query.path).diff(query.file, staged=query.staged, commit=query.commit)

    return await asyncio.to_thread(look)


class FilesOf(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which files of the checkout, named from its root; none named: all."""

    path: str
    files: Files = ()


@routes.post(
    "/api/git/stage",
    scope="drive",
    summary="Have the next commit take these files as they are now",
    answer=Status,
    problems=(409, 503),
)
async def git_stage(call: Call, body: FilesOf) -> Status:
    return await asyncio.to_thread(lambda: open_repository(call, body.path).stage(body.files))


@routes.post(
    "/api/git/unstage",
    scope="drive",
    summary="Have the next commit leave these files as they were",
    answer=Status,
    problems=(409, 503),
)
async def git_unstage(call: Call, body: FilesOf) -> Status:
    return await asyncio.to_thread(lambda: open_repository(call, body.path).unstage(body.files))


class NewCommit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to commit: what is staged, or `all`; `amend` puts it into the last commit."""

    path: str
    message: Annotated[str, Meta(min_length=1, max_length=100_000)]
    all: bool = False
    amend: bool = False


@routes.post(
    "/api/git/commit",
    scope="drive",
    summary="Commit what is staged, or everything; the repository's hooks run",
    status=201,
    answer=Commit,
    problems=(409, 503),
)
async def git_commit(call: Call, body: NewCommit) -> Commit:
    def work() -> Commit:
        repository = open_repository(call, body.path)
        return repository.commit(body.message, everything=body.all, amend=body.amend)

    return await asyncio.to_thread(work)


class LogQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Where to begin (`ref`, default: the current commit), how many, and of which files."""

    path: str
    ref: str = ""
    file: tuple[File, ...] = ()
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50
    skip: Annotated[int, Meta(ge=0, le=10_000_000)] = 0


class CommitList(msgspec.Struct, frozen=True, kw_only=True):
    """Commits, the newest first."""

    commits: tuple[Commit, ...]


@routes.get("/api/git/log", scope="drive", summary="What was committed", answer=CommitList, problems=(409, 503))
async def git_log(call: Call, query: LogQuery) -> CommitList:
    def look() -> CommitList:
        repository = open_repository(call, query.path)
        return CommitList(commits=repository.log(limit=query.limit, skip=query.skip, ref=query.ref, files=query.file))

    return await asyncio.to_thread(look)


class BranchList(msgspec.Struct, frozen=True, kw_only=True):
    """Branches, those with the latest commits first."""

    branches: tuple[Branch, ...]


@routes.get(
    "/api/git/branches",
    scope="drive",
    summary="The branches, ours and the remotes', and where each is checked out",
    answer=BranchList,
    problems=(409, 503),
)
async def git_branches(call: Call, query: FolderQuery) -> BranchList:
    return await asyncio.to_thread(lambda: BranchList(branches=open_repository(call, query.path).branches()))


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What changed in a session's folder since it was opened, by whomever. `commit` is where the checkout stood."""

    root: str
    commit: str
    diff: Diff


@routes.get(
    "/api/sessions/{session}/changes",
    scope="drive",
    summary="What changed in the session's folder since it was opened, committed or not, by git",
    answer=Changes,
    problems=(404, 409, 503),
)
async def session_changes(call: Call) -> Changes:
    live = await call.session()
    row = await call.api.store.projections.session(live.id)
    began = (row.created_at if row is not None else None) or 0.0

    def look() -> Changes:
        folder = posixpath.realpath(live.spec.cwd)
        repository = Repository(folder, call.api.services.environ)
        below = posixpath.relpath(folder, posixpath.realpath(repository.root))
        commit, diff = repository.since(began, below=below)
        return Changes(root=repository.root, commit=commit, diff=diff)

    return await asyncio.to_thread(look)
