"""The worktrees of projects: what each takes and holds, which are stale, and their removal.

One that holds work found nowhere else, in which a session or a process is at work, or that is locked is never removed
unless it is asked for in so many words. A branch is never removed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from footplate.errors import GitRefused, NotFound, WorktreeInUse
from footplate.events.ids import SessionId
from footplate.events.model import SessionState
from footplate.events.wording import format_age
from footplate.host.worktrees import Tree, disk_use, last_touched, list_trees, look_at_work, processes_in, remove_tree
from footplate.runtime.projects import Project, Projects
from footplate.store.base import Store
from footplate.store.projection import SessionRow

DAY_S: Final = 86_400.0
OLD_DAYS: Final = 7.0
"""A worktree that nobody has closed the sessions of is stale after so long."""
AT_WORK: Final[frozenset[SessionState]] = frozenset(("starting", "running", "waiting", "parked"))
PAGE: Final = 500


class Worktree(msgspec.Struct, frozen=True, kw_only=True):
    """One worktree of a project. `kept` tells why it is not removed; empty: it is stale. `size`: bytes on the disk."""

    project: str
    branch: str
    path: str
    head: str
    sessions: tuple[SessionId, ...] = ()
    uncommitted: int = 0
    unpushed: int = 0
    locked: bool = False
    missing: bool = False
    touched_at: float = 0.0
    size: int | None = None
    kept: tuple[str, ...] = ()

    @property
    def stale(self) -> bool:
        """Whether it may go."""
        return not self.kept


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """What a collection removed (or would), what it left, and how many bytes that gives back."""

    removed: tuple[Worktree, ...]
    kept: tuple[Worktree, ...]
    freed: int
    failed: tuple[str, ...] = ()


async def all_rows(store: Store) -> AsyncGenerator[SessionRow, None]:
    """Every session of the store, the latest active first."""
    after: str | None = None
    while True:
        page = await store.projections.sessions(after=after, limit=PAGE)
        for row in page.items:
            yield row
        after = page.after
        if after is None:
            return


class Worktrees:
    """The worktrees of all projects, beside the sessions that work in them."""

    def __init__(self, projects: Projects) -> None:
        self._projects = projects

    async def list(
        self, rows: Sequence[SessionRow], *, project: str = "", sizes: bool = True, days: float = OLD_DAYS
    ) -> tuple[Worktree, ...]:
        """The worktrees below the projects' own folders, with what is to be known of each before it is removed."""
        wanted = (self._projects.find(project),) if project else self._projects.list()
        found: list[Worktree] = []
        for each in wanted:
            found += await asyncio.to_thread(self._look, each, tuple(rows), sizes, time.time() - days * DAY_S)
        return tuple(found)

    async def remove(self, rows: Sequence[SessionRow], project: str, branch: str, *, force: bool = False) -> Worktree:
        """Remove one, whether it is stale or not, if nothing is lost by it. Raises `WorktreeInUse`, `NotFound`."""
        for tree in await self.list(rows, project=project, days=0.0):
            if branch in (tree.branch, tree.path):
                if tree.kept and not force:
                    raise WorktreeInUse(tree.path, tree.kept)
                await asyncio.to_thread(self._remove, tree, force=force)
                return tree
        raise NotFound("worktree", branch)

    async def collect(
        self,
        rows: Sequence[SessionRow],
        *,
        project: str = "",
        days: float = OLD_DAYS,
        force: bool = False,
        dry_run: bool = False,
    ) -> Collected:
        """Remove the stale ones; with `force` all of them, whatever they hold."""
        removed: list[Worktree] = []
        kept: list[Worktree] = []
        failed: list[str] = []
        for tree in await self.list(rows, project=project, days=days):
            if tree.kept and not force:
                kept.append(tree)
                continue
            try:
                if not dry_run:
                    await asyncio.to_thread(self._remove, tree, force=force)
            except GitRefused as problem:
                kept.append(tree)
                failed.append(str(problem))
            else:
                removed.append(tree)
        freed = sum(tree.size or 0 for tree in removed)
        return Collected(removed=tuple(removed), kept=tuple(kept), freed=freed, failed=tuple(failed))

    # --------------------------------------------------------------------------------------------- inside

    def _look(self, project: Project, rows: tuple[SessionRow, ...], sizes: bool, since: float) -> tuple[Worktree, ...]:
        git = self._projects.git(project)
        if not Path(project.path).is_dir() or not git.line("rev-parse", "--git-dir"):
            return ()
        main, *others = list_trees(git)
        root = Path(project.worktrees).resolve()
        ours = [tree for tree in others if Path(tree.path).resolve().is_relative_to(root)]
        busy = processes_in(tuple(tree.path for tree in ours))
        return tuple(self._describe(project, tree, main.head, rows, busy.get(tree.path), sizes, since) for tree in ours)

    def _describe(
        self,
        project: Project,
        tree: Tree,
        base: str,
        rows: tuple[SessionRow, ...],
        process: int | None,
        sizes: bool,
        since: float,
    ) -> Worktree:
        inside = [row for row in rows if _holds(tree.path, row.cwd)]
        seen = Worktree(
            project=project.alias,
            branch=tree.branch,
            path=tree.path,
            head=tree.head,
            sessions=tuple(row.session for row in inside),
            locked=tree.locked is not None,
            missing=tree.missing,
        )
        if not tree.missing:
            git = self._projects.git(project).at(tree.path)
            work = look_at_work(git, base)
            seen = msgspec.structs.replace(
                seen,
                uncommitted=work.uncommitted,
                unpushed=work.unpushed,
                touched_at=max([last_touched(git), *(row.updated_at for row in inside)]),
                size=disk_use(tree.path) if sizes else None,
            )
        return msgspec.structs.replace(seen, kept=tuple(_reasons(seen, inside, tree.locked, process, since)))

    def _remove(self, tree: Worktree, *, force: bool) -> None:
        listed = Tree(path=tree.path, branch=tree.branch)
        remove_tree(self._projects.git(self._projects.find(tree.project)), listed, force=force or tree.missing)


def _reasons(
    tree: Worktree, rows: Sequence[SessionRow], locked: str | None, process: int | None, since: float
) -> list[str]:
    """Why it stays."""
    found = [*_work(tree), *([] if locked is None else [f"locked: {locked}".removesuffix(": ")])]
    found += [
        f"session {row.session} is {row.state}"
        for row in rows
        if row.state in AT_WORK or row.attached or row.open_requests
    ]
    if process is not None:
        found.append(f"process {process} works in it")
    over = bool(rows) and all(row.state == "closed" for row in rows)
    if not found and not over and not tree.missing and tree.touched_at > since:
        age = format_age(time.time() - tree.touched_at)
        found.append("used now" if age == "now" else f"used {age} ago")
    return found


def _work(tree: Worktree) -> Iterator[str]:
    """What would be lost with it."""
    for count, kind, thing in ((tree.uncommitted, "uncommitted", "file"), (tree.unpushed, "unpushed", "commit")):
        if count:
            yield f"{count} {kind} {thing}{'' if count == 1 else 's'}"


def _holds(folder: str, cwd: str) -> bool:
    base, place = PurePosixPath(folder), PurePosixPath(cwd)
    return place == base or base in place.parents
